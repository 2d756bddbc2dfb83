package openai

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

const asking = `{"model":"parley","messages":[{"role":"user","content":"my secret"}]`

// talking is a Runner that opens an answer and then goes on as its field says.
type talking struct {
	then  func(ctx context.Context, yield func(chat.Event, error) bool)
	ended chan struct{} // closed when the range is over
}

func (r talking) Run(ctx context.Context, _ chat.Request) iter.Seq2[chat.Event, error] {
	return func(yield func(chat.Event, error) bool) {
		defer close(r.ended)
		for _, e := range []chat.Event{chat.CompletionStarted{ID: "m"}, chat.TextDelta{ID: "m", Text: "It"}} {
			if !yield(e, nil) {
				return
			}
		}
		r.then(ctx, yield)
	}
}

// leaveAfter opens a stream, reads a few of its lines and goes away.
func leaveAfter(t *testing.T, url string, lines int) {
	t.Helper()
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	body := strings.NewReader(asking + `,"stream":true}`)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/chat/completions", body)
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
	leaveAfter(t, server.URL, 4)
	<-r.ended
}

func TestStream_EndsTheRangeWhenAChunkCannotBeWritten(t *testing.T) {
	r := talking{ended: make(chan struct{}), then: func(_ context.Context, yield func(chat.Event, error) bool) {
		for yield(chat.TextDelta{ID: "m", Text: strings.Repeat("x", 1000)}, nil) {
		}
	}}
	server := httptest.NewServer(serve(handlerOf(r, nil)))
	defer server.Close()
	leaveAfter(t, server.URL, 6)
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
	request := httptest.NewRequestWithContext(ctx, http.MethodPost, "/v1/chat/completions", strings.NewReader(asking+"}"))
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
	request := httptest.NewRequestWithContext(ctx, http.MethodPost, "/v1/chat/completions", strings.NewReader(asking+`,"stream":true}`))
	serve(handlerOf(r, nil)).ServeHTTP(w, request)
	const want = `data: {"error":{"message":"The server is stopping.","type":"server_error","param":null,"code":"unavailable"}}` + "\n\n"
	if got := w.Body.String(); !strings.HasSuffix(got, "}\n\n"+want) {
		t.Errorf("got %s", got)
	}
}

func TestLog_SaysNothingOfTheRequestsText(t *testing.T) {
	var log levels
	runner := &scripted{steps: []step{{err: errors.New("disk full")}}}
	h := handlerOf(runner, func(c *Config) { c.Logger = slog.New(&log) })
	complete(h, asking+"}")
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

// discarding is a client that takes everything at once.
type discarding struct{ header http.Header }

func (d discarding) Header() http.Header         { return d.header }
func (d discarding) Write(b []byte) (int, error) { return len(b), nil }
func (d discarding) WriteHeader(int)             {}
func (d discarding) FlushError() error           { return nil }

// sessionOf returns a session that has begun.
func sessionOf(tb testing.TB) *session {
	tb.Helper()
	s := &session{h: handlerOf(nil, nil), x: &exchange{model: "parley"}, stream: wire.SSE(discarding{http.Header{}})}
	if err := s.event(chat.CompletionStarted{Model: "gpt-5"}); err != nil {
		tb.Fatal(err)
	}
	return s
}

func TestStream_AllocatesNothingForAToken(t *testing.T) {
	s := sessionOf(t)
	var e chat.Event = chat.TextDelta{ID: "m", Text: " deductible"}
	allocs := testing.AllocsPerRun(1000, func() {
		if err := s.event(e); err != nil {
			t.Fatal(err)
		}
	})
	if allocs > 0 {
		t.Errorf("%v allocations a token", allocs)
	}
}

// BenchmarkDelta measures what one token costs from its event to the flushed chunk.
func BenchmarkDelta(b *testing.B) {
	b.ReportAllocs()
	s := sessionOf(b)
	var e chat.Event = chat.TextDelta{ID: "m", Text: " deductible"}
	for b.Loop() {
		if err := s.event(e); err != nil {
			b.Fatal(err)
		}
	}
}
