package responses

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"parley/internal/chat"
	"parley/internal/wire"
	"parley/internal/wire/wiretest"
)

const (
	endpoint  = "/v1/responses"
	asking    = `{"model":"parley","input":"my secret"}`
	streaming = `{"model":"parley","input":"my secret","stream":true}`
)

func TestClientsThatLeave(t *testing.T) {
	wiretest.Leaving{
		Protocol:  func(r chat.Runner) wire.Protocol { return handlerOf(r, nil).Protocol() },
		ReplyPath: endpoint, ReplyBody: asking,
		StreamPath: endpoint, StreamBody: streaming,
		Stopping: []string{
			`"error":{"type":"server_error","code":"unavailable","message":"The server is stopping.","param":null}}`, `"status":"failed"`, "data: [DONE]\n\n",
		},
	}.Test(t)
}

func TestStream_KeepsWhatThereIsOfAResponseWhoseClientLeaves(t *testing.T) {
	r := wiretest.NewTalking(wiretest.TalkingOn)
	h := handlerOf(r, nil)
	server := httptest.NewServer(serve(h))
	wiretest.LeaveAfter(t, server.URL+endpoint, streaming, "xxx")
	<-r.Ended
	server.Close() // waits for the handler
	w := send(h, http.MethodGet, endpoint+"/resp_01J00000000000000000000001", "")
	if body := w.Body.String(); w.Code != 200 || !strings.Contains(body, `"status":"cancelled"`) || !strings.Contains(body, `"text":"Itxxx`) {
		t.Errorf("%d %.500s", w.Code, body)
	}
}

func TestCancel_EndsAResponseThatIsBeingMade(t *testing.T) {
	for _, body := range []string{asking, streaming} {
		var h *Handler
		cancelled := make(chan *httptest.ResponseRecorder, 1)
		h = handlerOf(wiretest.NewTalking(func(ctx context.Context, yield func(chat.Event, error) bool) {
			go func() {
				cancelled <- send(h, http.MethodPost, endpoint+"/resp_01J00000000000000000000001/cancel", "")
			}()
			wiretest.Waiting(ctx, yield)
		}), nil)
		w := send(h, http.MethodPost, endpoint, body)
		if strings.Contains(body, "stream") != (w.Code == 200) || !strings.Contains(w.Body.String(), "The response was cancelled.") {
			t.Errorf("%d %s", w.Code, w.Body)
		}
		if got := <-cancelled; got.Code != 200 || !strings.Contains(got.Body.String(), `"status":"cancelled"`) {
			t.Errorf("%d %s", got.Code, got.Body)
		}
	}
}

func TestCancel_DoesNotReachTheResponsesOfOthers(t *testing.T) {
	h := handlerOf(nil, nil)
	ended := false
	l := &landing{cancel: func(error) { ended = true }, done: make(chan struct{})}
	defer h.flights.enter(flight{"anna", "resp_1"}, l)()
	w := send(h, http.MethodPost, endpoint+"/resp_1/cancel", "", "X-Test-User", "bert")
	if w.Code != 404 || ended {
		t.Errorf("%d %s, cancelled: %v", w.Code, w.Body, ended)
	}
}

// builderOf returns a builder of a stream that has begun.
func builderOf(tb testing.TB) *builder {
	tb.Helper()
	x := &exchange{}
	x.req.TurnID = "01J00000000000000000000001"
	b := &builder{h: handlerOf(nil, nil), x: x, out: events{wire.SSE(wiretest.NewDiscard())}}
	if err := errors.Join(b.add(chat.CompletionStarted{Model: "gpt-5"}), b.add(chat.TextDelta{Text: "a"})); err != nil {
		tb.Fatal(err)
	}
	return b
}

func TestStream_AllocatesNothingForATokenButItsText(t *testing.T) {
	b := builderOf(t)
	b.said.Grow(1 << 20)
	wiretest.TestTokens(t, b.add)
}

func BenchmarkDelta(b *testing.B) { wiretest.BenchmarkTokens(b, builderOf(b).add) }
