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
}

// Chain returns a model that answers with the first link that does. The next one is asked when a
// link fails before its first token, unless a content filter refused, which is an answer; Chunk.Model
// names the one that really answers. failed, when not nil, is told of each link that another
// replaces. After the last link the error is that of the last.
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
			req.Model = link.Name
			o := once(ctx, link.Model, &req, yield)
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
