package chat

import (
	"context"

	"parley/internal/ident"
)

// clarifies reports whether the turn asks the user what they mean instead of answering.
func (t *turn) clarifies() bool { return t.clarifying != "" }

func (t *turn) answers() bool { return !t.clarifies() }

// runClarify emits the clarifying question as the message of the turn, so that the conversation can
// continue from it.
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

// askBack returns a clarifying question, for use when the model found the question ambiguous but wrote none.
func askBack(query string) string {
	if query == "" {
		return "What exactly do you mean?"
	}
	return "What exactly do you mean? Is it: " + query
}
