package chatui

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"parley/internal/chat"
	"parley/internal/store"
	"parley/internal/transcript"
	"parley/internal/transcript/transcripttest"
	"parley/internal/wire/wiretest"
)

// called sends one request and decodes the reply.
func called(t testing.TB, h http.Handler, method, path, body string, into any) int {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader(body)))
	if err := json.Unmarshal(w.Body.Bytes(), into); err != nil {
		t.Fatalf("%s %s: %v: %s", method, path, err, w.Body)
	}
	return w.Code
}

type summary struct {
	ID           string
	Title        string
	MessageCount int
}

// pagesOf follows the links of a list from its first page, and returns the ids of each page.
func pagesOf(t *testing.T, h http.Handler, path string) (pages []string) {
	t.Helper()
	for path != "" {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, http.NoBody))
		var list []summary
		if err := json.Unmarshal(w.Body.Bytes(), &list); err != nil || w.Code != http.StatusOK {
			t.Fatalf("%s: %d %s", path, w.Code, w.Body)
		}
		var ids []string
		for _, c := range list {
			ids = append(ids, c.Title)
		}
		pages = append(pages, strings.Join(ids, " "))
		_, path, _ = strings.Cut(w.Header().Get("Link"), "<")
		path, _, _ = strings.Cut(path, ">")
	}
	return pages
}

func TestChats_ComeInPagesForThoseWhoAsk(t *testing.T) {
	h := serve(handlerOf(nil, nil))
	ids := map[string]string{}
	for _, title := range strings.Fields("a b c d e f g") {
		var c summary
		called(t, h, "POST", "/api/chat-history", `{"title":"`+title+`"}`, &c)
		ids[title] = c.ID
	}
	called(t, h, "POST", "/api/chat-history", `{"title":"team","mode":"multiAgent"}`, &summary{})
	called(t, h, "PUT", "/api/chat-history/"+ids["a"], `{"pinned":true}`, &summary{})
	called(t, h, "PUT", "/api/chat-history/"+ids["c"], `{"folder":"x"}`, &summary{})
	for path, want := range map[string][]string{
		"/api/chat-history?mode=standard&limit=2": {"c a g f", "e d", "b"},
		"/api/chat-history?mode=standard&limit=5": {"c a g f e d b"},
		"/api/chat-history?limit=3":               {"c a team g f", "e d b"},
		"/api/chat-history?mode=standard":         {"g f e d c b a"},
	} {
		if got := pagesOf(t, h, path); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	var one summary
	if called(t, h, "GET", "/api/chat-history/"+ids["b"], "", &one); one.Title != "b" {
		t.Errorf("one chat: %+v", one)
	}
	for _, bad := range []string{"limit=0", "limit=501", "limit=x", "limit=2&before=x", "before=x", "limit=2&before=eA"} {
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/api/chat-history?"+bad, http.NoBody)); w.Code != http.StatusBadRequest {
			t.Errorf("%s: status %d", bad, w.Code)
		}
	}
}

// If two tabs store the same chat at the same time in the real store, nothing is lost.
func TestPutMessages_LosesNothingWhenClientsWriteAtTheSameTime(t *testing.T) {
	db, err := store.Open(t.Context(), t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	h := serve(handlerOf(nil, func(c *Config) { c.Store = db.Transcripts() }))
	var created summary
	called(t, h, "POST", "/chat-history", `{}`, &created)
	const tabs, each = 6, 8
	var wg sync.WaitGroup
	for tab := range tabs {
		wg.Go(func() {
			for n := range each {
				body := fmt.Sprintf(`{"messages":[{"id":"shared","content":"%d"},{"id":"%d-%d","role":"user","content":"x"},{"content":"no id %d-%d"}]}`, tab, tab, n, tab, n)
				w := httptest.NewRecorder()
				h.ServeHTTP(w, httptest.NewRequest(http.MethodPut, "/chat-history/"+created.ID, strings.NewReader(body)))
				if w.Code != http.StatusOK {
					t.Errorf("status %d: %s", w.Code, w.Body)
				}
			}
		})
	}
	wg.Wait()
	var stored []struct{ ID, Content string }
	called(t, h, "GET", "/chat-history/"+created.ID+"/messages", "", &stored)
	seen := map[string]int{}
	for _, m := range stored {
		if m.ID == "" {
			seen[m.Content]++
		} else {
			seen[m.ID]++
		}
	}
	if len(seen) != 2*tabs*each+1 || len(stored) != len(seen) {
		t.Errorf("%d messages are stored, %d different ones; want %d", len(stored), len(seen), 2*tabs*each+1)
	}
}

// A title renames a chat, and later messages do not change it.
func TestPutMessages_RenamesAChat(t *testing.T) {
	db, err := store.Open(t.Context(), t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	h := serve(handlerOf(nil, func(c *Config) { c.Store = db.Transcripts() }))
	var created, got summary
	called(t, h, "POST", "/chat-history", `{}`, &created)
	at := "/chat-history/" + created.ID
	for _, c := range []struct {
		body, want string
		messages   int
	}{
		{`{"messages":[{"id":"1","role":"user","content":"How tall is it?"}]}`, "How tall is it?", 1},
		{`{"title":" The lighthouse "}`, "The lighthouse", 1},
		{`{"messages":[{"id":"2","role":"user","content":"And how old?"}],"title":null}`, "The lighthouse", 2},
		{`{"title":"Lighthouses","messages":[{"id":"3","role":"user","content":"Why?"}]}`, "Lighthouses", 3},
	} {
		if status := called(t, h, "PUT", at, c.body, &got); status != http.StatusOK || got.Title != c.want || got.MessageCount != c.messages {
			t.Errorf("%s: status %d, %+v; want the title %q and %d messages", c.body, status, got, c.want, c.messages)
		}
	}
	for _, body := range []string{`{}`, `{"title":""}`, `{"title":"  "}`, `{"title":7}`, `{"title":"` + strings.Repeat("x", maxTitle+1) + `"}`} {
		var refused map[string]any
		if status := called(t, h, "PUT", at, body, &refused); status != http.StatusBadRequest {
			t.Errorf("%.40s: status %d: %v", body, status, refused)
		}
	}
}

// A chat that is moved to a folder says so, and keeps its place in the list.
func TestPutMessages_MovesAChatToAFolder(t *testing.T) {
	h := serve(handlerOf(nil, func(c *Config) { c.Store = &transcripttest.Store{} }))
	var before, after struct{ ID, LastUpdated, Folder string }
	called(t, h, "POST", "/chat-history", `{}`, &before)
	for _, folder := range []string{"01J", ""} {
		after.Folder = "" // it is left out where there is none
		called(t, h, "PUT", "/chat-history/"+before.ID, fmt.Sprintf(`{"folder":%q}`, folder), &after)
		if after.Folder != folder || after.LastUpdated != before.LastUpdated {
			t.Errorf("folder %q gives %+v, was %+v", folder, after, before)
		}
	}
	for _, bad := range []string{"7", `"` + strings.Repeat("x", maxFolder+1) + `"`} {
		var refused any
		if status := called(t, h, "PUT", "/chat-history/"+before.ID, `{"folder":`+bad+`}`, &refused); status != http.StatusBadRequest {
			t.Errorf("folder %.20s has status %d", bad, status)
		}
	}
}

func TestHistory_AnswersAFaultOfTheStoreWithoutTellingIt(t *testing.T) {
	var log wiretest.Log
	broken := handlerOf(nil, func(c *Config) { c.Store = &transcripttest.Store{Err: errors.New("canary: disk on fire")} })
	h := wiretest.Mount(broken.Protocol(), slog.New(&log))
	for _, r := range []struct{ method, path, body string }{
		{"GET", "/chat-history", ""}, {"POST", "/chat-history", "{}"}, {"GET", "/chat-history/x/messages", ""},
		{"PUT", "/chat-history/x", `{"messages":[]}`}, {"DELETE", "/chat-history/x", ""},
	} {
		var failed struct {
			Status, Message string
			Error           struct{ Message, Code string }
		}
		code := called(t, h, r.method, r.path, r.body, &failed)
		if code != http.StatusServiceUnavailable || failed.Status != "failed" || failed.Error.Code != "UNAVAILABLE" ||
			failed.Message != failed.Error.Message || strings.Contains(failed.Message, "canary") || failed.Message == "" {
			t.Errorf("%s %s: %d %+v", r.method, r.path, code, failed)
		}
	}
	if !strings.Contains(log.Text(), "canary") || strings.Contains(log.Levels(), "DEBUG") {
		t.Errorf("logged at %s: %s", log.Levels(), log.Text())
	}
}

func TestPutMessages_RefusesAChatThatIsTooLong(t *testing.T) {
	many := make([]transcript.Message, maxStored)
	for i := range many {
		many[i].Body = []byte(`{}`)
	}
	if err := checkSize(many); err != nil {
		t.Error(err)
	}
	if err := checkSize(append(slices.Clone(many), transcript.Message{})); chat.KindOf(err) != chat.TooLarge {
		t.Errorf("too many messages: %v", err)
	}
	if err := checkSize([]transcript.Message{{Body: make([]byte, maxTranscript+1)}}); chat.KindOf(err) != chat.TooLarge {
		t.Errorf("too many bytes: %v", err)
	}
	h := serve(handlerOf(nil, nil))
	var created summary
	called(t, h, "POST", "/chat-history", `{}`, &created)
	var failed struct{ Error struct{ Code string } }
	body := `{"messages":[` + strings.Repeat("null,", maxStored) + `null]}`
	if code := called(t, h, "PUT", "/chat-history/"+created.ID, body, &failed); code != http.StatusBadRequest {
		t.Errorf("a list of %d: %d %+v", maxStored+1, code, failed)
	}
}

// Whatever a client stores, messages with other ids remain, and storing the same list again changes
// nothing.
func FuzzMerge(f *testing.F) {
	for _, seed := range []string{
		`{"messages":[]}`, `{"messages":[{"id":"a","role":"user","content":"x"},{"role":"user"}]}`,
		`{"messages":[{"messageId":"a","id":"b"},null,{"id":7},{"id":"7"},{"id":""}]}`, `{"messages":[{"agentName":"\u0000","x":[{}]}]}`,
	} {
		f.Add(seed, seed)
	}
	f.Fuzz(func(t *testing.T, first, second string) {
		one, err := changesOf([]byte(first))
		two, err2 := changesOf([]byte(second))
		if err != nil || err2 != nil {
			return
		}
		a, b := one.messages, two.messages
		stored := merge(nil, a)
		after := merge(append([]transcript.Message(nil), stored...), b)
		kept := map[string]bool{}
		for _, m := range after {
			kept[m.ID] = true
			if !json.Valid(m.Body) {
				t.Errorf("%s is not JSON", m.Body)
			}
			if m.ID != "" && readFields(m.Body).id != m.ID {
				t.Errorf("the id of %s is stored as %q", m.Body, m.ID)
			}
		}
		if len(after) < len(stored) && allHaveIDs(b) {
			t.Errorf("of %d messages %d are left", len(stored), len(after))
		}
		for _, m := range stored {
			if !kept[m.ID] && allHaveIDs(b) {
				t.Errorf("%s is lost", m.Body)
			}
		}
		if again := merge(append([]transcript.Message(nil), after...), b); allHaveIDs(b) && len(again) != len(after) {
			t.Errorf("%d messages became %d", len(after), len(again))
		}
	})
}

// FuzzChat sends any body in any way. The server must reply or explain why it does not.
func FuzzChat(f *testing.F) {
	f.Add(asked, "text/event-stream", "format=minimal", "/api/chat")
	f.Add(`{"messages":[{"role":"user","content":"\ud800"}],"conversationId":"x"}`, "*/*;q=x, text/event-stream;q=0.1", "stream_partials=0", "/api/multi-agent-chat")
	f.Add(`[`, "", "format=%zz", "/api/chat/sse")
	h := handlerOf(&wiretest.Scripted{Steps: script(f, "include answer.events")}, func(c *Config) {
		c.pace = pace{answer: 1e9, giveUp: 2e9, event: 1, settle: 1, idle: 1e9}
	})
	routes := serve(h)
	f.Fuzz(func(t *testing.T, body, accept, query, path string) {
		r := httptest.NewRequest(http.MethodPost, "/api/chat", strings.NewReader(body))
		r.Header["Accept"] = []string{accept}
		r.URL.RawQuery = query
		if strings.Contains(path, "multi") {
			r.URL.Path = "/api/multi-agent-chat"
		}
		w := httptest.NewRecorder()
		routes.ServeHTTP(w, r)
		switch w.Code {
		case http.StatusOK, http.StatusBadRequest, http.StatusRequestEntityTooLarge:
		default:
			t.Errorf("status %d: %s", w.Code, w.Body)
		}
		if w.Header().Get("Content-Type") == "application/json" && !json.Valid(w.Body.Bytes()) {
			t.Errorf("not JSON: %s", w.Body)
		}
	})
}

// Titles come from clients and from questions. None of them may contain invisible characters.
func TestChats_HaveTitlesThatHideNothing(t *testing.T) {
	db, err := store.Open(t.Context(), t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	h := serve(handlerOf(nil, func(c *Config) { c.Store = db.Transcripts() }))
	const hiding, plain = "pay\u202efdp\u2066.\u200bexe", "payfdp.exe"
	var named, untitled, renamed, asked struct{ ID, Title, LastMessage string }
	called(t, h, "POST", "/chat-history", `{"title":"`+hiding+`"}`, &named)
	called(t, h, "POST", "/chat-history", `{}`, &untitled)
	called(t, h, "PUT", "/chat-history/"+named.ID, `{"title":"Re`+hiding+`","messages":[]}`, &renamed)
	called(t, h, "PUT", "/chat-history/"+untitled.ID, `{"messages":[{"id":"1","role":"user","content":"`+hiding+`"}]}`, &asked)
	for _, c := range [][2]string{{named.Title, plain}, {renamed.Title, "Re" + plain}, {asked.Title, plain}, {asked.LastMessage, plain}} {
		if c[0] != c[1] {
			t.Errorf("%q, want %q", c[0], c[1])
		}
	}
}

// What people have said is found in whatever case, with the words around it, and only by whom it belongs to.
func TestSearch_FindsChatsByTheirMessages(t *testing.T) {
	h := serve(handlerOf(nil, func(c *Config) { c.Store = &transcripttest.Store{} }))
	for _, content := range []string{"How tall is the lighthouse of Skagen?", "Die GRÖSSE der Pumpe", strings.Repeat("word ", 100) + "needle " + strings.Repeat("word ", 100), "a<b>c"} {
		var made summary
		called(t, h, "POST", "/chat-history", `{}`, &made)
		body, _ := json.Marshal(map[string]any{"title": "t " + made.ID, "messages": []any{map[string]any{"messageId": "m1", "role": "user", "content": content, "parley": "hidden lighthouse2"}}})
		called(t, h, "PUT", "/chat-history/"+made.ID, string(body), &made)
	}
	type hit struct{ ID, Snippet, MessageID string }
	find := func(q string) (all []hit) {
		called(t, h, "GET", "/chat-history/search?q="+url.QueryEscape(q), "", &all)
		return all
	}
	for q, want := range map[string]string{
		"LIGHTHOUSE tall": "How tall is the lighthouse of Skagen?", "größe": "", "grösse pumpe": "Die GRÖSSE der Pumpe", "a<b>": "a<b>c",
		"lighthouse2": "", "%": "", "needle": "needle", " ": "",
	} {
		got := find(q)
		if want == "" && len(got) > 0 || want != "" && (len(got) != 1 || !strings.Contains(got[0].Snippet, want) || got[0].MessageID != "m1") {
			t.Errorf("%q finds %+v, want %q", q, got, want)
		}
		for _, f := range got {
			if n := utf8.RuneCountInString(f.Snippet); n > 200 {
				t.Errorf("%q has a snippet of %d characters", q, n)
			}
		}
	}
	if got := find("t "); len(got) != 4 {
		t.Errorf("%d chats are found by their titles, want 4", len(got))
	}
	var refused any
	if status := called(t, h, "GET", "/chat-history/search?q="+strings.Repeat("x", 201), "", &refused); status != http.StatusBadRequest {
		t.Errorf("a search that is too long: status %d", status)
	}
}

// A chat that is pinned says so, and keeps its place in the list.
func TestPutMessages_PinsAChat(t *testing.T) {
	h := serve(handlerOf(nil, func(c *Config) { c.Store = &transcripttest.Store{} }))
	var before, after struct {
		ID, LastUpdated string
		Pinned          bool
	}
	called(t, h, "POST", "/chat-history", `{}`, &before)
	for _, pinned := range []bool{true, false} {
		after.Pinned = false // it is left out where it is not
		called(t, h, "PUT", "/chat-history/"+before.ID, fmt.Sprintf(`{"pinned":%v}`, pinned), &after)
		if after.Pinned != pinned || after.LastUpdated != before.LastUpdated {
			t.Errorf("pinned: %v gives %+v, was %+v", pinned, after, before)
		}
	}
	var refused any
	if status := called(t, h, "PUT", "/chat-history/"+before.ID, `{"pinned":"maybe"}`, &refused); status != http.StatusBadRequest {
		t.Errorf("pinned: maybe has status %d", status)
	}
}
