package azurechat

import (
	"net/http"
	"testing"
	"time"

	"go.uber.org/goleak"

	"parley/internal/chat"
	"parley/internal/wire"
	"parley/internal/wire/wiretest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// handlerOf returns a Handler with ids and a clock that repeat.
func handlerOf(runner chat.Runner, change func(*Config)) *Handler {
	cfg := Config{
		Base: wire.Base{
			Runner:   runner,
			Defaults: chat.Options{Temperature: 0.3},
			Now:      func() time.Time { return time.Unix(1706301586, 0) },
			NewID:    wiretest.IDs(),
		},
	}
	if change != nil {
		change(&cfg)
	}
	return New(cfg)
}

func serve(h *Handler) http.Handler { return wiretest.Handler(h.Protocol()) }
