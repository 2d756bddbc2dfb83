package llm

import (
	"context"
	"errors"
	"iter"
)

// Link is a model in a Chain.
type Link struct {
	Model Model
	Name  string // by which its provider knows it: the Request.Model it is asked with
	Key   string // provider:model, for logs
	// Window returns how many tokens it reads and writes together, 0 when that is not known. Nil knows none.
	Window func(ctx context.Context) int
}

// Chain returns a model that answers with the first link that can. When a link fails before its first token,
// the next one is asked, unless a content filter refused, which counts as an answer. Chunk.Model names the
// model that answers. failed is called for each link that is replaced. Optional. When all links fail, the
// error is that of the last one.
func Chain(links []Link, failed func(ctx context.Context, from, to Link, err error)) Model {
	return &chain{links, failed}
}

type chain struct {
	links  []Link
	failed func(ctx context.Context, from, to Link, err error)
}

// Stream implements Model.
func (m *chain) Stream(ctx context.Context, req Request) iter.Seq2[Chunk, error] {
	return func(yield func(Chunk, error) bool) {
		for i, link := range m.links {
			asked := link.fit(ctx, req, i > 0)
			o := once(ctx, link.Model, &asked, yield)
			if o.left || o.err == nil {
				return
			}
			e, ok := errors.AsType[*Error](o.err)
			if !ok || e.Filtered || o.begun || ctx.Err() != nil || i == len(m.links)-1 {
				yield(Chunk{}, o.err)
				return
			}
			if m.failed != nil {
				m.failed(ctx, link, m.links[i+1], o.err)
			}
		}
	}
}

// fit returns the request as the link is asked. A prompt is made for the first link; where another one
// reads less, it gets less.
func (l *Link) fit(ctx context.Context, req Request, replaces bool) Request {
	req.Model = l.Name
	if !replaces || l.Window == nil || req.Within == nil {
		return req
	}
	tokens := l.Window(ctx)
	if tokens <= 0 {
		return req
	}
	if messages := req.Within(tokens); messages != nil {
		req.Messages = messages
		req.MaxOutputTokens = min(req.MaxOutputTokens, tokens/2)
	}
	return req
}
