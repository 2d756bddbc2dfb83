package azurechat

import (
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"parley/internal/chat"
	"parley/internal/wire"
	"parley/internal/wire/wiretest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// handlerOf returns a Handler with ids and a clock that repeat.
func handlerOf(runner Runner, change func(*Config)) *Handler {
	cfg := Config{
		Runner:    runner,
		Principal: wiretest.Principal,
		Defaults:  chat.Options{Temperature: 0.3},
		Logger:    slog.New(slog.DiscardHandler),
		Now:       func() time.Time { return time.Unix(1706301586, 0) },
		NewID:     wiretest.IDs(),
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
	withBody := wiretest.WithBody(wire.WriteError, func(w http.ResponseWriter, r *http.Request, body []byte) {
		form, fixed := forms[r.URL.Path]
		if !fixed {
			form = dispatched(r.URL.Path, body)
		}
		h.Serve(w, r, form, body)
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/") {
			h.ServeMultipart(w, r, forms[r.URL.Path])
			return
		}
		withBody(w, r)
	})
}

func dispatched(path string, body []byte) Form {
	var form Form
	if probe, err := wire.ProbeBody(body); err == nil && probe.HasStream {
		form.Version = V0128
	}
	if path == "/ask" {
		form.Stream = StreamNever
		form.Both = form.Version == V0529
	}
	return form
}

// requestOf is wiretest.Request, but for a form, whose lines end as those of forms do and whose
// length nobody knows.
func requestOf(tb testing.TB, text string) *http.Request {
	tb.Helper()
	r := wiretest.Request(tb, text)
	if strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/") {
		_, body, _ := strings.Cut(text, "\n\n")
		r.Body = io.NopCloser(strings.NewReader(strings.ReplaceAll(body, "\n", "\r\n")))
		r.ContentLength = -1
	}
	return r
}
