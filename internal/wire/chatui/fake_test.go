package chatui

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"parley/internal/chat"
	"parley/internal/transcript/transcripttest"
	"parley/internal/wire"
	"parley/internal/wire/wiretest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// script is wiretest.Script, but adds the cause to failed messages, which their JSON leaves out.
func script(tb testing.TB, text string) []wiretest.Step {
	tb.Helper()
	steps := wiretest.Script(tb, text)
	for i := range steps {
		if e, ok := steps[i].Event.(chat.MessageFinished); ok && e.Status == chat.StatusFailed {
			e.Err = &chat.Error{Kind: chat.Unavailable, Msg: "The model is not available at the moment.", Err: errors.New("secret cause")}
			steps[i].Event = e
		}
	}
	return steps
}

// handlerOf returns a Handler whose ids are the same in each run. The header X-Test-User names the
// caller.
func handlerOf(runner chat.Runner, change func(*Config)) *Handler {
	cfg := Config{
		Base: wire.Base{
			Runner:   runner,
			Defaults: chat.Options{Top: 3, Mode: "hybrid", Temperature: 0.3, FollowUps: true},
			NewID:    wiretest.IDs(),
		},
		Store: &transcripttest.Store{},
	}
	if change != nil {
		change(&cfg)
	}
	return New(cfg)
}

func serve(h *Handler) http.Handler { return wiretest.Handler(h.Protocol()) }

// arrivals is a client that records the times at which data arrives.
type arrivals struct {
	*httptest.ResponseRecorder
	start  time.Time
	taken  int // length of the body before
	chunks []chunk
}

type chunk struct {
	at   time.Duration
	text string
}

func record() *arrivals {
	return &arrivals{ResponseRecorder: httptest.NewRecorder(), start: time.Now()}
}

// FlushError records the data since the last flush.
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

// text returns the body. Each part of a stream has the time of its arrival.
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
