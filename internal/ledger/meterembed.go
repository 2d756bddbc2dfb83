package ledger

import (
	"context"

	"parley/internal/chat"
	"parley/internal/llm"
)

// MeterEmbedder is Meter for an embedder. A call outside of a turn is entered with the stage
// chat.StageEmbed.
func (l *Ledger) MeterEmbedder(provider string, e llm.Embedder) llm.Embedder {
	if provider == Builtin {
		return e
	}
	return &meteredEmbedder{l, provider, e}
}

type meteredEmbedder struct {
	ledger   *Ledger
	provider string
	embedder llm.Embedder
}

// Embed commits the intent, makes the call, and settles it. The usage it returns is the one that
// was entered.
func (m *meteredEmbedder) Embed(ctx context.Context, req llm.EmbedRequest) (out llm.Embeddings, err error) {
	estimate := llm.EmbedUsage(req, llm.Usage{})
	e := Entry{Provider: m.provider, Model: req.Model, Stage: chat.StageEmbed, EstimatedInput: estimate.Input}
	err = m.ledger.meter(ctx, e, func() (llm.Usage, error) {
		out, err = m.embedder.Embed(ctx, req)
		out.Usage = m.ledger.recount(llm.EmbedUsage(req, out.Usage), req.Texts, "")
		return out.Usage, err
	})
	return out, err
}

// MeterReranker is Meter for a reranker.
func (l *Ledger) MeterReranker(provider string, r llm.Reranker) llm.Reranker {
	if provider == Builtin {
		return r
	}
	return &meteredReranker{l, provider, r}
}

type meteredReranker struct {
	ledger   *Ledger
	provider string
	reranker llm.Reranker
}

// Rerank commits the intent, makes the call, and settles it. The usage it returns is the one that
// was entered.
func (m *meteredReranker) Rerank(ctx context.Context, req llm.RerankRequest) (out llm.Ranking, err error) {
	estimate := llm.RerankUsage(req, llm.Usage{})
	e := Entry{Provider: m.provider, Model: req.Model, EstimatedInput: estimate.Input}
	err = m.ledger.meter(ctx, e, func() (llm.Usage, error) {
		out, err = m.reranker.Rerank(ctx, req)
		out.Usage = m.ledger.recount(llm.RerankUsage(req, out.Usage), req.Documents, req.Query)
		return out.Usage, err
	})
	return out, err
}

// meter makes a call that is answered in one piece.
func (l *Ledger) meter(ctx context.Context, e Entry, answer func() (llm.Usage, error)) error {
	c, err := l.begin(ctx, e)
	if err != nil {
		return &llm.Error{Err: err}
	}
	// Deferred, so that a panic is settled too.
	defer c.settle(ctx)
	usage, err := answer()
	if err != nil {
		c.fail(ctx, err)
		return err
	}
	c.usage, c.status = &usage, Completed
	return nil
}

// recount returns a usage that an upstream reported, or a better count than an estimate: of the
// texts, with each of which the query is read.
func (l *Ledger) recount(u llm.Usage, texts []string, query string) llm.Usage {
	if !u.Estimated {
		return u
	}
	room := maxCounted - len(query)
	u.Input = len(texts) * l.opts.Count(query)
	for _, text := range texts {
		if room -= len(text); room < 0 {
			u.Input += llm.EstimateTokens(text)
			continue
		}
		u.Input += l.opts.Count(text)
	}
	return u
}
