package chat

import (
	"context"
	"slices"

	"parley/internal/llm"
	"parley/internal/retrieval"
)

// maxAhead is how many passages a model is shown that answers from evidence: it looks for the best place
// among all of them, and what it quotes is among those that the turn goes on with.
const maxAhead = 12

// ReadFunc returns the passages that a grounded model would quote, the first one first, as indices
// into ev.Passages; none when it would not answer. All says that the answer cannot do without any of them.
type ReadFunc func(ctx context.Context, ev *llm.Evidence) (quoted []int, all bool)

// readsAhead reports whether more passages are looked for than are wanted, of which the model chooses.
func (t *turn) readsAhead() bool {
	return t.answering && t.cfg.Read != nil && t.model.grounded && !t.req.Options.Rerank
}

// readAhead returns as many passages as are wanted, those first that the model would quote, and more than are
// wanted only if the answer needs them all: the rows of a table to add up.
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
