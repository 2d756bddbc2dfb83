package chat

import (
	"context"
	"slices"

	"parley/internal/llm"
	"parley/internal/retrieval"
)

// maxAhead is the minimum number of passages that are retrieved for a model that answers from evidence. The
// model looks for the best quotations among all of them; the passages that it would quote come first among
// those that the turn uses.
const maxAhead = 16

// ReadFunc returns the passages that a grounded model would quote, best first, as indices into
// ev.Passages. It returns none if the model would not answer. all reports that the answer needs all of
// the quoted passages.
type ReadFunc func(ctx context.Context, ev *llm.Evidence) (quoted []int, all bool)

// readsAhead reports whether the turn retrieves more passages than the request wants, so that the model
// can choose among them.
func (t *turn) readsAhead() bool {
	return t.answering && t.cfg.Read != nil && t.model.grounded && !t.req.Options.Rerank
}

// readAhead returns as many passages as the request wants, beginning with those that the model would
// quote. It returns more only if the answer needs them all, such as table rows to add up.
func (t *turn) readAhead(ctx context.Context, passages []retrieval.Passage) []retrieval.Passage {
	top := t.req.Options.Top
	if len(passages) <= top {
		return passages
	}
	best := make([]retrieval.Passage, 0, len(passages))
	quoted, all := t.cfg.Read(ctx, t.evidence(passages))
	if all {
		top = max(top, len(quoted))
	}
	for _, i := range quoted {
		best = append(best, passages[i])
	}
	for i := range passages {
		if !slices.Contains(quoted, i) {
			best = append(best, passages[i])
		}
	}
	return best[:top]
}
