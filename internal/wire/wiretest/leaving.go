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
	"parley/internal/wire"
)

// Talking is a Runner that begins an answer with "It" and then calls Then. It closes Ended when the iteration
// ends, so it can run only once.
type Talking struct {
	Then  func(ctx context.Context, yield func(chat.Event, error) bool)
	Ended chan struct{}
}

// NewTalking returns a Talking.
func NewTalking(then func(ctx context.Context, yield func(chat.Event, error) bool)) Talking {
	return Talking{Then: then, Ended: make(chan struct{})}
}

// Run emits the beginning of an answer and calls Then.
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

// LeaveAfter posts a body, reads the streamed reply up to the first line that contains text, and disconnects.
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

// TalkingOn emits text until yield returns false.
func TalkingOn(_ context.Context, yield func(chat.Event, error) bool) {
	for yield(chat.TextDelta{ID: "m", Text: strings.Repeat("x", 1000)}, nil) {
	}
}

// Leaving tests what a protocol does when its clients disconnect or its server stops. The bodies must contain the
// words "my secret", which must not be logged.
type Leaving struct {
	Protocol               func(chat.Runner) wire.Protocol
	ReplyPath, ReplyBody   string // for a whole reply
	StreamPath, StreamBody string
	Ahead                  bool     // the turn is read ahead of the client, so only the end of its context ends it
	Stopping               []string // parts of a stream whose server stops, in order, the last at its end; nil skips the test
}

// Test runs the tests.
func (l Leaving) Test(t *testing.T) {
	stream := func(t *testing.T, then func(context.Context, func(chat.Event, error) bool), until string) {
		t.Helper()
		r := NewTalking(then)
		server := httptest.NewServer(Handler(l.Protocol(r)))
		defer server.Close()
		LeaveAfter(t, server.URL+l.StreamPath, l.StreamBody, until)
		<-r.Ended
	}
	t.Run("a stream cancels a turn that waits when its client leaves", func(t *testing.T) { stream(t, Waiting, `"It"`) })
	t.Run("a stream ends the range when nothing can be written", func(t *testing.T) {
		if l.Ahead {
			t.Skip("the turn is read ahead of the client")
		}
		stream(t, TalkingOn, "xxx")
	})
	t.Run("a reply cancels its turn when its client leaves, which is not a fault", func(t *testing.T) {
		ctx, leave := context.WithCancel(t.Context())
		r := NewTalking(func(ctx context.Context, yield func(chat.Event, error) bool) {
			leave()
			<-ctx.Done()
			yield(nil, ctx.Err())
		})
		var log Log
		post(ctx, Mount(l.Protocol(r), slog.New(&log)), l.ReplyPath, l.ReplyBody)
		<-r.Ended
		if got := log.Levels(); got != "DEBUG" {
			t.Errorf("a leaving client was logged at %s", got)
		}
	})
	t.Run("a stream says that the server stops", func(t *testing.T) {
		if l.Stopping == nil {
			t.Skip("the protocol has tests of its own")
		}
		ctx, stop := context.WithCancelCause(t.Context())
		r := NewTalking(func(ctx context.Context, yield func(chat.Event, error) bool) {
			stop(&chat.Error{Kind: chat.Unavailable, Msg: "The server is stopping."})
			Waiting(ctx, yield)
		})
		got := post(ctx, Handler(l.Protocol(r)), l.StreamPath, l.StreamBody)
		rest := got
		for _, want := range l.Stopping {
			_, after, ok := strings.Cut(rest, want)
			if !ok {
				t.Fatalf("%s is not in %s", want, got)
			}
			rest = after
		}
		if rest != "" {
			t.Errorf("after the end comes %s", rest)
		}
	})
	t.Run("the log says what went wrong, but nothing of the request's text", func(t *testing.T) {
		for _, asked := range [][2]string{{l.ReplyPath, l.ReplyBody}, {l.StreamPath, l.StreamBody}} {
			var log Log
			r := &Scripted{Steps: []Step{{Err: errors.New("disk full")}}}
			post(t.Context(), Mount(l.Protocol(r), slog.New(&log)), asked[0], asked[1])
			if log.Levels() != "ERROR" || strings.Contains(log.Text(), "my secret") || !strings.Contains(log.Text(), "disk full") {
				t.Errorf("%s: %s: %s", asked[0], log.Levels(), log.Text())
			}
		}
	})
}

func post(ctx context.Context, h http.Handler, path, body string) string {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodPost, path, strings.NewReader(body)))
	return w.Body.String()
}
