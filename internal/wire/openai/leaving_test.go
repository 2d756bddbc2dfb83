package openai

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
	asking    = `{"model":"parley","messages":[{"role":"user","content":"my secret"}]}`
	streaming = `{"model":"parley","messages":[{"role":"user","content":"my secret"}],"stream":true}`
)

func TestClientsThatLeave(t *testing.T) {
	wiretest.Protocol{
		Handler: func(r chat.Runner, log *slog.Logger) http.Handler {
			return wiretest.Mount(handlerOf(r, nil).Protocol(), log)
		},
		ReplyPath: "/v1/chat/completions", ReplyBody: asking,
		StreamPath: "/v1/chat/completions", StreamBody: streaming,
	}.TestLeaving(t)
}

func TestStream_EndsTheRangeWhenAChunkCannotBeWritten(t *testing.T) {
	r := wiretest.NewTalking(wiretest.TalkingOn)
	server := httptest.NewServer(serve(handlerOf(r, nil)))
	defer server.Close()
	wiretest.LeaveAfter(t, server.URL+"/v1/chat/completions", streaming, "xxx")
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
	request := httptest.NewRequestWithContext(ctx, http.MethodPost, "/v1/chat/completions", strings.NewReader(streaming))
	serve(handlerOf(r, nil)).ServeHTTP(w, request)
	const want = `data: {"error":{"message":"The server is stopping.","type":"server_error","param":null,"code":"unavailable"}}` + "\n\n"
	if got := w.Body.String(); !strings.HasSuffix(got, "}\n\n"+want) {
		t.Errorf("got %s", got)
	}
}

// sessionOf returns a session that has begun.
func sessionOf(tb testing.TB) *session {
	tb.Helper()
	s := &session{h: handlerOf(nil, nil), x: &exchange{model: "parley"}, stream: wire.SSE(wiretest.NewDiscard())}
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
