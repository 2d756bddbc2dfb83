package llm

import (
	"context"
	"iter"

	"parley/internal/trace"
)

// Guards protect the calls of one endpoint, which is a provider and a model. Every attempt passes the
// breaker and is recorded in the ledger; a failed attempt is repeated within the provider's retry
// budget. Nil fields are skipped.
type Guards struct {
	Endpoint string // provider:model
	Retrier  *Retrier
	Breakers *Breakers
	Meter    Meter
}

// Meter records calls of one provider's models in a ledger. Each method is called before an attempt; an
// error prevents the attempt. For calls that are not recorded it returns Unmetered.
type Meter interface {
	Completion(ctx context.Context, req *Request) (Metering, error)
	Embedding(ctx context.Context, req *EmbedRequest) (Metering, error)
	Ranking(ctx context.Context, req *RerankRequest) (Metering, error)
	Transcription(ctx context.Context, model string) (Metering, error)
}

// Metering is the record of a call in progress. Only one goroutine uses it.
type Metering interface {
	// Add records a chunk and returns the usage that replaces the chunk's own.
	Add(c Chunk) *Usage
	// Answer records the usage of a call with a reply in one piece, and returns the usage that counts.
	Answer(u Usage) Usage
	Fail(ctx context.Context, err error) // an error ended the call
	Complete()                           // the answer is complete
	Settle(ctx context.Context)          // called once, as the last method, however the call ended
}

// Model returns a model whose calls pass the guards. After the last attempt the error is that of the
// upstream, or, if the breaker or the ledger prevented the call, an *Error that is not retryable.
func (g Guards) Model(m Model) Model { return &guarded{g, m} }

// guarded is a model behind its guards.
type guarded struct {
	Guards
	model Model
}

// Stream implements Model.
func (m *guarded) Stream(ctx context.Context, req Request) iter.Seq2[Chunk, error] {
	return func(yield func(Chunk, error) bool) {
		err := m.retry(ctx, func() (final bool, err error) {
			o := m.attempt(ctx, &req, yield)
			return o.begun || o.left, o.err
		})
		if err != nil {
			yield(Chunk{}, err)
		}
	}
}

// attempt makes one attempt at a completion.
func (m *guarded) attempt(ctx context.Context, req *Request, yield func(Chunk, error) bool) (o outcome) {
	if o.err = m.enter(); o.err != nil {
		return o
	}
	ctx, span := traceCompletion(ctx, m.Endpoint, req)
	defer func() { span.end(o.err) }()
	metering, err := m.completion(ctx, req)
	if err != nil {
		o.err = &Error{Err: err}
		return o
	}
	// Deferred, so that the call is settled even if the consumer panics.
	defer metering.Settle(ctx)
	out, answered := consumer{yield: yield}, false
	for c, err := range Start(ctx, m.model, req) {
		if err != nil {
			metering.Fail(ctx, err)
			m.failed(err, answered)
			out.err = err
			return out.outcome
		}
		c.Usage = metering.Add(c)
		span.add(&c)
		if !answered && says(&c) {
			answered = true
			defer m.answered()()
		}
		if !out.pass(&c) {
			return out.outcome
		}
	}
	metering.Complete()
	m.completed()
	out.end()
	return out.outcome
}

// completion records a completion in the ledger.
func (g *Guards) completion(ctx context.Context, req *Request) (Metering, error) {
	if g.Meter == nil {
		return unmetered{}, nil
	}
	return g.Meter.Completion(ctx, req)
}

// Embedder is like Model, for an embedder.
func (g Guards) Embedder(e Embedder) Embedder {
	return EmbedderFunc(func(ctx context.Context, req EmbedRequest) (out Embeddings, err error) {
		enter := func(m Meter) (Metering, error) { return m.Embedding(ctx, &req) }
		err = g.piece(ctx, "embeddings", req.Model, enter, func(ctx context.Context) (*Usage, error) {
			out, err = e.Embed(ctx, req)
			return &out.Usage, err
		})
		return out, err
	})
}

// Reranker is like Model, for a reranker.
func (g Guards) Reranker(r Reranker) Reranker {
	return RerankerFunc(func(ctx context.Context, req RerankRequest) (out Ranking, err error) {
		enter := func(m Meter) (Metering, error) { return m.Ranking(ctx, &req) }
		err = g.piece(ctx, "rerank", req.Model, enter, func(ctx context.Context) (*Usage, error) {
			out, err = r.Rerank(ctx, req)
			return &out.Usage, err
		})
		return out, err
	})
}

// piece makes a call with a reply in one piece. It corrects in place the usage that ask returns.
func (g *Guards) piece(ctx context.Context, operation, model string, enter func(Meter) (Metering, error), ask func(context.Context) (*Usage, error)) error {
	return g.retry(ctx, func() (bool, error) {
		if err := g.enter(); err != nil {
			return false, err
		}
		ctx, span := trace.Model(ctx, operation, g.Endpoint, model)
		err := g.entered(ctx, span, enter, ask)
		span.End(err)
		if err != nil {
			g.failed(err, false)
		} else {
			g.completed()
		}
		return false, err
	})
}

// entered makes one attempt at such a call and records it in the ledger.
func (g *Guards) entered(ctx context.Context, span *trace.Span, enter func(Meter) (Metering, error), ask func(context.Context) (*Usage, error)) error {
	metering := Metering(unmetered{})
	if g.Meter != nil {
		m, err := enter(g.Meter)
		if err != nil {
			return &Error{Err: err}
		}
		metering = m
	}
	defer metering.Settle(ctx) // also after a panic
	usage, err := ask(ctx)
	if err != nil {
		metering.Fail(ctx, err)
		return err
	}
	*usage = metering.Answer(*usage)
	span.Got(trace.Reply{Input: usage.Input})
	metering.Complete()
	return nil
}

// EmbedderFunc is a function that implements Embedder.
type EmbedderFunc func(ctx context.Context, req EmbedRequest) (Embeddings, error)

// Embed implements Embedder.
func (f EmbedderFunc) Embed(ctx context.Context, req EmbedRequest) (Embeddings, error) {
	return f(ctx, req)
}

// RerankerFunc is a function that implements Reranker.
type RerankerFunc func(ctx context.Context, req RerankRequest) (Ranking, error)

// Rerank implements Reranker.
func (f RerankerFunc) Rerank(ctx context.Context, req RerankRequest) (Ranking, error) {
	return f(ctx, req)
}

// Unmetered is the Metering of calls that are not recorded in a ledger.
var Unmetered Metering = unmetered{}

type unmetered struct{}

func (unmetered) Add(c Chunk) *Usage          { return c.Usage }
func (unmetered) Answer(u Usage) Usage        { return u }
func (unmetered) Fail(context.Context, error) {}
func (unmetered) Complete()                   {}
func (unmetered) Settle(context.Context)      {}
