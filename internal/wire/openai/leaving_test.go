package openai

import (
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
	wiretest.Leaving{
		Protocol:  func(r chat.Runner) wire.Protocol { return handlerOf(r, nil).Protocol() },
		ReplyPath: "/v1/chat/completions", ReplyBody: asking,
		StreamPath: "/v1/chat/completions", StreamBody: streaming,
		Stopping: []string{"}\n\n" + `data: {"error":{"message":"The server is stopping.","type":"server_error","param":null,"code":"unavailable"}}` + "\n\n"},
	}.Test(t)
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

func TestStream_AllocatesNothingForAToken(t *testing.T) { wiretest.TestTokens(t, sessionOf(t).event) }

func BenchmarkDelta(b *testing.B) { wiretest.BenchmarkTokens(b, sessionOf(b).event) }
