package server

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/internal/access"
	"parley/internal/chat"
	"parley/internal/llm"
	"parley/internal/store"
	"parley/internal/turn"
	"parley/internal/wire/ragchat"
	"parley/internal/wire/webapi"
	"parley/test/needs"
)

// recorded is a turn.Store with the events of one turn.
type recorded struct {
	turn.Store
	id   string
	said turn.Said
}

func (s *recorded) Save(_ context.Context, r turn.Record) error {
	s.id, s.said = r.ID, *r.Said
	return nil
}

func (s *recorded) Said(_ context.Context, id string) (turn.Said, error) {
	if id != s.id {
		return turn.Said{}, turn.ErrNotFound
	}
	return s.said, nil
}

// oneTurn returns Turns of one anonymous turn, with the id stored.
func oneTurn(t testing.TB) webapi.Turns {
	t.Helper()
	r := turn.NewRunner(&script{words: []string{"Every", "thing."}}, &recorded{}, turn.Options{})
	req := chat.Request{TurnID: stored, Messages: []chat.Message{chat.TextMessage(llm.User, "What is covered?")}}
	if _, err := chat.Collect(r.Run(t.Context(), &req)); err != nil {
		t.Fatal(err)
	}
	return r
}

// resumable is a server with a real runner and a real store of turns.
type resumable struct {
	*live
	db     *store.DB
	script *script
}

func startResumable(t *testing.T, dir string) *resumable {
	t.Helper()
	db, err := store.Open(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	s := &script{words: []string{"Every", "thing."}, started: make(chan struct{}, 1), resume: make(chan struct{}, 1), ended: make(chan error, 1)}
	r := turn.NewRunner(s, db.State(), turn.Options{Keep: true, MaxTurns: 10})
	return &resumable{db: db, script: s, live: start(t, options{
		runner: r, turns: r, drain: r.Drain, keys: turn.NewKeys(db.State(), nil), cfg: Config{Drain: patience}})}
}

// ask posts a question and returns the response once the turn's first word was written. The caller
// closes the body.
func (s *resumable) ask(t *testing.T, path, body string, header ...string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := s.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if res.StatusCode != http.StatusOK || res.Header.Get("X-Turn-Id") == "" {
		t.Fatalf("%s: status %d, headers %v", path, res.StatusCode, res.Header)
	}
	wait(t, s.script.started)
	return res
}

// events requests the events of a turn. The caller closes the body.
func (s *resumable) events(t *testing.T, id, last string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/api/turns/"+id+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Last-Event-ID", last)
	res, err := s.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func (s *resumable) delete(t *testing.T, id string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, s.url+"/api/turns/"+id, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := s.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	return res.StatusCode
}

// sent is an event as a client sees it.
type sent struct {
	ID    string
	Type  string
	Event json.RawMessage
}

// next reads one event.
func next(t *testing.T, r *bufio.Reader) (e sent, ok bool) {
	t.Helper()
	for {
		line, err := r.ReadString('\n')
		switch {
		case err == io.EOF && line == "":
			return e, false
		case err != nil:
			t.Fatal(err)
		}
		if data, found := strings.CutPrefix(line, "data: "); found {
			if err := json.Unmarshal([]byte(data), &e); err != nil {
				t.Fatal(err)
			}
		} else if id, found := strings.CutPrefix(line, "id: "); found {
			e.ID = strings.TrimSpace(id)
		} else if line == "\n" && e.Type != "" {
			return e, true
		}
	}
}

// rest reads the events up to the end.
func rest(t *testing.T, res *http.Response) (all []sent) {
	t.Helper()
	defer res.Body.Close()
	if got := res.Header.Get("Content-Type"); res.StatusCode != http.StatusOK || got != "text/event-stream" {
		t.Fatalf("status %d, Content-Type %q", res.StatusCode, got)
	}
	body := bufio.NewReader(res.Body)
	for e, ok := next(t, body); ok; e, ok = next(t, body) {
		all = append(all, e)
	}
	return all
}

func textOf(events []sent) (text string) {
	for _, e := range events {
		var d chat.TextDelta
		if e.Type == "text_delta" && json.Unmarshal(e.Event, &d) == nil {
			text += d.Text
		}
	}
	return text
}

const streamedQuestion = `{"messages":[{"role":"user","content":"What is covered?"}],"model":"parley","stream":true}`

func TestTurnEvents_GoOnWhereTheClientStopped(t *testing.T) {
	needs.Long(t)
	dir := t.TempDir()
	s := startResumable(t, dir)
	asked := s.ask(t, "/v1/chat/completions", streamedQuestion, "X-On-Disconnect", "finish")
	id := asked.Header.Get("X-Turn-Id")

	// A second connection reads up to the first word, and a third one continues from there.
	first := s.events(t, id, "")
	body := bufio.NewReader(first.Body)
	var seen []sent
	for textOf(seen) == "" {
		e, ok := next(t, body)
		if !ok {
			t.Fatal("the events have ended")
		}
		seen = append(seen, e)
	}
	first.Body.Close()
	asked.Body.Close() // the one who asked leaves
	last := seen[len(seen)-1].ID
	third := s.events(t, id, last)
	s.script.resume <- struct{}{}
	behind := rest(t, third)
	if textOf(seen) != "Every" || textOf(behind) != "thing." || behind[len(behind)-1].Type != "turn_finished" {
		t.Fatalf("first %v, then %v", seen, behind)
	}

	// The store has the same events, but with deltas joined.
	if diff := cmp.Diff(behind, rest(t, s.events(t, id, last))); diff != "" {
		t.Errorf("from the store (-memory +store):\n%s", diff)
	}
	all := rest(t, s.events(t, id, ""))
	if textOf(all) != "Everything." || len(all) != len(seen)+len(behind)-1 {
		t.Errorf("all: %v", all)
	}
	for _, e := range all {
		if e.Type == "prompt_built" && strings.Contains(string(e.Event), "covered") {
			t.Errorf("the prompt is there: %s", e.Event)
		}
	}
	over := s.events(t, id, all[len(all)-1].ID)
	over.Body.Close()
	if over.StatusCode != http.StatusNoContent {
		t.Errorf("behind the last event: status %d, want 204", over.StatusCode)
	}

	// The same works after a restart, and with the query parameter.
	again := startResumable(t, dir)
	res, err := again.client.Get(again.url + "/api/turns/" + id + "/events?last_event_id=" + last)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(behind, rest(t, res)); diff != "" {
		t.Errorf("after a restart (-before +after):\n%s", diff)
	}
}

// streamedTurns returns a streamed turn of each protocol, and the end of its stream when it is stopped.
func streamedTurns() []struct{ name, path, body, ends string } {
	const message = `{"message":"What is covered?","params":{"stream":true,"query_id":"q1"}}`
	return []struct{ name, path, body, ends string }{
		{"azure", "/chat/stream", question, `{"error":"The turn was stopped."}` + "\n"},
		{"openai", "/v1/chat/completions", streamedQuestion, "The turn was stopped."},
		{"ragchat", "/p/ragchat/chat", message, `"message":"The turn was stopped."`},
		{"ragchat session", "/chat/" + knownSession, message, `"message":"The turn was stopped."`},
		{"chatui", "/api/chat/sse", `{"messages":[{"role":"user","content":"What is covered?"}]}`, `"status":"failed"`},
	}
}

func TestTurnEvents_GoOnWhenTheOneWhoAskedHasLeft(t *testing.T) {
	for _, c := range streamedTurns() {
		t.Run(c.name, func(t *testing.T) {
			s := startResumable(t, t.TempDir())
			if c.name == "ragchat session" {
				begin(t, s.db)
			}
			res := s.ask(t, c.path, c.body, "X-On-Disconnect", "finish")
			id := res.Header.Get("X-Turn-Id")
			res.Body.Close()
			s.client.CloseIdleConnections()
			time.Sleep(100 * time.Millisecond) // the handler of the request returns
			following := s.events(t, id, "")
			s.script.resume <- struct{}{}
			events := rest(t, following)
			if last := events[len(events)-1]; last.Type != "turn_finished" || textOf(events) != "Everything." {
				t.Errorf("%q, and at last %s %s", textOf(events), last.Type, last.Event)
			}
		})
	}
}

func TestStopTurn_EndsTheStreamInTheWayOfItsProtocol(t *testing.T) {
	for _, c := range streamedTurns() {
		for _, policy := range []string{"cancel", "finish"} {
			t.Run(c.name+" "+policy, func(t *testing.T) {
				s := startResumable(t, t.TempDir())
				if c.name == "ragchat session" {
					begin(t, s.db)
				}
				res := s.ask(t, c.path, c.body, "X-On-Disconnect", policy)
				defer res.Body.Close()
				id := res.Header.Get("X-Turn-Id")
				following := s.events(t, id, "")
				if status := s.delete(t, id); status != http.StatusNoContent {
					t.Errorf("DELETE: status %d", status)
				}
				wait(t, s.script.ended) // the engine was told, and so the model is
				raw, err := io.ReadAll(res.Body)
				if err != nil {
					t.Fatal(err)
				}
				if !strings.Contains(string(raw), "Every") || !strings.Contains(string(raw), c.ends) || strings.Contains(string(raw), "[DONE]") {
					t.Errorf("the stream is %s", raw)
				}
				events := rest(t, following)
				if last := events[len(events)-1]; last.Type != "error" || textOf(events) != "Every" ||
					string(last.Event) != `{"status":409,"code":"conflict","message":"The turn was stopped."}` {
					t.Errorf("events: %v, the last: %s", events, last.Event)
				}
				rec, err := s.db.State().Turn(t.Context(), turn.Scope{Namespace: "default"}, id)
				if err != nil || rec.Status != chat.StatusCancelled {
					t.Errorf("saved as %q, %v", rec.Status, err)
				}
				if diff := cmp.Diff(events, rest(t, s.events(t, id, ""))); diff != "" {
					t.Errorf("from the store (-memory +store):\n%s", diff)
				}
				if status := s.delete(t, id); status != http.StatusNoContent {
					t.Errorf("DELETE of a turn that has ended: status %d", status)
				}
			})
		}
	}
}

// begin stores the session that the fake of sessions knows.
func begin(t *testing.T, db *store.DB) {
	t.Helper()
	err := db.State().Begin(t.Context(), turn.Conversation{ID: knownSession, Scope: turn.Scope{Namespace: "default"},
		Kind: ragchat.Kind, CreatedAt: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
}

func TestTurn_OfASessionFinishesAlthoughTheClientLeaves(t *testing.T) {
	s := startResumable(t, t.TempDir())
	begin(t, s.db)
	res := s.ask(t, "/chat/"+knownSession, `{"message":"What is covered?","params":{"stream":true}}`)
	id := res.Header.Get("X-Turn-Id")
	res.Body.Close()
	following := s.events(t, id, "")
	s.script.resume <- struct{}{}
	if events := rest(t, following); textOf(events) != "Everything." {
		t.Errorf("events: %v", events)
	}
	c, err := s.db.State().Conversation(t.Context(), turn.Scope{Namespace: "default"}, knownSession, 10)
	if err != nil || len(c.History) != 2 || c.History[1].Text() != "Everything." {
		t.Errorf("history: %v, %v", c.History, err)
	}
}

func TestTurn_WithoutASessionIsCancelledWhenTheClientLeaves(t *testing.T) {
	s := startResumable(t, t.TempDir())
	res := s.ask(t, "/chat/stream", question)
	id := res.Header.Get("X-Turn-Id")
	following := s.events(t, id, "")
	res.Body.Close()
	wait(t, s.script.ended)
	events := rest(t, following)
	if last := events[len(events)-1]; last.Type != "error" || !strings.Contains(string(last.Event), "its client left") {
		t.Errorf("the last event is %s %s", last.Type, last.Event)
	}
}

func TestTurn_ThatIsKeptHoldsUpTheStopUntilItHasEnded(t *testing.T) {
	s := startResumable(t, t.TempDir())
	res := s.ask(t, "/chat/stream", question, "X-On-Disconnect", "finish")
	id := res.Header.Get("X-Turn-Id")
	res.Body.Close()
	s.stop()
	s.script.resume <- struct{}{}
	err := wait(t, s.done)
	s.done <- nil // lets the test end
	rec, saved := s.db.State().Turn(t.Context(), turn.Scope{Namespace: "default"}, id)
	if err != nil || saved != nil || rec.Status != chat.StatusCompleted {
		t.Errorf("Serve returned %v, the turn is %q, %v", err, rec.Status, saved)
	}
}

func TestTurns_OfOthersAreLikeThoseThatAreNot(t *testing.T) {
	owners := map[string]string{"mine": "alice", "theirs": "bob"}
	logs := turnsFunc(func(_ context.Context, owner, id string) (*turn.Log, error) {
		if owners[id] != owner {
			return nil, turn.ErrNotFound
		}
		return oneTurn(t).Log(t.Context(), "", stored)
	})
	s := newServer(t, options{turns: logs, who: access.Principal{Subject: "alice"}})
	for id, want := range map[string]int{"mine": http.StatusOK, "theirs": http.StatusNotFound, "unknown": http.StatusNotFound} {
		w := do(s, http.MethodGet, "/api/turns/"+id+"/events", "")
		if w.Code != want {
			t.Errorf("GET of %s: status %d, want %d", id, w.Code, want)
		}
		if want == http.StatusNotFound && errorOf(t, w.Body.Bytes()) != "There is no such turn." {
			t.Errorf("GET of %s: %s", id, w.Body)
		}
		if w = do(s, http.MethodDelete, "/api/turns/"+id, ""); w.Code != http.StatusNoContent && want == http.StatusOK || want == http.StatusNotFound && w.Code != want {
			t.Errorf("DELETE of %s: status %d", id, w.Code)
		}
	}
	s = newServer(t, options{turns: logs, who: access.Principal{Subject: "alice"}, namespace: "another"}) // the turn's own may not be asked
	if w := do(s, http.MethodGet, "/api/turns/mine/events", ""); w.Code != http.StatusNotFound {
		t.Errorf("a turn of a namespace that the caller may not ask: status %d", w.Code)
	}
}

type turnsFunc func(ctx context.Context, owner, id string) (*turn.Log, error)

func (f turnsFunc) Log(ctx context.Context, owner, id string) (*turn.Log, error) {
	return f(ctx, owner, id)
}

func TestTurns_RefuseHeadersThatMeanNothing(t *testing.T) {
	s := newServer(t, options{})
	for _, last := range []string{"-1", "x", "1.5", "99999999999"} {
		w := do(s, http.MethodGet, "/api/turns/"+stored+"/events?last_event_id="+last, "")
		if w.Code != http.StatusBadRequest {
			t.Errorf("last_event_id %s: status %d", last, w.Code)
		}
	}
	for path, body := range map[string]string{
		"/chat": question, "/v1/chat/completions": streamedQuestion, "/p/ragchat/chat": `{"message":"q"}`, "/api/chat/sse": question,
	} {
		for _, value := range []string{"", "Finish", "stay"} {
			w := do(s, http.MethodPost, path, body, "X-On-Disconnect", value)
			if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "X-On-Disconnect") {
				t.Errorf("%s with %q: status %d: %s", path, value, w.Code, w.Body)
			}
		}
	}
}

// A repeated request with a key returns the same turn, which clients can follow under its id.
func TestTurn_IDOfARepeatedRequestIsThatOfTheTurn(t *testing.T) {
	for path, body := range map[string]string{
		"/chat": question, "/v1/chat/completions": streamedQuestion, "/p/ragchat/chat": `{"message":"q"}`,
		"/api/chat": question,
	} {
		s := startResumable(t, t.TempDir())
		ids := map[string]bool{}
		for i := range 2 {
			if i == 0 {
				s.script.resume <- struct{}{}
			}
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+path, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Idempotency-Key", "k")
			res, err := s.client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			_, err = io.Copy(io.Discard, res.Body)
			res.Body.Close()
			if err != nil || res.StatusCode != http.StatusOK {
				t.Errorf("%s: status %d, %v", path, res.StatusCode, err)
			}
			ids[res.Header.Get("X-Turn-Id")] = true
		}
		if len(ids) != 1 {
			t.Errorf("%s: %s", path, fmt.Sprint(ids))
		}
	}
}
