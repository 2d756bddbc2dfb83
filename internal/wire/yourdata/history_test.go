package yourdata

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"parley/internal/transcript/transcripttest"
	"parley/internal/wire/wiretest"
)

// site is a Handler that is asked by several people.
type site struct {
	*testing.T
	http.Handler
}

func newSite(t *testing.T) site {
	steps := wiretest.Script(t, "include short.events\ninclude answer.events\ninclude finished.events")
	return site{t, serve(handlerOf(&wiretest.Scripted{Steps: steps}, nil))}
}

// as makes a request of somebody and returns the status and the body.
func (s site) as(who, target, body string) (int, string) {
	s.Helper()
	method, path, _ := strings.Cut(target, " ")
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Test-User", who)
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

func TestHistory_BelongsToItsOwner(t *testing.T) {
	s := newSite(t)
	_, body := s.as("ann", "POST /history/generate", asking)
	_, id, _ := strings.Cut(body, `"conversation_id":"`)
	id, _, _ = strings.Cut(id, `"`)
	_, answer, _ := strings.Cut(body, `{"id":"`)
	answer, _, _ = strings.Cut(answer, `"`)
	if status, body := s.as("ann", "POST /history/update", fmt.Sprintf(`{"conversation_id":%q,"messages":[{"id":%q,"role":"assistant","content":"x"}]}`, id, answer)); status != 200 {
		t.Fatal(body)
	}
	for target, body := range map[string]string{
		"POST /history/generate":         fmt.Sprintf(`{"conversation_id":%q,"messages":[{"role":"user","content":"x"}]}`, id),
		"POST /history/update":           fmt.Sprintf(`{"conversation_id":%q,"messages":[{"role":"assistant","content":"x"}]}`, id),
		"POST /history/read":             fmt.Sprintf(`{"conversation_id":%q}`, id),
		"POST /history/rename":           fmt.Sprintf(`{"conversation_id":%q,"title":"x"}`, id),
		"POST /history/clear":            fmt.Sprintf(`{"conversation_id":%q}`, id),
		"DELETE /history/delete":         fmt.Sprintf(`{"conversation_id":%q}`, id),
		"POST /history/message_feedback": fmt.Sprintf(`{"message_id":%q,"message_feedback":"positive"}`, answer),
	} {
		status, got := s.as("bob", target, body)
		missing, want := s.as("bob", target, strings.ReplaceAll(body, id, "01JGONE"))
		if status != 404 || missing != 404 || got != strings.ReplaceAll(want, "01JGONE", id) {
			t.Errorf("%s: somebody else gets %d %s, for what is not there %d %s", target, status, got, missing, want)
		}
	}
	if _, body := s.as("bob", "GET /history/list", ""); body != "[]\n" && body != "[]" {
		t.Errorf("somebody else lists %s", body)
	}
	if status, _ := s.as("bob", "DELETE /history/delete_all", `{}`); status != 200 {
		t.Errorf("delete_all: %d", status)
	}
	if status, body := s.as("ann", "POST /history/read", fmt.Sprintf(`{"conversation_id":%q}`, id)); status != 200 || strings.Count(body, `"role"`) != 2 {
		t.Errorf("the owner reads %d %s", status, body)
	}
}

// Every member of every request may have any type: the answer is 400 in the shape of the caller, or what the
// member's absence gives.
func TestRequests_AreRefusedByNameWhateverTheTypeOfAMember(t *testing.T) {
	s := newSite(t)
	values := []string{`null`, `true`, `7`, `-1e999`, `""`, `"x"`, `[]`, `[7]`, `[null]`, `[[]]`, `{}`, `{"x":1}`, `[{}]`, `[{"role":7}]`, `[{"role":"user","content":{}}]`,
		`[{"type":"azure_search","parameters":7}]`, `[{"parameters":{"top_n_documents":"x"}}]`, `[{"parameters":{"query_type":7}}]`, `[{"parameters":{"index_name":[]}}]`,
		`[{"parameters":{"strictness":9}}]`, `[{"parameters":{"in_scope":"x"}}]`, `[{"parameters":{"role_information":{}}}]`, `[{},{}]`}
	members := map[string][]string{
		"POST /conversation":                                     {"messages", "history_metadata", "stream"},
		"POST /history/generate":                                 {"messages", "conversation_id", "stream"},
		"POST /history/update":                                   {"messages", "conversation_id"},
		"POST /history/read":                                     {"conversation_id"},
		"POST /history/rename":                                   {"conversation_id", "title"},
		"POST /history/clear":                                    {"conversation_id"},
		"POST /history/message_feedback":                         {"message_id", "message_feedback"},
		"DELETE /history/delete":                                 {"conversation_id"},
		"POST /openai/deployments/x/chat/completions":            {"messages", "data_sources", "dataSources", "stream", "temperature", "top_p", "max_tokens", "stop"},
		"POST /openai/deployments/x/extensions/chat/completions": {"messages", "dataSources", "stream"},
	}
	const usual = `"messages":[{"role":"user","content":"x"}],"data_sources":[{"parameters":{}}],"conversation_id":"c","title":"t","message_id":"m","message_feedback":"f"`
	for target, names := range members {
		for _, name := range names {
			for _, value := range values {
				body := "{" + strings.Replace(usual, `"`+name+`":`, `"was":`, 1) + fmt.Sprintf(`,%q:%s}`, name, value)
				status, got := s.as("ann", target, body)
				if status != 200 && status != 400 && status != 404 || strings.Contains(got, "panic") || status >= 400 && !strings.HasPrefix(got, `{"error":`) {
					t.Errorf("%s %s: %d %s", target, body, status, got)
				}
			}
		}
	}
}

func TestHistory_SaysWhenItCannotBeReached(t *testing.T) {
	h := serve(handlerOf(nil, func(c *Config) { c.Store = &transcripttest.Store{Err: fmt.Errorf("disk /dev/secret")} }))
	for _, target := range []string{"GET /history/list", "POST /history/read", "DELETE /history/delete_all"} {
		status, body := site{t, h}.as("ann", target, `{"conversation_id":"c"}`)
		if status != 503 || strings.Contains(body, "secret") {
			t.Errorf("%s: %d %s", target, status, body)
		}
	}
}
