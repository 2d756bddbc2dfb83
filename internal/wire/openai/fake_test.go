package openai

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"parley/internal/access"
	"parley/internal/chat"
	"parley/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// scripted is a Runner that plays the same steps for every request.
type scripted struct {
	steps []step
	asked []chat.Request
}

type step struct {
	event chat.Event
	err   error
}

func (s *scripted) Run(_ context.Context, req chat.Request) iter.Seq2[chat.Event, error] {
	s.asked = append(s.asked, req)
	return func(yield func(chat.Event, error) bool) {
		for _, step := range s.steps {
			if !yield(step.event, step.err) {
				return
			}
		}
	}
}

// script reads steps from text: a line is an event's name and its JSON, or "error", a kind and a
// sentence, or "include" and the name of a file in testdata.
func script(tb testing.TB, text string) []step {
	tb.Helper()
	var steps []step
	for line := range strings.Lines(text) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch name {
		case "":
		case "include":
			included, err := os.ReadFile(filepath.Join("testdata", rest))
			if err != nil {
				tb.Fatal(err)
			}
			steps = append(steps, script(tb, string(included))...)
		case "error":
			steps = append(steps, step{err: scriptedError(tb, rest)})
		default:
			var n chat.Numbered
			envelope := fmt.Sprintf(`{"v":1,"turn":"","seq":1,"type":%q,"event":%s}`, name, rest)
			if err := json.Unmarshal([]byte(envelope), &n); err != nil {
				tb.Fatalf("%s: %v", line, err)
			}
			steps = append(steps, step{event: n.Event})
		}
	}
	return steps
}

func scriptedError(tb testing.TB, text string) error {
	tb.Helper()
	kinds := map[string]chat.Kind{
		"internal": chat.Internal, "invalid": chat.Invalid, "filtered": chat.Filtered,
		"rate_limited": chat.RateLimited, "unavailable": chat.Unavailable,
	}
	name, msg, _ := strings.Cut(text, " ")
	kind, ok := kinds[name]
	if !ok {
		tb.Fatalf("no kind of error is called %q", name)
	}
	return &chat.Error{Kind: kind, Msg: msg, Err: fmt.Errorf("secret cause")}
}

// handlerOf returns a Handler with ids and a clock that repeat, and with the namespaces default,
// hr and "a b/ü".
func handlerOf(runner Runner, change func(*Config)) *Handler {
	ids := 0
	cfg := Config{
		Runner:     runner,
		Principal:  func(*http.Request) (access.Principal, error) { return access.Anonymous, nil },
		Namespaces: namespaces("a b/ü", "default", "hr"),
		Defaults:   chat.Options{Top: 3, Mode: "hybrid", Temperature: 0.3, MaxOutputTokens: 1024, FollowUps: true},
		Logger:     slog.New(slog.DiscardHandler),
		Now:        func() time.Time { return time.Unix(1706301586, 0) },
		NewID: func() string {
			ids++
			return fmt.Sprintf("01J0000000000000000000000%d", ids)
		},
	}
	if change != nil {
		change(&cfg)
	}
	return New(cfg)
}

func namespaces(names ...string) func(context.Context, access.Principal) ([]string, error) {
	return func(context.Context, access.Principal) ([]string, error) { return names, nil }
}

// serve stands in for the routes of internal/server.
func serve(h *Handler) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/models", h.Models)
	mux.HandleFunc("GET /v1/models/{id...}", func(w http.ResponseWriter, r *http.Request) {
		h.Model(w, r, r.PathValue("id"))
	})
	mux.HandleFunc("POST /v1/chat/completions", func(w http.ResponseWriter, r *http.Request) {
		body, err := wire.ReadBody(w, r, 0)
		if err != nil {
			WriteFailure(w, wire.FailureOf(err))
			return
		}
		h.Complete(w, r, body)
	})
	return mux
}
