package wiretest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"parley/internal/chat"
)

// Talking is a Runner that opens an answer with "It" and then calls Then. It closes Ended at the end of
// the range, so it can run only once.
type Talking struct {
	Then  func(ctx context.Context, yield func(chat.Event, error) bool)
	Ended chan struct{}
}

// NewTalking returns a Talking.
func NewTalking(then func(ctx context.Context, yield func(chat.Event, error) bool)) Talking {
	return Talking{Then: then, Ended: make(chan struct{})}
}

// Run emits the opening and calls Then.
func (r Talking) Run(ctx context.Context, _ *chat.Request) iter.Seq2[chat.Event, error] {
	return func(yield func(chat.Event, error) bool) {
		defer close(r.Ended)
		opening := []chat.Event{
			chat.MessageStarted{ID: "m"}, chat.CompletionStarted{ID: "m"}, chat.TextDelta{ID: "m", Text: "It"},
		}
		for _, e := range opening {
			if !yield(e, nil) {
				return
			}
		}
		r.Then(ctx, yield)
	}
}

// Waiting waits for the context, as an upstream call would.
func Waiting(ctx context.Context, yield func(chat.Event, error) bool) {
	<-ctx.Done()
	yield(nil, fmt.Errorf("generate: %w", ctx.Err()))
}

// LeaveAfter posts a body, reads the streamed reply up to the line that contains text, and leaves.
func LeaveAfter(t *testing.T, url, body, text string) {
	t.Helper()
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	response, err := (&http.Client{Transport: &http.Transport{}}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	reader := bufio.NewReader(response.Body)
	for line := ""; !strings.Contains(line, text); {
		if line, err = reader.ReadString('\n'); err != nil {
			t.Fatalf("before %q came: %v", text, err)
		}
	}
	leave()
}

// TalkingOn emits text until the reader stops it.
func TalkingOn(_ context.Context, yield func(chat.Event, error) bool) {
	for yield(chat.TextDelta{ID: "m", Text: strings.Repeat("x", 1000)}, nil) {
	}
}

// Protocol is a handler with a path and bodies for a whole and a streamed reply. The bodies contain the
// words "my secret".
type Protocol struct {
	Handler                func(r chat.Runner, log *slog.Logger) http.Handler
	ReplyPath, ReplyBody   string
	StreamPath, StreamBody string
}

// TestLeaving tests how a protocol treats clients that leave, and what it logs.
func (p Protocol) TestLeaving(t *testing.T) {
	t.Run("a stream cancels a turn that waits when its client leaves", func(t *testing.T) {
		r := NewTalking(Waiting)
		server := httptest.NewServer(p.Handler(r, slog.New(slog.DiscardHandler)))
		defer server.Close()
		LeaveAfter(t, server.URL+p.StreamPath, p.StreamBody, `"It"`)
		<-r.Ended
	})
	t.Run("a reply cancels its turn when its client leaves, which is no fault", func(t *testing.T) {
		ctx, leave := context.WithCancel(t.Context())
		r := NewTalking(func(ctx context.Context, yield func(chat.Event, error) bool) {
			leave()
			<-ctx.Done()
			yield(nil, ctx.Err())
		})
		var log Log
		post(ctx, p.Handler(r, slog.New(&log)), p.ReplyPath, p.ReplyBody)
		<-r.Ended
		if got := log.Levels(); got != "DEBUG" {
			t.Errorf("a leaving client was logged at %s", got)
		}
	})
	t.Run("the log says what went wrong, but nothing of the request's text", func(t *testing.T) {
		for _, asked := range [][2]string{{p.ReplyPath, p.ReplyBody}, {p.StreamPath, p.StreamBody}} {
			var log Log
			r := &Scripted{Steps: []Step{{Err: errors.New("disk full")}}}
			post(t.Context(), p.Handler(r, slog.New(&log)), asked[0], asked[1])
			if log.Levels() != "ERROR" || strings.Contains(log.Text(), "my secret") || !strings.Contains(log.Text(), "disk full") {
				t.Errorf("%s: %s: %s", asked[0], log.Levels(), log.Text())
			}
		}
	})
}

func post(ctx context.Context, h http.Handler, path, body string) {
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, path, strings.NewReader(body))
	h.ServeHTTP(httptest.NewRecorder(), r)
}
