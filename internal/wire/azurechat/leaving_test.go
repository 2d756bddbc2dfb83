package azurechat

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

const asking = `{"messages":[{"role":"user","content":"my secret"}],"session_state":"my secret"}`

func TestClientsThatLeave(t *testing.T) {
	wiretest.Protocol{
		Handler: func(r chat.Runner, log *slog.Logger) http.Handler {
			return wiretest.Mount(handlerOf(r, nil).Protocol(), log)
		},
		ReplyPath: "/chat", ReplyBody: asking,
		StreamPath: "/chat/stream", StreamBody: asking,
	}.TestLeaving(t)
}

func TestStream_EndsTheRangeWhenALineCannotBeWritten(t *testing.T) {
	r := wiretest.NewTalking(wiretest.TalkingOn)
	server := httptest.NewServer(serve(handlerOf(r, nil)))
	defer server.Close()
	wiretest.LeaveAfter(t, server.URL+"/chat/stream", asking, "xxx")
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
	request := httptest.NewRequestWithContext(ctx, http.MethodPost, "/api/chat/stream", strings.NewReader(asking))
	serve(handlerOf(r, nil)).ServeHTTP(w, request)
	want := string(wire.AppendString([]byte(`{"error":{"code":"unavailable","message":`), wire.InternalSentence)) + "}}\n"
	if got := w.Body.String(); !strings.HasSuffix(got, "}\n"+want) {
		t.Errorf("got %s", got)
	}
}
