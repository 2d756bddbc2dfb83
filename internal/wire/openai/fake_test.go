package openai

import (
	"context"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"go.uber.org/goleak"

	"parley/internal/access"
	"parley/internal/chat"
	"parley/internal/wire/wiretest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// handlerOf returns a Handler with ids and a clock that repeat, and with the namespaces default,
// hr and "a b/ü".
func handlerOf(runner chat.Runner, change func(*Config)) *Handler {
	cfg := Config{
		Runner:     runner,
		Namespaces: namespaces("a b/ü", "default", "hr"),
		Defaults:   chat.Options{Top: 3, Mode: "hybrid", Temperature: 0.3, MaxOutputTokens: 1024, FollowUps: true},
		Now:        func() time.Time { return time.Unix(1706301586, 0) },
		NewID:      wiretest.IDs(),
	}
	if change != nil {
		change(&cfg)
	}
	return New(cfg)
}

func namespaces(names ...string) func(context.Context, access.Principal) ([]string, error) {
	return func(context.Context, access.Principal) ([]string, error) { return names, nil }
}

// serve stands in for internal/server.
func serve(h *Handler) http.Handler {
	return wiretest.Mount(h.Protocol(), slog.New(slog.DiscardHandler))
}
