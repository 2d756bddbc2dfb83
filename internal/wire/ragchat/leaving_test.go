package ragchat

import (
	"testing"

	"parley/internal/chat"
	"parley/internal/wire"
	"parley/internal/wire/wiretest"
)

const (
	asking    = `{"message":"my secret","params":{"query_id":"q1"}}`
	streaming = `{"message":"my secret","params":{"query_id":"q1","stream":true}}`
)

func TestClientsThatLeave(t *testing.T) {
	wiretest.Leaving{
		Protocol:  func(r chat.Runner) wire.Protocol { return handlerOf(r, &books{}, nil).Protocol() },
		ReplyPath: "/chat", ReplyBody: asking,
		StreamPath: "/chat", StreamBody: streaming,
	}.Test(t)
}
