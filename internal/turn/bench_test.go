package turn_test

import (
	"context"
	"testing"

	"parley/internal/chat"
	"parley/internal/turn"
)

// unkept is a store that accepts turns but does not keep them.
type unkept struct{ turn.Store }

func (unkept) Save(context.Context, turn.Record) error { return nil }

// BenchmarkRun runs turns of 500 pieces of text, without the cost of a database.
func BenchmarkRun(b *testing.B) {
	e := engine(func(_ context.Context, _ chat.Request, emit func(chat.Event) bool) error {
		emit(chat.MessageStarted{ID: "m", Model: "asked"})
		for range 500 {
			emit(chat.TextDelta{ID: "m", Text: "token "})
		}
		emit(chat.MessageFinished{ID: "m", Status: chat.StatusCompleted, Text: "…", FinishReason: "stop"})
		emit(chat.TurnFinished{})
		return nil
	})
	r := turn.NewRunner(e, unkept{}, turn.Options{})
	b.ReportAllocs()
	for b.Loop() {
		for _, err := range r.Run(b.Context(), new(ask("", "why?"))) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}
