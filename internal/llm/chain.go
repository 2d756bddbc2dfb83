package llm

import (
	"context"
	"errors"
	"iter"
)

// Link is a model in a Chain.
type Link struct {
	Model Model
	Name  string // the provider's name of the model, for Request.Model
	Key   string // provider:model, for logs
	// Window returns the context size in tokens, 0 if unknown. Nil means unknown.
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

// fit returns the request for the link. The prompt was made for the first link; another link with a
// smaller window gets a shorter prompt.
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
