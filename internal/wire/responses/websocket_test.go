package responses

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"parley/internal/access"
	"parley/internal/chat"
	"parley/internal/wire"
	"parley/internal/wire/wiretest"
)

// patience limits the time that a test waits for something that must happen.
const patience = time.Minute

// connection is a client's WebSocket.
type connection struct {
	*websocket.Conn
	t *testing.T
}

// connect opens a WebSocket to a handler.
func connect(t *testing.T, h *Handler) connection {
	t.Helper()
	server := httptest.NewServer(serve(h))
	t.Cleanup(server.Close)
	return dial(t, server.URL)
}

func dial(t *testing.T, address string) connection {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(client.CloseIdleConnections)
	conn, _, err := websocket.Dial(t.Context(), address+endpoint, &websocket.DialOptions{HTTPClient: client})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.CloseNow() })
	conn.SetReadLimit(1 << 20)
	return connection{conn, t}
}

func (c connection) send(message string) {
	c.t.Helper()
	if err := c.Write(c.t.Context(), websocket.MessageText, []byte(message)); err != nil {
		c.t.Fatal(err)
	}
}

// message is an event or an error, with the members that the tests read.
type message struct {
	Type     string
	Seq      int `json:"sequence_number"`
	Status   int
	Response struct{ ID, Status string }
	Error    struct{ Code, Message string }
}

// read returns the next message.
func (c connection) read() message {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	_, raw, err := c.Read(ctx)
	if err != nil {
		c.t.Fatal(err)
	}
	var m message
	if err := json.Unmarshal(raw, &m); err != nil {
		c.t.Fatal(err)
	}
	return m
}

// response sends a request and returns the last message and the types of all.
func (c connection) response(body string) (last message, types []string) {
	c.t.Helper()
	c.send(body)
	for {
		m := c.read()
		if types = append(types, m.Type); m.Type == "error" || m.Response.Status != "" && m.Response.Status != inProgress {
			return m, types
		}
	}
}

func answering(t *testing.T) *wiretest.Scripted {
	return &wiretest.Scripted{Steps: wiretest.Script(t, "include answer.events")}
}

func TestWebSocket_SendsTheEventsOfAStreamOneResponseAfterTheOther(t *testing.T) {
	c := connect(t, handlerOf(answering(t), nil))
	for _, input := range []string{"first", "second"} {
		last, types := c.response(`{"type":"response.create","model":"parley","store":false,"input":"` + input + `"}`)
		want := []string{"response.created", "response.in_progress", "response.output_item.added", "response.content_part.added",
			"response.output_text.delta", "response.output_text.delta", "response.output_text.annotation.added", "response.output_text.done",
			"response.content_part.done", "response.output_item.done", "response.completed"}
		if !slices.Equal(types, want) || last.Seq != len(want)-1 {
			t.Errorf("%s: %q, the last is number %d", input, types, last.Seq)
		}
	}
}

// What a caller signed in with may end long before the connection does.
func TestWebSocket_AsksBeforeEachMessageWhoAsks(t *testing.T) {
	runner := answering(t)
	h := handlerOf(runner, nil)
	var admitted atomic.Int64
	route := h.Protocol().Routes[slices.IndexFunc(h.Protocol().Routes, func(rt wire.Route) bool { return rt.Pattern == "GET "+endpoint })]
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = route.Handle(w, &wire.Request{Request: r, Who: access.Principal{Subject: "ann"}, Again: func() (access.Principal, error) {
			switch admitted.Add(1) {
			case 1:
				return access.Principal{Subject: "ann", Groups: []string{"staff"}}, nil
			case 2:
				return access.Principal{Subject: "ann"}, nil // she has left the group
			}
			return access.Principal{}, wire.Refuse(http.StatusUnauthorized, "unauthorized", "This key has been revoked.")
		}})
	}))
	t.Cleanup(server.Close)
	c := dial(t, server.URL)
	const ask = `{"type":"response.create","model":"parley","store":false,"input":"How tall is it?"}`
	for range 2 {
		if last, _ := c.response(ask); last.Type != "response.completed" {
			t.Fatalf("%+v", last)
		}
	}
	if a, b := runner.Asked[0].Principal, runner.Asked[1].Principal; len(a.Groups) != 1 || len(b.Groups) != 0 {
		t.Errorf("asked as %+v, then as %+v", a, b)
	}
	if last, _ := c.response(ask); last.Status != http.StatusUnauthorized || last.Error.Code != "invalid_api_key" || len(runner.Asked) != 2 {
		t.Errorf("%+v, %d turns", last, len(runner.Asked))
	}
	if _, _, err := c.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusPolicyViolation {
		t.Error(err)
	}
}

func TestWebSocket_ContinuesItsLastResponseThoughItIsStoredNowhere(t *testing.T) {
	runner := answering(t)
	h := handlerOf(runner, nil)
	c := connect(t, h)
	first, _ := c.response(`{"type":"response.create","model":"parley","store":false,"instructions":"Be brief.","input":"How tall is it?"}`)
	next := `{"type":"response.create","model":"parley","store":false,"previous_response_id":"` + first.Response.ID + `","input":"And how old?"}`
	if second, _ := c.response(next); second.Type != "response.completed" {
		t.Fatalf("got %+v", second)
	}
	var said []string
	for _, m := range runner.Asked[1].Messages {
		said = append(said, string(m.Role)+": "+m.Text())
	}
	want := []string{"user: How tall is it?", "assistant: It is 330 m tall [towers/eiffel tower.pdf#page=2].", "user: And how old?"}
	if !slices.Equal(said, want) {
		t.Errorf("the second turn was told %q", said)
	}
	if again, _ := c.response(next); again.Error.Code != "previous_response_not_found" || again.Status != 400 {
		t.Errorf("the response before the last one is remembered: %+v", again)
	}
	if other, _ := connect(t, h).response(next); other.Error.Code != "previous_response_not_found" {
		t.Errorf("another connection remembers it: %+v", other)
	}
}

func TestWebSocket_RemembersHalfOfTheMessagesOfARequest(t *testing.T) {
	runner := answering(t)
	c := connect(t, handlerOf(runner, func(c *Config) { c.MaxMessages = 4 }))
	previous := ""
	for range 4 {
		last, _ := c.response(`{"type":"response.create","model":"parley","store":false,"input":"Why?"` + previous + `}`)
		previous = `,"previous_response_id":"` + last.Response.ID + `"`
	}
	if n := len(runner.Asked[3].Messages); n != 3 {
		t.Errorf("the last turn was told %d messages", n)
	}
}

func TestWebSocket_ContinuesAStoredResponseToo(t *testing.T) {
	h := handlerOf(answering(t), nil)
	id := idIn(t, send(h, http.MethodPost, endpoint, asking))
	got, _ := connect(t, h).response(`{"type":"response.create","model":"parley","previous_response_id":"` + id + `","input":"And how old?"}`)
	if got.Type != "response.completed" {
		t.Errorf("got %+v", got)
	}
}

func TestWebSocket_ForgetsAResponseWhoseContinuationFails(t *testing.T) {
	for name, fails := range map[string]string{
		"bad input": `"input":[{"type":"function_call_output","call_id":"c","output":"x"}],"temperature":9`,
		"no input":  `"tools":1`,
	} {
		c := connect(t, handlerOf(answering(t), nil))
		first, _ := c.response(`{"type":"response.create","model":"parley","store":false,"input":"Hello."}`)
		next := `{"type":"response.create","model":"parley","store":false,"previous_response_id":"` + first.Response.ID + `",`
		if got, _ := c.response(next + fails + `}`); got.Type != "error" || got.Status != 400 {
			t.Errorf("%s: got %+v", name, got)
		}
		if got, _ := c.response(next + `"input":"Go on."}`); got.Error.Code != "previous_response_not_found" {
			t.Errorf("%s: it is remembered: %+v", name, got)
		}
	}
}

func TestWebSocket_TellsOnceHowAResponseFails(t *testing.T) {
	runner := &wiretest.Scripted{Steps: []wiretest.Step{
		{Event: chat.CompletionStarted{Model: "m"}}, {Event: chat.TextDelta{Text: "It"}}, {Err: errors.New("secret")},
	}}
	c := connect(t, handlerOf(runner, nil))
	for range 2 {
		last, types := c.response(`{"type":"response.create","model":"parley","input":"Hello."}`)
		if last.Response.Status != failed || slices.Contains(types, "error") || types[0] != "response.created" {
			t.Errorf("got %q and %+v", types, last)
		}
	}
}

func TestWebSocket_RefusesWhatIsNoRequestAndGoesOn(t *testing.T) {
	c := connect(t, handlerOf(answering(t), nil))
	for _, body := range []string{`x`, `[]`, `{}`, `{"type":"session.update"}`, `{"type":"response.create"}`, `{"type":"response.create","model":"gpt-5","input":"x"}`} {
		if got, _ := c.response(body); got.Type != "error" || got.Status < 400 || got.Status > 404 || got.Error.Code == "" || got.Error.Message == "" {
			t.Errorf("%s: got %+v", body, got)
		}
	}
	if got, _ := c.response(`{"type":"response.create","model":"parley","input":"Hello."}`); got.Type != "response.completed" {
		t.Errorf("got %+v", got)
	}
}

func TestWebSocket_EndsWithAMessageThatIsTooLarge(t *testing.T) {
	c := connect(t, handlerOf(answering(t), func(c *Config) { c.MaxMessage = 1000 }))
	c.send(`{"type":"response.create","model":"parley","input":"` + strings.Repeat("x", 1000) + `"}`)
	_, _, err := c.Read(t.Context())
	if websocket.CloseStatus(err) != websocket.StatusMessageTooBig {
		t.Errorf("got %v", err)
	}
}

func TestWebSocket_CancelsItsTurnWhenTheClientLeaves(t *testing.T) {
	r := wiretest.NewTalking(wiretest.Waiting)
	c := connect(t, handlerOf(r, nil))
	c.send(`{"type":"response.create","model":"parley","input":"Hello."}`)
	for c.read().Type != "response.output_text.delta" {
	}
	_ = c.CloseNow()
	select {
	case <-r.Ended:
	case <-time.After(patience):
		t.Fatal("the turn goes on")
	}
}

func TestWebSocket_EndsInOrderWhenTheServerStops(t *testing.T) {
	goOn := make(chan struct{})
	r := wiretest.NewTalking(func(_ context.Context, yield func(chat.Event, error) bool) {
		<-goOn
		_ = yield(chat.MessageFinished{ID: "m", Status: chat.StatusCompleted, Text: "It"}, nil) && yield(chat.TurnFinished{}, nil)
	})
	h := handlerOf(r, nil)
	idle, busy := connect(t, h), connect(t, h)
	busy.send(`{"type":"response.create","model":"parley","input":"Hello."}`)
	for busy.read().Type != "response.output_text.delta" {
	}
	p := h.Protocol()
	p.Drain()
	if _, _, err := idle.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusGoingAway {
		t.Errorf("the idle connection ends with %v", err)
	}
	waited := make(chan struct{})
	go func() {
		defer close(waited)
		p.Wait(t.Context(), errors.New("stop"))
	}()
	close(goOn)
	last := busy.read()
	for ; last.Response.Status != completed; last = busy.read() {
	}
	if _, _, err := busy.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusGoingAway {
		t.Errorf("the busy connection ends with %v", err)
	}
	<-waited
}

func TestWebSocket_TellsWhoIsCutByAStop(t *testing.T) {
	h := handlerOf(wiretest.NewTalking(wiretest.Waiting), nil)
	c := connect(t, h)
	c.send(`{"type":"response.create","model":"parley","input":"Hello."}`)
	for c.read().Type != "response.output_text.delta" {
	}
	ctx, end := context.WithCancel(t.Context())
	end()
	go h.Protocol().Wait(ctx, &chat.Error{Kind: chat.Unavailable, Msg: "The server is stopping."})
	if got := c.read(); got.Type != "response.failed" || got.Response.Status != failed {
		t.Errorf("got %+v", got)
	}
	_, _, _ = c.Read(t.Context()) // until it is closed
}

func TestWebSocket_IsForNoPageOfAnotherOrigin(t *testing.T) {
	for origin, want := range map[string]int{"": http.StatusUpgradeRequired, "https://evil.example": http.StatusForbidden, "null": http.StatusForbidden} {
		headers := []string{"Upgrade", "websocket", "Connection", "Upgrade", "Sec-WebSocket-Version", "13", "Sec-WebSocket-Key", "AAAAAAAAAAAAAAAAAAAAAA=="}
		if origin == "" {
			headers = nil
		} else {
			headers = append(headers, "Origin", origin)
		}
		w := send(handlerOf(nil, nil), http.MethodGet, endpoint, "", headers...)
		if w.Code != want || !strings.Contains(w.Body.String(), `{"error":{"type":`) {
			t.Errorf("%q: %d %s", origin, w.Code, w.Body)
		}
	}
}

func TestSockets_AreLimited(t *testing.T) {
	s := newCrowd(maxSockets, maxSockets, errSockets)
	var leave func()
	for range maxSockets {
		var err error
		if leave, err = s.enter("", nil); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.enter("", nil); !errors.Is(err, errSockets) {
		t.Errorf("one more: %v", err)
	}
	leave()
	if _, err := s.enter("", nil); err != nil {
		t.Errorf("after one has left: %v", err)
	}
}
