package azurechat

import (
	"testing"

	"parley/internal/chat"
	"parley/internal/wire"
	"parley/internal/wire/wiretest"
)

const asking = `{"messages":[{"role":"user","content":"my secret"}],"session_state":"my secret"}`

func TestClientsThatLeave(t *testing.T) {
	wiretest.Leaving{
		Protocol:  func(r chat.Runner) wire.Protocol { return handlerOf(r, nil).Protocol() },
		ReplyPath: "/chat", ReplyBody: asking,
		StreamPath: "/api/chat/stream", StreamBody: asking,
		Stopping: []string{"}\n" + string(wire.AppendString([]byte(`{"error":{"code":"unavailable","message":`), wire.InternalSentence)) + "}}\n"},
	}.Test(t)
}
