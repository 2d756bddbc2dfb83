package chatui

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
	"testing/synctest"
	"time"

	"parley/internal/chat"
)

const asked = `{"messages":[{"role":"user","content":"my secret"}]}`

// talking is a Runner that opens an answer and then goes on as it says.
type talking struct {
	then  func(ctx context.Context, yield func(chat.Event, error) bool)
	ended chan struct{} // closed when the range is over
}

func (r talking) Run(ctx context.Context, _ chat.Request) iter.Seq2[chat.Event, error] {
	return func(yield func(chat.Event, error) bool) {
		defer close(r.ended)
		yield(chat.MessageStarted{ID: "m"}, nil)
		yield(chat.TextDelta{ID: "m", Text: "It"}, nil)
		r.then(ctx, yield)
	}
}

func TestStream_CancelsTheTurnWhenTheClientLeaves(t *testing.T) {
	turns := map[string]func(context.Context, func(chat.Event, error) bool){
		"waits for a model": func(ctx context.Context, yield func(chat.Event, error) bool) {
			<-ctx.Done() // as an upstream call would
			yield(nil, fmt.Errorf("generate: %w", ctx.Err()))
		},
		"talks on": func(ctx context.Context, yield func(chat.Event, error) bool) {
			for ctx.Err() == nil {
				yield(chat.TextDelta{ID: "m", Text: "x"}, nil)
				time.Sleep(time.Millisecond)
			}
			yield(nil, ctx.Err())
		},
	}
	for name, then := range turns {
		t.Run(name, func(t *testing.T) {
			r := talking{ended: make(chan struct{}), then: then}
			server := httptest.NewServer(serve(handlerOf(r, nil)))
			defer server.Close()
			leaveAfterOneEvent(t, server.URL+"/api/chat/sse")
			<-r.ended
		})
	}
}

// leaveAfterOneEvent opens a stream, reads its first event and goes away.
func leaveAfterOneEvent(t *testing.T, url string) {
	t.Helper()
	ctx, leave := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(asked))
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{}}
	response, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(response.Body).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	leave()
	response.Body.Close()
}

// broken is a client to which nothing can be written.
type broken struct{ http.ResponseWriter }

func (broken) FlushError() error { return errors.New("connection reset") }

func TestStream_CancelsTheTurnWhenNothingCanBeWritten(t *testing.T) {
	r := talking{ended: make(chan struct{}), then: func(ctx context.Context, yield func(chat.Event, error) bool) {
		<-ctx.Done()
		yield(nil, ctx.Err())
	}}
	serve(handlerOf(r, nil)).ServeHTTP(broken{httptest.NewRecorder()}, request("/api/chat/sse"))
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
	serve(h).ServeHTTP(httptest.NewRecorder(), request("/api/chat").WithContext(ctx))
	<-r.ended
	if got := log.String(); got != "DEBUG" {
		t.Errorf("a leaving client was logged at %s", got)
	}
}

func request(path string) *http.Request {
	return httptest.NewRequest(http.MethodPost, path, strings.NewReader(asked))
}

// A server that stops cancels its requests with a cause, and tells the clients.
func TestChat_TellsTheClientThatTheServerStops(t *testing.T) {
	for path, want := range map[string]int{"/api/chat": 503, "/api/chat/sse": 200} {
		synctest.Test(t, func(t *testing.T) {
			ctx, stop := context.WithCancelCause(t.Context())
			r := talking{ended: make(chan struct{}), then: func(ctx context.Context, yield func(chat.Event, error) bool) {
				time.Sleep(time.Second)
				stop(&chat.Error{Kind: chat.Unavailable, Msg: "The server is stopping."})
				<-ctx.Done()
				yield(nil, fmt.Errorf("generate: %w", ctx.Err()))
			}}
			w := httptest.NewRecorder()
			serve(handlerOf(r, nil)).ServeHTTP(w, request(path).WithContext(ctx))
			if got := w.Body.String(); w.Code != want || !strings.Contains(got, `"error":{"message":"The server is stopping.","code":"UNAVAILABLE"}`) {
				t.Errorf("%s: %d %s", path, w.Code, got)
			}
		})
	}
}

// A turn that does not listen does not keep the client waiting: it is answered before 28 seconds
// are over, and the handler returns when the turn has ended.
func TestChat_AnswersInTimeWhateverTheTurnDoes(t *testing.T) {
	turns := map[string]func(context.Context, func(chat.Event, error) bool){
		"silent": func(_ context.Context, yield func(chat.Event, error) bool) { time.Sleep(time.Minute) },
		"talkative": func(_ context.Context, yield func(chat.Event, error) bool) {
			for range 60 * 100 {
				time.Sleep(10 * time.Millisecond)
				yield(chat.TextDelta{ID: "m", Text: "x"}, nil)
			}
		},
	}
	for name, then := range turns {
		for _, path := range []string{"/api/chat", "/api/chat/sse", "/api/chat/sse?stream_partials=false"} {
			t.Run(name+path, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := &lastByte{ResponseRecorder: httptest.NewRecorder()}
					start := time.Now()
					serve(handlerOf(talking{ended: make(chan struct{}), then: then}, nil)).ServeHTTP(w, request(path))
					if took := w.at.Sub(start); took < 27*time.Second || took > 28*time.Second {
						t.Errorf("the answer was complete after %v", took)
					}
					if took := time.Since(start); took < time.Minute {
						t.Errorf("the handler left a turn behind after %v", took)
					}
					if got := w.Body.String(); strings.Count(got, `"message":"The answer took too long."`) == 0 || !strings.Contains(got, `"status":"failed"`) {
						t.Errorf("the answer is %.300s", got)
					}
				})
			})
		}
	}
}

// lastByte notes when something was written last.
type lastByte struct {
	*httptest.ResponseRecorder
	at time.Time
}

func (l *lastByte) Write(b []byte) (int, error) {
	l.at = time.Now()
	return l.ResponseRecorder.Write(b)
}

func TestChat_PanicsWhereTheServerExpectsIt(t *testing.T) {
	for _, path := range []string{"/api/chat", "/api/chat/sse"} {
		w := httptest.NewRecorder()
		func() {
			defer func() {
				if v := recover(); v == nil || !strings.Contains(fmt.Sprint(v), "canary") {
					t.Errorf("%s: recovered %v", path, v)
				}
			}()
			serve(handlerOf(&scripted{steps: []step{{panics: "canary"}}}, nil)).ServeHTTP(w, request(path))
		}()
		if w.Body.Len() > 0 {
			t.Errorf("%s: the handler answered %s", path, w.Body)
		}
	}
}

func TestLog_SaysNothingOfTheRequestsText(t *testing.T) {
	var log levels
	runner := &scripted{steps: []step{{err: errors.New("disk full")}}}
	h := handlerOf(runner, func(c *Config) { c.Logger = slog.New(&log) })
	serve(h).ServeHTTP(httptest.NewRecorder(), request("/api/chat"))
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
