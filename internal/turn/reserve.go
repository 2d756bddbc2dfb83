package turn

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"parley/internal/chat"
	"parley/internal/ledger"
	"parley/internal/llm"
)

// Assumptions for the estimate of a turn's tokens, which is reserved from budgets.
const (
	passageTokens     = 400 // of each passage
	instructionTokens = 1000
	readings          = 2    // of the conversation: by the stages before the answer, and for the answer
	answerTokens      = 1024 // if the request sets no limit
)

// estimate returns the approximate spending of a turn. It errs on the high side.
func (r *Runner) estimate(req *chat.Request) ledger.Amount {
	u := llm.Usage{Input: instructionTokens + passageTokens*req.Options.Top, Output: req.Options.MaxOutputTokens}
	for _, m := range req.Messages {
		u.Input += readings * max(m.Tokens, r.opts.Count(m.Text()))
	}
	u.Output = cmp.Or(u.Output, answerTokens)
	provider, model, _ := strings.Cut(req.Options.Models.Inference, ":")
	took := ledger.Amount{Requests: 1, Tokens: int64(u.Input + u.Output)}
	if provider != ledger.Builtin {
		took.Micros = r.opts.Budgets.Micros(provider, r.opts.Price(provider, model, u), int64(u.Input+u.Output))
	}
	return took
}

// reserve reserves the estimate of a turn from the budgets. It refuses models without a known price if money is
// limited and no price is assumed, because the budget would not limit them.
func (r *Runner) reserve(ctx context.Context, t *running, req *chat.Request, estimate ledger.Amount) (settle func(ledger.Amount), err error) {
	if key := r.unpriced(&req.Options.Models); key != "" {
		refuses, err := r.opts.Budgets.RefusesUnpriced(ctx)
		if err != nil {
			return nil, err
		}
		if refuses {
			return nil, &chat.Error{Kind: chat.Invalid, Msg: fmt.Sprintf(
				"The price of the model %s is not known, and this server limits what answers may cost. Please choose another model.", llm.CleanName(key))}
		}
	}
	return r.opts.Budgets.Reserve(ctx, t.record.Scope, req.Account.User, estimate)
}

// unpriced returns the first of the models that has no known price, or "".
func (r *Runner) unpriced(m *chat.Models) string {
	for _, key := range []string{m.Inference, m.Rewrite, m.Rerank, m.Summary, m.Judge, m.Synthesis} {
		provider, model, _ := strings.Cut(key, ":")
		if key != "" && provider != ledger.Builtin && !r.opts.Price(provider, model, llm.Usage{Input: 1, Output: 1}).Known {
			return key
		}
	}
	return ""
}
