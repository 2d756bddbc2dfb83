package aisdk

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"parley/internal/chat"
	"parley/internal/wire/wiretest"
)

const (
	endpoint = "/p/ai-sdk/api/chat"
	asking   = `{"id":"c1","messages":[{"role":"user","parts":[{"type":"text","text":"my secret"}]}]}`
)

func TestClientsThatLeave(t *testing.T) {
	wiretest.Protocol{
		Handler: func(r chat.Runner, log *slog.Logger) http.Handler {
			return wiretest.Mount(handlerOf(r, nil).Protocol(), log)
		},
		ReplyPath: endpoint, ReplyBody: asking,
		StreamPath: endpoint, StreamBody: asking,
	}.TestLeaving(t)
}

func TestStream_EndsTheRangeWhenAChunkCannotBeWritten(t *testing.T) {
	r := wiretest.NewTalking(wiretest.TalkingOn)
	server := httptest.NewServer(serve(handlerOf(r, nil)))
	defer server.Close()
	wiretest.LeaveAfter(t, server.URL+endpoint, asking, "xxx")
	<-r.Ended
}

// A server that stops cancels its streams with a cause, and tells the clients.
func TestStream_TellsTheClientThatTheServerStops(t *testing.T) {
	ctx, stop := context.WithCancelCause(t.Context())
	r := wiretest.NewTalking(func(ctx context.Context, yield func(chat.Event, error) bool) {
		stop(&chat.Error{Kind: chat.Unavailable, Msg: "The server is stopping."})
		wiretest.Waiting(ctx, yield)
	})
	w := httptest.NewRecorder()
	request := httptest.NewRequestWithContext(ctx, http.MethodPost, endpoint, strings.NewReader(asking))
	serve(handlerOf(r, nil)).ServeHTTP(w, request)
	const want = `data: {"type":"error","errorText":"The server is stopping."}` + "\n\ndata: [DONE]\n\n"
	if got := w.Body.String(); !strings.HasSuffix(got, "}\n\n"+want) {
		t.Errorf("got %s", got)
	}
}

func TestStream_HasTheHeaderThatClientsLookFor(t *testing.T) {
	w := send(handlerOf(wiretest.Tokens(2), nil), http.MethodPost, endpoint, asking)
	if got := w.Header().Get("x-vercel-ai-ui-message-stream"); got != "v1" {
		t.Errorf("the header is %q", got)
	}
}

// sessionOf returns a session that has begun.
func sessionOf(tb testing.TB) *session {
	tb.Helper()
	s := handlerOf(nil, nil).session(wiretest.NewDiscard(), "m", "http://h", "default")
	if err := s.event(chat.TextDelta{ID: "m", Text: "It"}); err != nil {
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
