package server

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/internal/chat"
	"parley/internal/ledger"
	"parley/internal/llm"
	"parley/internal/retrieval"
	"parley/internal/turn"
	"parley/internal/wire"
	"parley/internal/wire/ragchat"
)

// knownSession is a session with one turn that every server of the tests has.
const knownSession = "12d8cd79-0ee8-4dcd-97a5-5983effcbccd"

// isRAGChat reports whether a path is one of the Chat-with-RAG API's own.
func isRAGChat(path string) bool {
	for _, part := range []string{"/p/ragchat/", "/chat/session", "/chat/stream/stages", "/chat/reset", "/chat/clear",
		"/chat/{session_id}", "/chat/" + knownSession, "/search", "/retrieval-evals/", "/api/models", "/api/config"} {
		if strings.HasPrefix(path, part) {
			return true
		}
	}
	return false
}

// memory is a ragchat.Sessions and ragchat.Ledger.
type memory struct {
	mu       sync.Mutex
	sessions map[string]turn.Conversation
}

func newMemory() *memory {
	when := time.Date(2024, 1, 15, 10, 30, 0, 0, time.UTC)
	return &memory{sessions: map[string]turn.Conversation{knownSession: {
		ID: knownSession, Scope: turn.Scope{Namespace: "default"}, Kind: ragchat.Kind, Completed: 1, CreatedAt: when, UpdatedAt: when,
		History: []chat.Message{chat.TextMessage(llm.User, "What is Mount Everest?"), chat.TextMessage(llm.Assistant, "A mountain.")},
	}}}
}

func (m *memory) Begin(_ context.Context, c turn.Conversation) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sessions[c.ID] = c
	return nil
}

func (m *memory) Conversation(_ context.Context, _ turn.Scope, id string, _ int) (turn.Conversation, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c, ok := m.sessions[id]
	if !ok {
		return c, turn.ErrNotFound
	}
	return c, nil
}

func (m *memory) Conversations(context.Context, turn.Scope, string, turn.Position, int) (all []turn.Conversation, _ error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range m.sessions {
		all = append(all, c)
	}
	return all, nil
}

// Reset and Delete do nothing, so that the same session serves all tests of a server.
func (m *memory) Reset(context.Context, turn.Scope, string, time.Time) error { return nil }
func (m *memory) Delete(context.Context, turn.Scope, string) error           { return nil }

func (m *memory) Entries(context.Context, string) ([]ledger.Entry, error) { return nil, nil }
func (m *memory) Totals(context.Context, ledger.AccountKey) (ledger.Totals, error) {
	return ledger.Totals{Turns: 1}, nil
}
func (m *memory) ClearTotals(context.Context, ledger.AccountKey) (bool, error) { return true, nil }

// freeBill charges nobody.
type freeBill struct{ chat.Runner }

func (freeBill) ID() string { return "01J00000000000000000000000" }

func ragChatOf(runner chat.Runner, log *slog.Logger) wire.Protocol {
	m := newMemory()
	engine := chat.DefaultOptions()
	engine.Models.Inference = "builtin:extractive"
	return ragchat.New(ragchat.Config{
		Base:     wire.Base{Runner: runner, Defaults: engine},
		Log:      func(context.Context, string, string) (*turn.Log, error) { return nil, turn.ErrNotFound },
		Sessions: m,
		Ledger:   m,
		Logger:   log,
		Search: func(context.Context, retrieval.Query) (retrieval.Result, error) {
			return retrieval.Result{Passages: []retrieval.Passage{{
				Chunk:    retrieval.Chunk{Text: "Everything is covered.", Spans: []retrieval.Span{{Page: 2, End: 22}}, Headings: []string{"Cover"}},
				Document: retrieval.Document{ID: "d", Name: "handbook.pdf", Title: "Handbook"}, Score: 1,
			}}}, nil
		},
		NewBill: func() ragchat.Bill { return freeBill{runner} },
		Models: func(context.Context) []ragchat.Model {
			return []ragchat.Model{{Key: "openai:gpt-4o-mini", Provider: "openai", Model: "gpt-4o-mini", Endpoint: "chat",
				Pricing: ragchat.NewPricing(150_000, 600_000, 75_000)}}
		},
	}).Protocol()
}

// detailOf returns the message of an error of the Chat-with-RAG API. It fails the test if the body is
// anything else.
func detailOf(t *testing.T, body []byte) string {
	t.Helper()
	var e struct {
		Detail json.RawMessage
		Error  struct{ Stage, Kind, Code, Message string }
	}
	if err := json.Unmarshal(body, &e); err != nil || len(e.Detail) == 0 || e.Error.Message == "" || e.Error.Code == "" || e.Error.Stage == "" {
		t.Fatalf("the body is no error of the API: %q", body)
	}
	return e.Error.Message
}

func TestRAGChat_EveryRefusalHasItsShape(t *testing.T) {
	s := newServer(t, options{})
	for _, rt := range s.endpoints {
		if !isRAGChat(rt.path) {
			continue
		}
		path := clientPath(rt.path)
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete} {
			if _, ok := rt.methods[method]; ok {
				continue
			}
			if w := do(s, method, path, ""); w.Code != http.StatusMethodNotAllowed || detailOf(t, w.Body.Bytes()) == "" {
				t.Errorf("%s %s: status %d", method, path, w.Code)
			}
		}
		if _, ok := rt.methods[http.MethodPost]; !ok {
			continue
		}
		large := do(s, http.MethodPost, path, strings.Repeat(" ", 1<<20+1))
		if large.Code != http.StatusRequestEntityTooLarge || detailOf(t, large.Body.Bytes()) == "" {
			t.Errorf("POST %s with too large a body: status %d", path, large.Code)
		}
		foreign := do(s, http.MethodPost, path, "{}", "Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site")
		if foreign.Code != http.StatusForbidden || detailOf(t, foreign.Body.Bytes()) == "" {
			t.Errorf("POST %s from another site: status %d", path, foreign.Code)
		}
	}
	if w := do(s, http.MethodPost, "/search", "q", "Content-Type", "text/plain"); w.Code != http.StatusUnsupportedMediaType || detailOf(t, w.Body.Bytes()) == "" {
		t.Errorf("text: status %d", w.Code)
	}
}

// The name of a route is never taken for the id of a session, whatever the method.
func TestRAGChat_NamesOfRoutesAreNoSessions(t *testing.T) {
	s := newServer(t, options{runner: &script{words: []string{"Everything."}, fail: func(r chat.Request) error {
		if r.Home != "" && r.ConversationID != knownSession {
			return &chat.Error{Kind: chat.NotFound, Msg: "There is no such session."}
		}
		return nil
	}}})
	for _, at := range []string{"/chat/", "/p/ragchat/chat/"} {
		for _, name := range []string{"session", "sessions", "stream", "reset", "clear"} {
			if w := do(s, http.MethodGet, at+name+"/history", ""); w.Code != http.StatusNotFound {
				t.Errorf("GET %s%s/history: status %d, want 404", at, name, w.Code)
			}
			if w := do(s, http.MethodPost, at+name+"/reset", ""); w.Code != http.StatusNotFound {
				t.Errorf("POST %s%s/reset: status %d, want 404", at, name, w.Code)
			}
		}
		for _, name := range []string{"session", "sessions", "reset", "clear"} {
			if w := do(s, http.MethodDelete, at+name, ""); w.Code != http.StatusMethodNotAllowed {
				t.Errorf("DELETE %s%s: status %d, want 405", at, name, w.Code)
			}
		}
	}
	// /chat/stream belongs to the other protocol; below the mount there is none.
	if w := do(s, http.MethodPost, "/chat/stream", question); w.Code != http.StatusOK || w.Header().Get("Content-Type") != "application/json-lines" {
		t.Errorf("POST /chat/stream: status %d", w.Code)
	}
	if w := do(s, http.MethodPost, "/p/ragchat/chat/stream", `{"message":"q"}`); w.Code != http.StatusNotFound {
		t.Errorf("POST /p/ragchat/chat/stream: status %d, want 404", w.Code)
	}
}

func TestServe_AWaitingStreamOfStepsDoesNotHoldUpTheStop(t *testing.T) {
	l := start(t, options{})
	res, err := l.client.Get(l.url + "/chat/stream/stages?query_id=q1")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	lines := bufio.NewReader(res.Body)
	if line, err := lines.ReadString('\n'); err != nil || line != `data: {"type":"debug","stage":"_connected","id":"q1"}`+"\n" {
		t.Fatalf("first line %q, %v", line, err)
	}
	l.stop()
	began := time.Now()
	err = wait(t, l.done)
	l.done <- err // lets the test end
	if err != nil || time.Since(began) > 20*time.Second {
		t.Errorf("the server stopped with %v after %v", err, time.Since(began))
	}
	if rest, err := io.ReadAll(lines); err != nil || strings.TrimSpace(string(rest)) != "" {
		t.Errorf("the stream ended with %q, %v", rest, err)
	}
}

func TestUsage_IsReportedAsJSONAndCSV(t *testing.T) {
	var asked []ledger.UsageQuery
	s := newServer(t, options{usage: func(_ context.Context, q ledger.UsageQuery) ([]ledger.UsageRow, error) {
		asked = append(asked, q)
		return []ledger.UsageRow{{
			Day: time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC), User: "=cmd", Turns: 2, Calls: 3, Input: 100, Output: 20, Cached: 5,
			Reasoning: 4, Micros: 1234567, Unpriced: 1, Estimated: 1,
		}}, nil
	}})
	w := do(s, http.MethodGet, "/api/usage?by=day,user&from=2026-11-01&to=2026-11-30", "")
	row := `"turns":2,"calls":3,"input_tokens":100,"output_tokens":20,"cached_tokens":5,"reasoning_tokens":4,"total_tokens":120,` +
		`"cost_usd":1.234567,"cost_micros":1234567,"calls_with_unknown_price":1,"calls_with_estimated_tokens":1}`
	want := `{"by":["day","user"],"from":"2026-11-01T00:00:00Z","to":"2026-12-01T00:00:00Z","rows":[` +
		`{"day":"2026-11-01","owner":"","user":"=cmd",` + row + `],"total":{` + row + `}` + "\n"
	if w.Code != http.StatusOK || w.Body.String() != want {
		t.Errorf("status %d, body\n%s, want\n%s", w.Code, w.Body, want)
	}
	for _, c := range [][]string{{"/api/usage?by=user&format=csv"}, {"/api/usage?by=user", "Accept", "text/csv"}} {
		w = do(s, http.MethodGet, c[0], "", c[1:]...)
		want = "owner,user,turns,calls,input_tokens,output_tokens,cached_tokens,reasoning_tokens,total_tokens,cost_usd,cost_micros," +
			"calls_with_unknown_price,calls_with_estimated_tokens\n,'=cmd,2,3,100,20,5,4,120,1.234567,1234567,1,1\n"
		if w.Body.String() != want || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/csv") {
			t.Errorf("%s: %s", c, w.Body)
		}
	}
	if owner := asked[0].Owner; owner == nil || *owner != "" || asked[0].Limit == 0 {
		t.Errorf("the query is %+v", asked[0])
	}
	for _, query := range []string{"by=colour", "by=day,day", "from=yesterday", "to=2026-13-01", "format=xml", "limit=0", "limit=100001", "offset=-1"} {
		if w := do(s, http.MethodGet, "/api/usage?"+query, ""); w.Code != http.StatusBadRequest {
			t.Errorf("%s: status %d, want 400", query, w.Code)
		}
	}
}

func TestUsage_CoversThirtyDaysUnlessItIsAskedSinceWhen(t *testing.T) {
	var asked ledger.UsageQuery
	s := newServer(t, options{usage: func(_ context.Context, q ledger.UsageQuery) ([]ledger.UsageRow, error) {
		asked = q
		return nil, nil
	}})
	today := time.Now().UTC().Truncate(24 * time.Hour)
	for query, want := range map[string]time.Time{
		"":                              today.AddDate(0, 0, -30),
		"to=2026-03-30":                 time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC),
		"from=2001-02-03&to=2026-03-30": time.Date(2001, 2, 3, 0, 0, 0, 0, time.UTC),
	} {
		w := do(s, http.MethodGet, "/api/usage?"+query, "")
		if w.Code != http.StatusOK || !asked.From.Equal(want) && !time.Now().UTC().Truncate(24*time.Hour).After(today) {
			t.Errorf("%q: status %d, from %s, want %s", query, w.Code, asked.From, want)
		}
	}
}

func TestUsage_ComesInPagesWithTheSumOfAll(t *testing.T) {
	const turns = 5
	s := newServer(t, options{usage: func(_ context.Context, q ledger.UsageQuery) (rows []ledger.UsageRow, err error) {
		if len(q.By) == 0 {
			return []ledger.UsageRow{{Turns: turns, Calls: turns}}, nil
		}
		for i := q.Offset; i < min(turns, q.Offset+q.Limit); i++ {
			rows = append(rows, ledger.UsageRow{Turn: fmt.Sprint(i), Turns: 1, Calls: 1})
		}
		return rows, nil
	}})
	type page struct {
		Rows  []struct{ Turn string }
		Next  int
		Total struct{ Calls int }
	}
	var got []string
	for path := "/api/usage?by=turn&limit=2"; path != ""; {
		w := do(s, http.MethodGet, path, "")
		var p page
		if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || w.Code != http.StatusOK || p.Total.Calls != turns || len(p.Rows) > 2 {
			t.Fatalf("%s: status %d, %v: %s", path, w.Code, err, w.Body)
		}
		for _, r := range p.Rows {
			got = append(got, r.Turn)
		}
		link := w.Header().Get("Link")
		next, ok := strings.CutSuffix(strings.TrimPrefix(link, "<"), `>; rel="next"`)
		if ok != (p.Next > 0) || ok && !strings.Contains(next, fmt.Sprintf("offset=%d", p.Next)) {
			t.Fatalf("%s: next is %d, Link %q", path, p.Next, link)
		}
		path = next
	}
	if strings.Join(got, " ") != "0 1 2 3 4" {
		t.Errorf("the pages have the turns %q", got)
	}
}

// claims is a Keys that records the claims.
type claims struct {
	keys   []turn.Key
	bodies []string
	err    error
}

func (c *claims) Claim(_ context.Context, k turn.Key, body []byte) (*turn.Claim, error) {
	c.keys, c.bodies = append(c.keys, k), append(c.bodies, string(body))
	return new(turn.Claim), c.err
}

// chatPaths returns the paths that run turns, with a body for each.
func chatPaths() map[string]string {
	ragBody, azureBody := `{"message":"q"}`, question
	return map[string]string{
		"/chat": azureBody, "/ask": azureBody, "/chat/stream": azureBody, "/p/azure-0529/chat": azureBody,
		"/p/azure-0529/chat/stream": azureBody, "/p/azure-0128/chat": azureBody, "/api/chat/": azureBody, "/api/chat/stream": azureBody,
		completionPath: `{"model":"parley","messages":[{"role":"user","content":"q"}]}`,
		"/chat/":       ragBody, "/p/ragchat/chat": ragBody, "/chat/" + knownSession: ragBody, "/p/ragchat/chat/" + knownSession: ragBody,
	}
}

func TestIdempotencyKey_IsClaimedOnEveryPathThatTakesTurns(t *testing.T) {
	for path, body := range chatPaths() {
		keys := &claims{}
		s := newServer(t, options{keys: keys})
		if w := do(s, http.MethodPost, path, body); w.Code != http.StatusOK || len(keys.keys) != 0 {
			t.Errorf("%s without a key: status %d, %d claims", path, w.Code, len(keys.keys))
		}
		w := do(s, http.MethodPost, path, body, "Idempotency-Key", "k1")
		want := turn.Key{Route: strings.TrimSuffix(path, "/"), Value: "k1"}
		if w.Code != http.StatusOK || len(keys.keys) != 1 || keys.keys[0] != want || keys.bodies[0] != body {
			t.Errorf("%s: status %d, claims %+v of %q", path, w.Code, keys.keys, keys.bodies)
		}
		for err, status := range map[error]int{
			turn.ErrKeyReused:                      http.StatusUnprocessableEntity,
			&chat.Error{Kind: chat.Invalid}:        http.StatusBadRequest,
			fmt.Errorf("disk on fire"):             http.StatusInternalServerError,
			fmt.Errorf("x: %w", turn.ErrKeyReused): http.StatusUnprocessableEntity,
		} {
			s := newServer(t, options{keys: &claims{err: err}})
			w := do(s, http.MethodPost, path, body, "Idempotency-Key", "k1")
			if w.Code != status || strings.Contains(w.Body.String(), "fire") {
				t.Errorf("%s, %v: status %d, want %d: %s", path, err, w.Code, status, w.Body)
			}
		}
	}
}
