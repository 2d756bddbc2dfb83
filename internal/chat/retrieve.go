package chat

import (
	"context"
	"fmt"
	"slices"

	"parley/internal/retrieval"
)

// runRetrieve finds the passages that the answer may cite.
func (t *turn) runRetrieve(ctx context.Context, out *output) (StageFinished, error) {
	if t.cfg.Coverage != nil {
		t.reading = t.reads()
	}
	var err error
	aside(func() { err = t.search(ctx) })
	if err != nil {
		return StageFinished{}, err
	}
	o, found := &t.req.Options, &t.found
	done := StageFinished{Model: found.Model, Usage: found.Usage}
	if found.Mode != o.Mode {
		done.Note = fmt.Sprintf("searched by %s instead of %s", found.Mode, o.Mode)
		if found.Note != "" {
			done.Note += ": " + found.Note
		}
	}
	return done, out.emit(t.retrieved())
}

func (t *turn) search(ctx context.Context) error {
	q := t.newQuery(t.query.Query)
	q.Context = t.query.Context
	q.Captions = t.req.Options.Captions
	q.Limit = t.candidates()
	ahead := t.readsAhead()
	if ahead {
		q.Limit = max(q.Limit, maxAhead)
	}
	found, err := t.lookUp(ctx, q)
	if err != nil {
		return fmt.Errorf("search passages: %w", err)
	}
	found.Passages = slices.DeleteFunc(slices.Clone(found.Passages), func(p retrieval.Passage) bool {
		return len(p.Chunk.Spans) == 0
	})
	t.found = found
	if ahead {
		t.found.Passages = t.readAhead(ctx, found.Passages)
	}
	return nil
}

func (t *turn) retrieved() PassagesRetrieved {
	return PassagesRetrieved{
		Mode:      t.found.Mode,
		HasVector: t.found.HasVector,
		Captions:  t.req.Options.Captions,
		Matched:   t.found.Matched,
		Passages:  t.found.Passages,
		Terms:     t.found.Terms,
		SmallTalk: t.cfg.SmallTalk != nil && t.cfg.SmallTalk(t.asked),
	}
}

// newQuery returns a query for text with the search settings of the request.
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
