package azurechat

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
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

func (s *scripted) Run(ctx context.Context, req chat.Request) iter.Seq2[chat.Event, error] {
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
		"rate_limited": chat.RateLimited, "unavailable": chat.Unavailable, "not_found": chat.NotFound,
	}
	name, msg, _ := strings.Cut(text, " ")
	kind, ok := kinds[name]
	if !ok {
		tb.Fatalf("no kind of error is called %q", name)
	}
	return &chat.Error{Kind: kind, Msg: msg, Err: fmt.Errorf("secret cause")}
}

// handlerOf returns a Handler with ids and a clock that repeat.
func handlerOf(runner Runner, change func(*Config)) *Handler {
	ids := 0
	cfg := Config{
		Runner:    runner,
		Principal: func(*http.Request) (access.Principal, error) { return access.Anonymous, nil },
		Defaults:  chat.Options{Temperature: 0.3},
		Logger:    slog.New(slog.DiscardHandler),
		Now:       func() time.Time { return time.Unix(1706301586, 0) },
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

// serve stands in for the routes and the dispatch of internal/server.
func serve(h *Handler) http.Handler {
	forms := map[string]Form{
		"/chat/stream":       {Version: V0529, Stream: StreamAlways},
		"/api/chat/":         {Version: V0529, SDK: true},
		"/api/chat/stream":   {Version: V0529, Stream: StreamAlways, SDK: true},
		"/p/azure-0529/chat": {Version: V0529},
		"/p/azure-0128/chat": {Version: V0128},
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		form, fixed := forms[r.URL.Path]
		if strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/") {
			h.ServeMultipart(w, r, form)
			return
		}
		body, err := wire.ReadBody(w, r, 0)
		if err != nil {
			wire.WriteError(w, err)
			return
		}
		if !fixed {
			form = dispatched(r.URL.Path, body)
		}
		h.Serve(w, r, form, body)
	})
}

func dispatched(path string, body []byte) Form {
	var form Form
	if probe, err := wire.ProbeBody(body); err == nil && probe.HasStream {
		form.Version = V0128
	}
	if path == "/ask" {
		form.Stream = StreamNever
	}
	return form
}

// requestOf parses a request as a fixture prints it: method and path, headers, an empty line,
// the body.
func requestOf(tb testing.TB, text []byte) *http.Request {
	tb.Helper()
	head, body, _ := bytes.Cut(text, []byte("\n\n"))
	lines := strings.Split(strings.TrimSpace(string(head)), "\n")
	method, path, _ := strings.Cut(lines[0], " ")
	r, err := http.NewRequestWithContext(tb.Context(), method, "http://parley.example"+path, bytes.NewReader(body))
	if err != nil {
		tb.Fatal(err)
	}
	for _, line := range lines[1:] {
		key, value, _ := strings.Cut(line, ": ")
		r.Header.Set(key, value)
	}
	if strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/") {
		r.Body = io.NopCloser(strings.NewReader(strings.ReplaceAll(string(body), "\n", "\r\n")))
		r.ContentLength = -1
	}
	return r
}
