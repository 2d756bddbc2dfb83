package aisdk

import (
	"net/http"
	"testing"

	"parley/internal/chat"
	"parley/internal/wire"
	"parley/internal/wire/wiretest"
)

const (
	endpoint = "/p/ai-sdk/api/chat"
	asking   = `{"id":"c1","messages":[{"role":"user","parts":[{"type":"text","text":"my secret"}]}]}`
)

func TestClientsThatLeave(t *testing.T) {
	wiretest.Leaving{
		Protocol:  func(r chat.Runner) wire.Protocol { return handlerOf(r, nil).Protocol() },
		ReplyPath: endpoint, ReplyBody: asking,
		StreamPath: endpoint, StreamBody: asking,
		Stopping: []string{"}\n\n" + `data: {"type":"error","errorText":"The server is stopping."}` + "\n\ndata: [DONE]\n\n"},
	}.Test(t)
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

func TestStream_AllocatesNothingForAToken(t *testing.T) { wiretest.TestTokens(t, sessionOf(t).event) }

func BenchmarkDelta(b *testing.B) { wiretest.BenchmarkTokens(b, sessionOf(b).event) }
