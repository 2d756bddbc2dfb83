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
	"parley/internal/wire/wiretest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// handlerOf returns a Handler with ids and a clock that repeat.
func handlerOf(runner chat.Runner, change func(*Config)) *Handler {
	cfg := Config{
		Runner:   runner,
		Defaults: chat.Options{Temperature: 0.3},
		Now:      func() time.Time { return time.Unix(1706301586, 0) },
		NewID:    wiretest.IDs(),
	}
	if change != nil {
		change(&cfg)
	}
	return New(cfg)
}

// serve stands in for internal/server.
func serve(h *Handler) http.Handler {
	return wiretest.Mount(h.Protocol(), slog.New(slog.DiscardHandler))
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
