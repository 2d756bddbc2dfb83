package azurechat

import (
	"context"
	"iter"
	"net/http"
	"testing"

	"parley/internal/chat"
	"parley/internal/wire"
)

// discarding is a client that takes everything at once.
type discarding struct{ header http.Header }

func (d discarding) Header() http.Header         { return d.header }
func (d discarding) Write(b []byte) (int, error) { return len(b), nil }
func (d discarding) WriteHeader(int)             {}
func (d discarding) FlushError() error           { return nil }

// tokens is a Runner that answers with n pieces of text.
type tokens int

func (n tokens) Run(context.Context, chat.Request) iter.Seq2[chat.Event, error] {
	return func(yield func(chat.Event, error) bool) {
		yield(chat.MessageStarted{ID: "m", Model: "gpt"}, nil)
		yield(chat.CompletionStarted{ID: "m", Model: "gpt-4"}, nil)
		var e chat.Event = chat.TextDelta{ID: "m", Text: " deductible"}
		for range n {
			if !yield(e, nil) {
				return
			}
		}
		yield(chat.MessageFinished{ID: "m", Status: chat.StatusCompleted}, nil)
		yield(chat.TurnFinished{}, nil)
	}
}

// BenchmarkDelta measures what one token costs from its event to the flushed line.
func BenchmarkDelta(b *testing.B) {
	for name, version := range map[string]Version{"0529": V0529, "0128": V0128} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			h := handlerOf(nil, nil)
			x := &exchange{form: Form{Version: version}, state: state{snake: null}}
			s := &session{x: x, stream: wire.NDJSON(discarding{http.Header{}}, "x"), format: h.format(x)}
			if err := s.run(b.Context(), tokens(b.N)); err != nil {
				b.Fatal(err)
			}
		})
	}
}
