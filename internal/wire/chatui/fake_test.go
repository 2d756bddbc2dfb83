package chatui

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"parley/internal/access"
	"parley/internal/chat"
	"parley/internal/transcript/transcripttest"
	"parley/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// scripted is a Runner that plays the same steps for every request.
type scripted struct {
	steps []step
	asked []chat.Request
}

// step waits, and then emits an event or an error; or it panics.
type step struct {
	wait   time.Duration
	event  chat.Event
	err    error
	panics string
}

func (s *scripted) Run(ctx context.Context, req chat.Request) iter.Seq2[chat.Event, error] {
	s.asked = append(s.asked, req)
	return func(yield func(chat.Event, error) bool) {
		for _, step := range s.steps {
			select {
			case <-time.After(step.wait):
			case <-ctx.Done():
				yield(nil, fmt.Errorf("complete: %w", ctx.Err()))
				return
			}
			if step.panics != "" {
				panic(step.panics)
			}
			if step.event == nil && step.err == nil {
				continue
			}
			if !yield(step.event, step.err) {
				return
			}
		}
	}
}

// script reads steps from text: a line is an event's name and its JSON, or "error", a kind and a
// sentence, or "wait" and a duration, or "panic" and a text, or "include" and the name of a file in
// testdata.
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
		case "panic":
			steps = append(steps, step{panics: rest})
		case "wait":
			d, err := time.ParseDuration(rest)
			if err != nil {
				tb.Fatal(err)
			}
			steps = append(steps, step{wait: d})
		default:
			steps = append(steps, step{event: event(tb, name, rest)})
		}
	}
	return steps
}

func event(tb testing.TB, name, body string) chat.Event {
	tb.Helper()
	var n chat.Numbered
	envelope := fmt.Sprintf(`{"v":1,"turn":"","seq":1,"type":%q,"event":%s}`, name, body)
	if err := json.Unmarshal([]byte(envelope), &n); err != nil {
		tb.Fatalf("%s %s: %v", name, body, err)
	}
	if e, ok := n.Event.(chat.MessageFinished); ok && e.Status == chat.StatusFailed {
		e.Err = &chat.Error{Kind: chat.Unavailable, Msg: "The model is not available at the moment.", Err: fmt.Errorf("secret cause")}
		return e
	}
	return n.Event
}

func scriptedError(tb testing.TB, text string) error {
	tb.Helper()
	kinds := map[string]chat.Kind{
		"internal": chat.Internal, "invalid": chat.Invalid, "filtered": chat.Filtered, "forbidden": chat.Forbidden,
		"rate_limited": chat.RateLimited, "unavailable": chat.Unavailable, "too_large": chat.TooLarge,
	}
	name, msg, _ := strings.Cut(text, " ")
	kind, ok := kinds[name]
	if !ok {
		tb.Fatalf("no kind of error is called %q", name)
	}
	return &chat.Error{Kind: kind, Msg: msg, Err: fmt.Errorf("secret cause")}
}

// handlerOf returns a Handler with ids that repeat. The header X-Test-User names the caller.
func handlerOf(runner Runner, change func(*Config)) *Handler {
	ids := 0
	cfg := Config{
		Runner: runner,
		Store:  &transcripttest.Store{},
		Principal: func(r *http.Request) (access.Principal, error) {
			user := r.Header.Get("X-Test-User")
			if user == "nobody" {
				return access.Anonymous, &chat.Error{Kind: chat.Unauthorized}
			}
			return access.Principal{Subject: user}, nil
		},
		Defaults: chat.Options{Top: 3, Mode: "hybrid", Temperature: 0.3, FollowUps: true},
		Logger:   slog.New(slog.DiscardHandler),
		NewID: func() string {
			ids++
			return fmt.Sprintf("01J000000000000000000000%02d", ids)
		},
	}
	if change != nil {
		change(&cfg)
	}
	return New(cfg)
}

// serve stands in for the routes of internal/server.
func serve(h *Handler) http.Handler {
	mux := http.NewServeMux()
	withBody := func(answer func(http.ResponseWriter, *http.Request, []byte)) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			body, err := wire.ReadBody(w, r, 0)
			if err != nil {
				WriteFailure(w, wire.FailureOf(err))
				return
			}
			answer(w, r, body)
		}
	}
	for path, form := range map[string]Form{
		"/api/chat":                   {},
		"/api/chat/sse":               {Stream: Always},
		"/api/multi-agent-chat":       {Team: true},
		"/api/multi-agent-chat/batch": {Team: true, Stream: Never},
		// The slash below a base to which clients append it.
		"/api/multi-agent-chat/stream": {Team: true, Stream: Always},
	} {
		mux.HandleFunc("POST "+path, withBody(func(w http.ResponseWriter, r *http.Request, body []byte) { h.Chat(w, r, form, body) }))
	}
	put := withBody(func(w http.ResponseWriter, r *http.Request, body []byte) {
		h.PutMessages(w, r, r.PathValue("id"), body)
	})
	mux.HandleFunc("GET /chat-history", h.Chats)
	mux.HandleFunc("POST /chat-history", withBody(h.CreateChat))
	mux.HandleFunc("PUT /chat-history/{id}", put)
	mux.HandleFunc("PUT /chat-history/{id}/messages", put)
	mux.HandleFunc("GET /chat-history/{id}/messages", func(w http.ResponseWriter, r *http.Request) { h.Messages(w, r, r.PathValue("id")) })
	mux.HandleFunc("DELETE /chat-history/{id}", func(w http.ResponseWriter, r *http.Request) { h.DeleteChat(w, r, r.PathValue("id")) })
	return mux
}

// arrivals is a client that notes when something arrives.
type arrivals struct {
	*httptest.ResponseRecorder
	start  time.Time
	taken  int // bytes of the body
	chunks []chunk
}

type chunk struct {
	at   time.Duration
	text string
}

func record() *arrivals {
	return &arrivals{ResponseRecorder: httptest.NewRecorder(), start: time.Now()}
}

// FlushError notes what has come since the last flush.
func (a *arrivals) FlushError() error {
	a.Flush()
	a.take()
	return nil
}

func (a *arrivals) take() {
	body := a.Body.String()
	if a.taken < len(body) {
		a.chunks = append(a.chunks, chunk{time.Since(a.start), body[a.taken:]})
		a.taken = len(body)
	}
}

// text is the body; that of a stream with the time at which each part arrived.
func (a *arrivals) text() string {
	if a.Header().Get("Content-Type") != "text/event-stream" {
		return a.Body.String()
	}
	a.take()
	var b strings.Builder
	for _, c := range a.chunks {
		fmt.Fprintf(&b, "@%v\n%s", c.at, c.text)
	}
	return b.String()
}
