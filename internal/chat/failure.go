package chat

import (
	"context"
	"errors"
	"fmt"

	"parley/internal/llm"
)

// explain adds a kind and a sentence for clients to an error of a turn.
func explain(ctx context.Context, err error) error {
	if ctxErr := ctx.Err(); ctxErr != nil {
		if errors.Is(ctxErr, context.DeadlineExceeded) {
			return &Error{Kind: Unavailable, Msg: "The answer took too long.", Err: fmt.Errorf("%w: %w", ctxErr, err)}
		}
		if errors.Is(err, ctxErr) {
			return err
		}
		return fmt.Errorf("%w: %w", ctxErr, err)
	}
	if _, ok := errors.AsType[*Error](err); ok {
		return err
	}
	if e, ok := errors.AsType[*llm.UnknownModelError](err); ok {
		return &Error{Kind: Invalid, Msg: e.Msg, Err: err}
	}
	if e, ok := errors.AsType[*llm.Error](err); ok {
		return explainUpstream(e, err)
	}
	return err
}

// kindsOf maps the failures that providers report to kinds of error. Other failures are Unavailable.
var kindsOf = map[llm.Reason]Kind{
	llm.KeyRefused:  KeyRefused,
	llm.Limited:     ModelLimited,
	llm.NoCredit:    NoCredit,
	llm.TooLong:     PromptTooLong,
	llm.NoModel:     ModelMissing,
	llm.Unreachable: ModelUnreachable,
	llm.TooSlow:     ModelSlow,
}

// blame returns the error of a completion. A missing model is the client's error if the client chose it.
func (a *answer) blame(err error) error {
	e, ok := errors.AsType[*llm.Error](err)
	if !ok || e.Filtered || kindsOf[e.Why()] != ModelMissing || !a.chosen(a.model.key) {
		return err
	}
	return &Error{Kind: Invalid, Msg: fmt.Sprintf("The provider has no model %q.", llm.CleanName(a.model.name)), Err: err}
}

// chosen reports whether the client chose an answering model, which the configuration does not name.
func (t *turn) chosen(key string) bool {
	asked, usual := t.req.Options.Models, t.cfg.Defaults.Models
	if key == usual.Inference || key == usual.Synthesis || key == t.cfg.Fallback {
		return false
	}
	return key == asked.Synthesis || key == asked.Inference && !t.req.Configured
}

// explainUpstream maps a provider's error. An error that concerns this server's credentials or requests is
// not the client's fault, and the provider's text must not reach the client.
func explainUpstream(e *llm.Error, err error) error {
	kind, known := kindsOf[e.Why()]
	switch {
	case e.Filtered:
		return &Error{Kind: Filtered, Err: err}
	case !known:
		return &Error{Kind: Unavailable, Msg: "The model is not available at the moment.", Err: err, RetryAfter: e.RetryAfter}
	}
	return &Error{Kind: kind, Err: err, RetryAfter: e.RetryAfter}
}

// ExplainUpstream adds a kind and a sentence for clients to the error of a model that was called outside
// of a turn. It returns other errors unchanged.
func ExplainUpstream(err error) error {
	if e, ok := errors.AsType[*llm.Error](err); ok {
		return explainUpstream(e, err)
	}
	return err
}
