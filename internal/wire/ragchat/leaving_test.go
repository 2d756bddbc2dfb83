package ragchat

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"parley/internal/chat"
	"parley/internal/wire/wiretest"
)

const (
	asking    = `{"message":"my secret","params":{"query_id":"q1"}}`
	streaming = `{"message":"my secret","params":{"query_id":"q1","stream":true}}`
)

func TestClientsThatLeave(t *testing.T) {
	wiretest.Protocol{
		Handler: func(r chat.Runner, log *slog.Logger) http.Handler {
			return wiretest.Mount(handlerOf(r, &books{}, nil).Protocol(), log)
		},
		ReplyPath: "/chat", ReplyBody: asking,
		StreamPath: "/chat", StreamBody: streaming,
	}.TestLeaving(t)
}

func TestStream_EndsTheRangeWhenAnEventCannotBeWritten(t *testing.T) {
	r := wiretest.NewTalking(wiretest.TalkingOn)
	server := httptest.NewServer(serve(handlerOf(r, &books{}, nil)))
	defer server.Close()
	wiretest.LeaveAfter(t, server.URL+"/chat", streaming, "xxx")
	<-r.Ended
}
