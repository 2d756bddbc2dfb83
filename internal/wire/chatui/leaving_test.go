package chatui

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/internal/chat"
	"parley/internal/wire"
	"parley/internal/wire/wiretest"
)

const asked = `{"messages":[{"role":"user","content":"my secret"}]}`

func TestClientsThatLeave(t *testing.T) {
	wiretest.Leaving{
		Protocol:  func(r chat.Runner) wire.Protocol { return handlerOf(r, nil).Protocol() },
		ReplyPath: "/api/chat", ReplyBody: asked,
		StreamPath: "/api/chat/sse", StreamBody: asked,
		Ahead: true,
	}.Test(t)
}

func TestStream_CancelsATurnThatTalksOnWhenTheClientLeaves(t *testing.T) {
	r := wiretest.NewTalking(func(ctx context.Context, yield func(chat.Event, error) bool) {
		for ctx.Err() == nil {
			yield(chat.TextDelta{ID: "m", Text: "x"}, nil)
			time.Sleep(time.Millisecond)
		}
		yield(nil, ctx.Err())
	})
	server := httptest.NewServer(serve(handlerOf(r, nil)))
	defer server.Close()
	wiretest.LeaveAfter(t, server.URL+"/api/chat/sse", asked, `"content":"It`)
	<-r.Ended
}

// broken is a client whose writes fail.
type broken struct{ http.ResponseWriter }

func (broken) FlushError() error { return errors.New("connection reset") }

func TestStream_CancelsTheTurnWhenNothingCanBeWritten(t *testing.T) {
	r := wiretest.NewTalking(wiretest.Waiting)
	serve(handlerOf(r, nil)).ServeHTTP(broken{httptest.NewRecorder()}, request("/api/chat/sse"))
	<-r.Ended
}

func request(path string) *http.Request {
	return httptest.NewRequest(http.MethodPost, path, strings.NewReader(asked))
}

// A server that stops cancels its requests with a cause, and tells the clients.
func TestChat_TellsTheClientThatTheServerStops(t *testing.T) {
	for path, want := range map[string]int{"/api/chat": 503, "/api/chat/sse": 200} {
		synctest.Test(t, func(t *testing.T) {
			ctx, stop := context.WithCancelCause(t.Context())
			r := wiretest.NewTalking(func(ctx context.Context, yield func(chat.Event, error) bool) {
				time.Sleep(time.Second)
				stop(&chat.Error{Kind: chat.Unavailable, Msg: "The server is stopping."})
				wiretest.Waiting(ctx, yield)
			})
			w := httptest.NewRecorder()
			serve(handlerOf(r, nil)).ServeHTTP(w, request(path).WithContext(ctx))
			if got := w.Body.String(); w.Code != want || !strings.Contains(got, `"error":{"message":"The server is stopping.","code":"UNAVAILABLE"}`) {
				t.Errorf("%s: %d %s", path, w.Code, got)
			}
		})
	}
}

// A turn that ignores its context does not keep the client waiting: the reply comes within 28 seconds,
// and the handler returns when the turn has ended.
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
					serve(handlerOf(wiretest.NewTalking(then), nil)).ServeHTTP(w, request(path))
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

// lastByte records the time of the last write.
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
			serve(handlerOf(&wiretest.Scripted{Steps: []wiretest.Step{{Panics: "canary"}}}, nil)).ServeHTTP(w, request(path))
		}()
		if w.Body.Len() > 0 {
			t.Errorf("%s: the handler answered %s", path, w.Body)
		}
	}
}
