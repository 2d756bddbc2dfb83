package hardening

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"parley/internal/chat"
	"parley/internal/tokens"
	"parley/test/needs"
)

// rounds returns all with PARLEY_TEST_ALL=1, else few.
func rounds(few, all int) int {
	if needs.All() {
		return all
	}
	return few
}

// When a client leaves after five tokens, the upstream's work ends, and the part of the answer is
// stored and billed. BenchmarkLeaving measures how long that takes.
func TestR8_ClientsThatLeaveAfterFiveTokens(t *testing.T) {
	for _, p := range protocols {
		if p.stream == whole {
			continue
		}
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			s := newStack(t, options{idle: time.Minute, output: 32_768})
			s.fault.Store("never")
			for range rounds(10, 100) {
				s.leaveAfter(t, p, 5)
				s.checkLeft(t, 5)
			}
			if calls, want := s.up.Calls(), rounds(10, 100); calls != want {
				t.Errorf("the upstream was called %d times for %d answers", calls, want)
			}
		})
	}
}

// checkLeft checks that the upstream's work has ended, and that the part of the answer, at least some words, is stored and
// billed.
func (s *stack) checkLeft(t *testing.T, words int) {
	t.Helper()
	waitFor(t, "the upstream goes on", s.up.Aborted())
	r := waitFor(t, "the turn goes on", s.saved)
	if r.Status != chat.StatusCancelled || len(r.Answers) == 0 {
		t.Fatalf("the turn is %s, with %d answers", r.Status, len(r.Answers))
	}
	entries, err := s.db.State().Entries(t.Context(), r.ID)
	if err != nil || len(entries) != 1 {
		t.Fatalf("%d calls are billed, %v", len(entries), err)
	}
	text := r.Answers[len(r.Answers)-1].Text()
	got, want := entries[0].Usage, tokens.Count(text)
	if len(strings.Fields(text)) < words || !got.Estimated || got.Input == 0 || got.Output != want {
		t.Fatalf("billed %+v for an answer of %d tokens, %.60q…", got, want, text)
	}
}

// R8 for a client that closes its WebSocket.
func TestR8_AClientThatLeavesItsWebSocketAfterFiveTokens(t *testing.T) {
	s := newStack(t, options{idle: time.Minute, output: 32_768})
	s.fault.Store("never")
	for range rounds(10, 100) {
		conn := s.socket(t)
		send(t, conn, `{"type":"response.create","model":"parley","input":"What is covered?"}`)
		for pieces := 0; pieces < 5; {
			if e := receive(t, conn); e.Type == "response.output_text.delta" {
				pieces++
			}
		}
		conn.CloseNow()
		s.checkLeft(t, 5)
	}
}

// R13 for the messages of a WebSocket: each is refused in the shape of the protocol, and the next one is answered.
func TestR13_BadMessagesOfAWebSocketAreRefusedAndTheNextIsAnswered(t *testing.T) {
	s := newStack(t, options{idle: time.Minute})
	conn := s.socket(t)
	for _, message := range []string{
		"", "{", "null", "[]", `"x"`, `{"type":"response.create"}`, `{"type":"response.create","model":"parley","input":NaN}`,
		`{"type":"response.create","model":"parley","model":"x","input":"q"}`, `{"type":"response.create","model":1,"input":"q"}`,
		`{"type":"response.create","model":"parley","input":{"a":1}}`, `{"type":["response.create"],"model":"parley","input":"q"}`,
		strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000), `{"type":"response.create","model":"parley","input":` + strings.Repeat(`[`, 10_000) + strings.Repeat(`]`, 10_000) + `}`,
		`{"type":"response.create","model":"parley","input":[` + strings.Repeat(`{},`, 100_000) + `{}]}`,
	} {
		send(t, conn, message)
		if e := receive(t, conn); e.Type != "error" || e.Status < 400 || e.Status >= 500 || e.Error == nil || e.Error.Message == "" {
			t.Errorf("%.80s: %+v", message, e)
		}
	}
	send(t, conn, `{"type":"response.create","model":"parley","input":"What is covered?"}`)
	for {
		e := receive(t, conn)
		if e.Type == "error" || e.Type == "response.failed" {
			t.Fatalf("%+v", e)
		}
		if e.Type == "response.completed" {
			break
		}
	}
}

// socketEvent is a message of the server.
type socketEvent struct {
	Type   string
	Status int
	Error  *struct{ Message string }
}

func (s *stack) socket(t *testing.T) *websocket.Conn {
	t.Helper()
	conn, _, err := websocket.Dial(t.Context(), s.url+"/v1/responses", &websocket.DialOptions{HTTPClient: s.client})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.CloseNow() })
	conn.SetReadLimit(64 << 20)
	return conn
}

func send(t *testing.T, conn *websocket.Conn, message string) {
	t.Helper()
	if err := conn.Write(t.Context(), websocket.MessageText, []byte(message)); err != nil {
		t.Fatal(err)
	}
}

func receive(t *testing.T, conn *websocket.Conn) (e socketEvent) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	_, message, err := conn.Read(ctx)
	if err == nil {
		err = json.Unmarshal(message, &e)
	}
	if err != nil {
		t.Fatalf("%v: %.200s", err, message)
	}
	return e
}

// leaveAfter asks for a stream and leaves after a number of pieces of text.
func (s *stack) leaveAfter(t *testing.T, p protocol, pieces int) {
	t.Helper()
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+p.path, strings.NewReader(p.body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := s.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	events := bufio.NewScanner(resp.Body)
	for pieces > 0 && events.Scan() {
		var object map[string]any
		if json.Unmarshal([]byte(strings.TrimPrefix(events.Text(), "data: ")), &object) != nil {
			continue // a line that ends an event
		}
		if p.text(object) != "" || object["type"] == "delta" {
			pieces--
		}
	}
	if pieces > 0 {
		t.Fatalf("the stream ends %d pieces early: %v", pieces, events.Err())
	}
}
