package chat

import (
	"context"
	"fmt"
	"slices"

	"parley/internal/retrieval"
)

// runRetrieve finds the passages that the answer may cite.
func (t *turn) runRetrieve(ctx context.Context, out *output) (StageFinished, error) {
	o := &t.req.Options
	q := t.newQuery(t.query.Query)
	q.Context = t.query.Context
	q.Captions = o.Captions
	found, err := t.cfg.Retriever.Search(ctx, q)
	if err != nil {
		return StageFinished{}, fmt.Errorf("search passages: %w", err)
	}
	found.Passages = slices.DeleteFunc(slices.Clone(found.Passages), func(p retrieval.Passage) bool {
		return len(p.Chunk.Spans) == 0 || p.Scores.Rerank != nil && *p.Scores.Rerank < o.MinRerankScore
	})
	t.found = found
	var done StageFinished
	if found.Mode != o.Mode {
		done.Note = fmt.Sprintf("searched by %s instead of %s", found.Mode, o.Mode)
	}
	return done, out.emit(PassagesRetrieved{
		Mode:      found.Mode,
		HasVector: found.HasVector,
		Captions:  o.Captions,
		Matched:   found.Matched,
		Passages:  found.Passages,
		Terms:     found.Terms,
	})
}

// newQuery returns a query with everything that the request says of searches.
func (t *turn) newQuery(text string) retrieval.Query {
	o := &t.req.Options
	return retrieval.Query{
		Filter:   t.filter(),
		Text:     text,
		Mode:     o.Mode,
		Limit:    o.Top,
		MinScore: o.MinScore,
	}
}
