package agui

import (
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
	wiretest.Leaving{
		Protocol:  func(r chat.Runner) wire.Protocol { return handlerOf(r, nil).Protocol() },
		ReplyPath: endpoint, ReplyBody: asking,
		StreamPath: endpoint, StreamBody: asking,
		Stopping: []string{"}\n\n" + `data: {"type":"RUN_ERROR","message":"The server is stopping.","code":"unavailable"}` + "\n\n"},
	}.Test(t)
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

func TestStream_AllocatesNothingForAToken(t *testing.T) { wiretest.TestTokens(t, sessionOf(t).event) }

func BenchmarkDelta(b *testing.B) { wiretest.BenchmarkTokens(b, sessionOf(b).event) }
