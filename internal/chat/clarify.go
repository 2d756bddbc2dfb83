package chat

import (
	"context"

	"parley/internal/ident"
)

// clarifies reports whether the turn asks back instead of answering.
func (t *turn) clarifies() bool { return t.clarifying != "" }

func (t *turn) answers() bool { return !t.clarifies() }

// runClarify gives the question in return as the turn's message: a conversation goes on from it.
func (t *turn) runClarify(_ context.Context, out *output) (StageFinished, error) {
	id := ident.New()
	for _, e := range []Event{
		ClarificationNeeded{Question: t.clarifying},
		MessageStarted{ID: id, Model: t.rewriter.name},
		CompletionStarted{ID: id, Model: t.rewriter.name},
		TextDelta{ID: id, Text: t.clarifying},
		MessageFinished{
			ID: id, Status: StatusCompleted, Text: t.clarifying, Citations: []Citation{}, FinishReason: "stop",
			Model: t.rewriter.name,
		},
	} {
		if err := out.emit(e); err != nil {
			return StageFinished{}, err
		}
	}
	return StageFinished{}, nil
}

// askBack returns the question in return of a model that has found the user's ambiguous but has
// written none.
func askBack(query string) string {
	if query == "" {
		return "What exactly do you mean?"
	}
	return "What exactly do you mean? Is it: " + query
}
