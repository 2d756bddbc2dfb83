package azurechat

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
	"sync"
	"testing"

	"parley/internal/chat"
	"parley/internal/wire"
)

// talking is a Runner that opens an answer and then goes on as its field says.
type talking struct {
	then  func(ctx context.Context, yield func(chat.Event, error) bool)
	ended chan struct{} // closed when the range is over
}

func (r talking) Run(ctx context.Context, _ chat.Request) iter.Seq2[chat.Event, error] {
	return func(yield func(chat.Event, error) bool) {
		defer close(r.ended)
		opening := []chat.Event{
			chat.MessageStarted{ID: "m"}, chat.CompletionStarted{ID: "m"}, chat.TextDelta{ID: "m", Text: "It"},
		}
		for _, e := range opening {
			if !yield(e, nil) {
				return
			}
		}
		r.then(ctx, yield)
	}
}

// leaveAfter opens a stream, reads a few lines of it and goes away.
func leaveAfter(t *testing.T, url string, lines int) {
	t.Helper()
	ctx, leave := context.WithCancel(t.Context())
	body := strings.NewReader(`{"messages":[{"role":"user","content":"x"}]}`)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, body)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{}}
	response, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	reader := bufio.NewReader(response.Body)
	for range lines {
		if _, err := reader.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	leave()
	response.Body.Close()
}

func TestStream_CancelsAWaitingTurnWhenTheClientLeaves(t *testing.T) {
	r := talking{ended: make(chan struct{}), then: func(ctx context.Context, yield func(chat.Event, error) bool) {
		<-ctx.Done() // as an upstream call would
		yield(nil, fmt.Errorf("generate: %w", ctx.Err()))
	}}
	server := httptest.NewServer(serve(handlerOf(r, nil)))
	defer server.Close()
	leaveAfter(t, server.URL+"/chat/stream", 3)
	<-r.ended
}

func TestStream_EndsTheRangeWhenALineCannotBeWritten(t *testing.T) {
	r := talking{ended: make(chan struct{}), then: func(_ context.Context, yield func(chat.Event, error) bool) {
		for yield(chat.TextDelta{ID: "m", Text: strings.Repeat("x", 1000)}, nil) {
		}
	}}
	server := httptest.NewServer(serve(handlerOf(r, nil)))
	defer server.Close()
	leaveAfter(t, server.URL+"/chat/stream", 5)
	<-r.ended
}

func TestReply_CancelsTheTurnWhenTheClientLeaves(t *testing.T) {
	ctx, leave := context.WithCancel(t.Context())
	r := talking{ended: make(chan struct{}), then: func(ctx context.Context, yield func(chat.Event, error) bool) {
		leave()
		<-ctx.Done()
		yield(nil, ctx.Err())
	}}
	var log levels
	h := handlerOf(r, func(c *Config) { c.Logger = slog.New(&log) })
	request := httptest.NewRequestWithContext(ctx, http.MethodPost, "/chat", strings.NewReader(`{"messages":[{"role":"user","content":"x"}]}`))
	serve(h).ServeHTTP(httptest.NewRecorder(), request)
	<-r.ended
	if got := log.String(); got != "DEBUG" {
		t.Errorf("a leaving client was logged at %s", got)
	}
}

// A server that stops cancels its streams with a cause, and tells the clients.
func TestStream_TellsTheClientThatTheServerStops(t *testing.T) {
	ctx, stop := context.WithCancelCause(t.Context())
	r := talking{ended: make(chan struct{}), then: func(ctx context.Context, yield func(chat.Event, error) bool) {
		stop(&chat.Error{Kind: chat.Unavailable, Msg: "The server is stopping."})
		<-ctx.Done()
		yield(nil, fmt.Errorf("generate: %w", ctx.Err()))
	}}
	w := httptest.NewRecorder()
	request := httptest.NewRequestWithContext(ctx, http.MethodPost, "/api/chat/stream", strings.NewReader(`{"messages":[{"role":"user","content":"x"}]}`))
	serve(handlerOf(r, nil)).ServeHTTP(w, request)
	want := string(wire.AppendString([]byte(`{"error":{"code":"unavailable","message":`), wire.InternalSentence)) + "}}\n"
	if got := w.Body.String(); !strings.HasSuffix(got, "}\n"+want) {
		t.Errorf("got %s", got)
	}
}

func TestLog_SaysNothingOfTheRequestsText(t *testing.T) {
	var log levels
	runner := &scripted{steps: []step{{err: errors.New("disk full")}}}
	h := handlerOf(runner, func(c *Config) { c.Logger = slog.New(&log) })
	body := `{"messages":[{"role":"user","content":"my secret"}],"session_state":"my secret"}`
	serve(h).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/chat", strings.NewReader(body)))
	if log.String() != "ERROR" || strings.Contains(log.text, "my secret") || !strings.Contains(log.text, "disk full") {
		t.Errorf("%s: %s", log.String(), log.text)
	}
}

// levels is a slog.Handler that keeps the levels and the text of what is logged.
type levels struct {
	mu   sync.Mutex
	seen []string
	text string
}

func (l *levels) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.seen, " ")
}

func (l *levels) Enabled(context.Context, slog.Level) bool { return true }
func (l *levels) WithAttrs([]slog.Attr) slog.Handler       { return l }
func (l *levels) WithGroup(string) slog.Handler            { return l }

func (l *levels) Handle(_ context.Context, r slog.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen = append(l.seen, r.Level.String())
	r.Attrs(func(a slog.Attr) bool { l.text += a.String() + " "; return true })
	return nil
}
