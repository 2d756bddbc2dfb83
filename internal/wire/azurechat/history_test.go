package azurechat

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/internal/store"
	"parley/internal/transcript"
	"parley/internal/transcript/transcripttest"
	"parley/internal/wire"
)

// historyOf returns the routes over a store. The header X-Test-User names the caller, and a second passes
// between two requests.
func historyOf(s transcript.Store) http.Handler {
	now := time.UnixMilli(1_700_000_000_000)
	return serve(handlerOf(nil, func(c *Config) {
		c.Store, c.Now = s, func() time.Time { now = now.Add(time.Second); return now }
	}))
}

func TestHistory_KeepsWhatTheFrontEndsSend(t *testing.T) {
	const (
		one, two = `["Who?",{"message":{"content":"He.","role":"assistant"},"context":{"x":1.50}}]`, `["And\u2028why?",{"delta":null}]`
		long     = "What does the policy say about trains in the first class, and about planes?"
	)
	pairs := func(id string, all ...string) string {
		return fmt.Sprintf(`{"id":%q,"answers":[%s]}`, id, strings.Join(all, ", "))
	}
	session := func(id, title string, second int) string {
		return fmt.Sprintf(`{"id":%q,"entra_oid":"","title":%q,"timestamp":17000000%02d000}`, id, title, second)
	}
	steps := []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"GET", "/chat_history/sessions?count=5", "", 200, `{"sessions":[],"continuation_token":null}`},
		{"POST", "/chat_history", pairs("a", one), 201, `{}`},
		{"GET", "/chat_history/sessions/a", "", 200, `{"id":"a","entra_oid":"","answers":[` + one + `]}`},
		{"POST", "/chat_history", pairs("b", `["`+long+`", null]`), 201, `{}`},
		{"POST", "/chat_history", pairs("a", one, two), 201, `{}`},
		{"GET", "/chat_history/sessions/a", "", 200, `{"id":"a","entra_oid":"","answers":[` + one + `,` + two + `]}`},
		// A tab that has seen less changes what it has seen.
		{"POST", "/chat_history", pairs("a", `["Whose?",1]`), 201, `{}`},
		{"GET", "/chat_history/sessions/a", "", 200, `{"id":"a","entra_oid":"","answers":[["Whose?",1],` + two + `]}`},
		{"GET", "/chat_history/sessions", "", 200,
			`{"sessions":[` + session("a", "Whose?", 4) + `,` + session("b", long[:50]+"...", 2) + `],"continuation_token":null}`},
		{"GET", "/chat_history/sessions?count=1", "", 200, `{"sessions":[` + session("a", "Whose?", 4) + `],"continuation_token":"MTcwMDAwMDAwNDAwMDAwMDph"}`},
		{"GET", "/chat_history/sessions?count=1&continuationToken=MTcwMDAwMDAwNDAwMDAwMDph", "", 200,
			`{"sessions":[` + session("b", long[:50]+"...", 2) + `],"continuation_token":null}`},
		{"GET", "/chat_history/sessions?count=1&continuation_token=MTcwMDAwMDAwNDAwMDAwMDph", "", 200,
			`{"sessions":[` + session("b", long[:50]+"...", 2) + `],"continuation_token":null}`},
		{"DELETE", "/chat_history/sessions/a", "", 204, ``},
		{"DELETE", "/chat_history/sessions/a", "", 404, `{"error":"There is no such chat."}`},
		{"GET", "/chat_history/sessions/a", "", 404, `{"error":"There is no such chat."}`},

		{"GET", "/chat_history/sessions?count=0", "", 400, `{"error":"\"count\" must be a whole number over 0"}`},
		{"GET", "/chat_history/sessions?count=-1", "", 400, `{"error":"\"count\" must be a whole number over 0"}`},
		{"GET", "/chat_history/sessions?count=x", "", 400, `{"error":"\"count\" must be a whole number over 0"}`},
		{"GET", "/chat_history/sessions?count=999999", "", 200, `{"sessions":[` + session("b", long[:50]+"...", 2) + `],"continuation_token":null}`},
		{"GET", "/chat_history/sessions?continuationToken=!", "", 400, `{"error":"\"continuationToken\" was not issued by this server"}`},
		{"GET", "/chat_history/sessions?continuationToken=eDp5", "", 400, `{"error":"\"continuationToken\" was not issued by this server"}`},
		{"POST", "/chat_history", `{"id":"c","answers":[]}`, 400, `{"error":"\"answers\" must contain at least one pair"}`},
		{"POST", "/chat_history", `{"id":"c"}`, 400, `{"error":"\"answers\" must be a list of pairs, each a question and a response"}`},
		{"POST", "/chat_history", pairs("c", one, `["alone"]`), 400, `{"error":"\"answers[1]\" must be a list of a question and a response"}`},
		{"POST", "/chat_history", pairs("c", `[1,2]`), 400, `{"error":"\"answers[0]\" must be a list of a question and a response"}`},
		{"POST", "/chat_history", `{"answers":[["a","b"]]}`, 400, `{"error":"\"id\" must be a string of 1 to 256 bytes"}`},
		{"POST", "/chat_history", `[`, 400, `{"error":"the request body is not valid JSON: it ends too early"}`},
	}
	db, err := store.Open(t.Context(), t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for name, s := range map[string]transcript.Store{"in memory": &transcripttest.Store{}, "on disk": db.Transcripts()} {
		h := historyOf(s)
		for _, step := range steps {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest(step.method, step.path, strings.NewReader(step.body)))
			if got := strings.TrimSuffix(w.Body.String(), "\n"); w.Code != step.status || got != step.want {
				t.Errorf("%s: %s %s %.60s: %d %s, want %d %s", name, step.method, step.path, step.body, w.Code, got, step.status, step.want)
			}
		}
	}
}

func TestHistory_BelongsToItsOwner(t *testing.T) {
	s := &transcripttest.Store{}
	h := historyOf(s)
	as := func(user, method, path, body string) (int, string) {
		r := httptest.NewRequest(method, path, strings.NewReader(body))
		r.Header.Set("X-Test-User", user)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
	as("alice", "POST", "/chat_history", `{"id":"c","answers":[["secret","x"]]}`)
	if _, err := s.Save(t.Context(), transcript.Scope{Kind: transcript.ChatUI, Namespace: "default", Owner: "bob"}, "d",
		func(*transcript.Transcript, bool) error { return nil }); err != nil {
		t.Fatal(err)
	}
	for _, method := range []string{"GET", "DELETE"} {
		for _, id := range []string{"c", "d", "e"} {
			if code, body := as("bob", method, "/chat_history/sessions/"+id, ""); code != 404 || body != `{"error":"There is no such chat."}`+"\n" {
				t.Errorf("%s of %s: %d %s", method, id, code, body)
			}
		}
	}
	if _, body := as("bob", "GET", "/chat_history/sessions", ""); !strings.HasPrefix(body, `{"sessions":[]`) {
		t.Errorf("bob sees %s", body)
	}
	// The id is the client's: bob may have one of the same, which is another chat.
	as("bob", "POST", "/chat_history", `{"id":"c","answers":[["mine","y"]]}`)
	if _, body := as("alice", "GET", "/chat_history/sessions/c", ""); !strings.Contains(body, `[["secret","x"]]`) {
		t.Errorf("alice sees %s", body)
	}
	for _, r := range [][2]string{{"POST", ""}, {"GET", "/sessions"}, {"GET", "/sessions/c"}, {"DELETE", "/sessions/c"}} {
		if code, _ := as("nobody", r[0], "/chat_history"+r[1], `{"id":"c","answers":[["x","y"]]}`); code != 401 {
			t.Errorf("%s %s: %d", r[0], r[1], code)
		}
	}
}

func TestHistory_AnswersAFaultOfTheStoreWithoutTellingIt(t *testing.T) {
	h := historyOf(&transcripttest.Store{Err: errors.New("canary")})
	for _, r := range [][2]string{{"POST", ""}, {"GET", "/sessions"}, {"GET", "/sessions/c"}, {"DELETE", "/sessions/c"}} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(r[0], "/chat_history"+r[1], strings.NewReader(`{"id":"c","answers":[["x","y"]]}`)))
		var failed map[string]string
		if err := json.Unmarshal(w.Body.Bytes(), &failed); err != nil || w.Code != 500 || failed["error"] != wire.InternalSentence {
			t.Errorf("%s %s: %d %s", r[0], r[1], w.Code, w.Body)
		}
	}
}

func TestHistory_LosesNoPairWhenTabsWriteAtTheSameTime(t *testing.T) {
	db, err := store.Open(t.Context(), t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	h := serve(handlerOf(nil, func(c *Config) { c.Store = db.Transcripts() }))
	const tabs = 8
	var wg sync.WaitGroup
	for n := range tabs {
		wg.Go(func() {
			body := `{"id":"c","answers":[` + strings.Repeat(`["q","a"],`, n) + `["q","a"]]}`
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/chat_history", strings.NewReader(body)))
			if w.Code != http.StatusCreated {
				t.Errorf("status %d: %s", w.Code, w.Body)
			}
		})
	}
	wg.Wait()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/chat_history/sessions/c", nil))
	if got := strings.Count(w.Body.String(), `["q","a"]`); got != tabs {
		t.Errorf("%d pairs are stored, want %d: %s", got, tabs, w.Body)
	}
}

func TestHistory_HasTitlesThatHideNothing(t *testing.T) {
	db, err := store.Open(t.Context(), t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	h := historyOf(db.Transcripts())
	call := func(method, path, body string) string {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader(body)))
		return w.Body.String()
	}
	call("POST", "/chat_history", `{"id":"a","answers":[["pay\u202efdp\u2066.\u200bexe",null]]}`)
	if got := call("GET", "/chat_history/sessions", ""); !strings.Contains(got, `"title":"payfdp.exe"`) {
		t.Error(got)
	}
	if got := call("GET", "/chat_history/sessions/a", ""); !strings.Contains(got, `pay\u202efdp`) && !strings.Contains(got, "pay\u202efdp") {
		t.Errorf("the chat itself has changed: %s", got)
	}
}
