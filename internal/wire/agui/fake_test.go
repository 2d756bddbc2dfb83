package agui

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"go.uber.org/goleak"

	"parley/internal/access"
	"parley/internal/chat"
	"parley/internal/wire"
	"parley/internal/wire/wiretest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// handlerOf returns a Handler with ids that repeat, and with the namespaces default and hr.
func handlerOf(runner chat.Runner, change func(*Config)) *Handler {
	cfg := Config{
		Base: wire.Base{
			Runner: runner,
			Namespaces: func(context.Context, access.Principal) ([]string, error) {
				return []string{"default", "hr"}, nil
			},
			Defaults: chat.Options{Top: 3, Mode: "hybrid", Temperature: 0.3, MaxOutputTokens: 1024, FollowUps: true},
			NewID:    wiretest.IDs(),
		},
	}
	if change != nil {
		change(&cfg)
	}
	return New(cfg)
}

// send makes a request and returns the response.
func send(h *Handler, method, target, body string, headers ...string) *httptest.ResponseRecorder {
	return wiretest.Send(serve(h), method, target, body, headers...)
}

func serve(h *Handler) http.Handler { return wiretest.Handler(h.Protocol()) }
