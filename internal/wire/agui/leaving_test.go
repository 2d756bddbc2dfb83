package agui

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"parley/internal/chat"
	"parley/internal/wire"
	"parley/internal/wire/wiretest"
)

const (
	endpoint = "/ag-ui"
	asking   = `{"threadId":"t1","runId":"r1","messages":[{"id":"m1","role":"user","content":"my secret"}]}`
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
	const want = `data: {"type":"RUN_ERROR","message":"The server is stopping.","code":"unavailable"}` + "\n\n"
	if got := w.Body.String(); !strings.HasSuffix(got, "}\n\n"+want) {
		t.Errorf("got %s", got)
	}
}

// sessionOf returns a session that has begun.
func sessionOf(tb testing.TB) *session {
	tb.Helper()
	s := &session{h: handlerOf(nil, nil), x: &exchange{thread: "t", run: "r"}, stream: wire.SSE(wiretest.NewDiscard())}
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
