package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"parley/internal/access"
	"parley/internal/auth/apikey"
)

// told asks as an administrator and decodes the answer.
func (m *matrix) told(t *testing.T, path string, into any) string {
	t.Helper()
	w := m.as(m.admin, http.MethodGet, path, "", "")
	if err := json.Unmarshal(w.Body.Bytes(), into); err != nil || w.Code != http.StatusOK {
		t.Fatalf("GET %s: %d %v %.300s", path, w.Code, err, w.Body)
	}
	return w.Body.String()
}

func TestAdministration_TellsWhatDoctorFinds(t *testing.T) {
	t.Parallel()
	m := newMatrix(t)
	m.serving.cfg.PublicURL, m.serving.config.PublicURL = "", "http://ann:"+canary+"@127.0.0.1:1"
	var report doctorReport
	text := m.told(t, "/api/doctor", &report)
	found := map[string][]finding{}
	for _, f := range report.Findings {
		found[f.Check] = append(found[f.Check], f)
	}
	wantFinding(t, found, "databases", fine, "both are intact")
	wantFinding(t, found, "public URL", broken, "start the server")
	if report.OK || report.Version != release || len(found) < 12 {
		t.Errorf("%+v", report)
	}
	if strings.Contains(text, canary) {
		t.Errorf("the report tells a password: %s", text)
	}
}

type toldRatings struct {
	Ratings []struct {
		User, Reason, Model, Title, Link string
		Good                             bool
		At                               time.Time
	}
	More bool
}

// Ratings tell administrators the reason alone, unless they may open the chat.
func TestAdministration_TellsFeedbackWithoutTheChatsOfOthers(t *testing.T) {
	t.Parallel()
	m := newMatrix(t)
	rate := func(key, question, feedback string) (chat string) {
		t.Helper()
		w := m.as(key, http.MethodPost, "/chat-history", `{"messages":[]}`, "application/json")
		var made struct{ ID string }
		if err := json.Unmarshal(w.Body.Bytes(), &made); err != nil || made.ID == "" {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		body := `{"messages":[{"messageId":"q","role":"user","content":"` + question + `"},{"messageId":"a","role":"assistant","content":"` + question +
			`","createdAt":"2026-11-28T10:00:00Z","parley":{"model":"builtin:extractive","feedback":` + feedback + `}}]}`
		if w = m.as(key, http.MethodPut, "/api/chat-history/"+made.ID+"/messages", body, "application/json"); w.Code != http.StatusOK {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		return made.ID
	}
	theirs := rate(m.owner, canary, `{"good":false,"reason":"The page is wrong."}`)
	rate(m.owner, canary, `{"good":true,"reason":7}`) // what a client may store
	rate(m.owner, canary, `null`)
	own := rate(m.admin, "What is mine?", `{"good":false,"reason":"Too long."}`)
	var got toldRatings
	text := m.told(t, "/api/feedback?rating=bad", &got)
	if len(got.Ratings) != 2 || strings.Contains(text, canary) || strings.Contains(text, theirs) || got.More {
		t.Fatalf("%s", text)
	}
	mine, other := got.Ratings[0], got.Ratings[1]
	if mine.Link != "#/chat/"+own || mine.Title == "" || other.Link != "" || other.Title != "" || other.User != m.ownerID ||
		other.Reason != "The page is wrong." || other.Model != "builtin:extractive" || other.At.Year() != 2026 {
		t.Errorf("%s", text)
	}
	var shared struct{ Link string }
	if w := m.as(m.owner, http.MethodPut, "/api/chats/"+theirs+"/link", "", ""); w.Code != http.StatusOK {
		t.Fatalf("%d %s", w.Code, w.Body)
	} else if err := json.Unmarshal(w.Body.Bytes(), &shared); err != nil {
		t.Fatal(err)
	}
	text = m.told(t, "/api/feedback", &got)
	if len(got.Ratings) != 3 || !strings.Contains(text, `"link":"#/shared/`) {
		t.Errorf("%s", text)
	}
	if m.told(t, "/api/feedback?limit=1", &got); len(got.Ratings) != 1 || !got.More {
		t.Errorf("one of three: %+v", got)
	}
	for _, query := range []string{"limit=0", "limit=1001", "limit=x", "rating=fair"} {
		if w := m.as(m.admin, http.MethodGet, "/api/feedback?"+query, "", ""); w.Code != http.StatusBadRequest {
			t.Errorf("%s: %d", query, w.Code)
		}
	}
}

func TestAdministration_TellsWhatIsLeftOfBudgets(t *testing.T) {
	t.Parallel()
	w := newWholeServer(t, func(c *Config) {
		c.AuthAnonymous, c.BudgetsUserRequests, c.BudgetsNamespaceCost = settingOff, 4, dollars(5_000_000)
	})
	m := &matrix{wholeServer: w, t: t}
	reader := newKey(t, w.serving.instance, apikey.Key{Role: access.Reader})
	if r := m.as(reader, http.MethodPost, "/chat", `{"messages":[{"role":"user","content":"How tall?"}]}`, "application/json"); r.Code != http.StatusOK {
		t.Fatalf("%d %s", r.Code, r.Body)
	}
	var got struct {
		From, Until     time.Time
		User, Namespace struct {
			Requests int     `json:"requests"`
			Cost     float64 `json:"cost_usd"`
		}
		Spent []struct {
			Kind, Name string
			Requests   int
			Used       float64
		}
		Left int `json:"left_out"`
	}
	m.told(t, "/api/budgets", &got)
	if got.User.Requests != 4 || got.User.Cost != 0 || got.Namespace.Requests != 0 || got.Namespace.Cost != 5 || got.Until.Sub(got.From) != 24*time.Hour || got.Left != 0 {
		t.Errorf("%+v", got)
	}
	if len(got.Spent) != 2 || got.Spent[0].Kind != "user" || got.Spent[0].Name != "key:"+apikey.IDOf(reader) || got.Spent[0].Requests != 1 || got.Spent[0].Used != 0.25 ||
		got.Spent[1].Kind != "namespace" || got.Spent[1].Name != "default" || got.Spent[1].Used != 0 {
		t.Errorf("%+v", got.Spent)
	}
}

func TestAdministration_SetsBudgets(t *testing.T) {
	t.Parallel()
	w := newWholeServer(t, func(c *Config) { c.AuthAnonymous, c.BudgetsUserRequests = settingOff, 4 })
	m := &matrix{wholeServer: w, t: t}
	admin := newKey(t, w.serving.instance, apikey.Key{Role: access.Administrator})
	reader := newKey(t, w.serving.instance, apikey.Key{Role: access.Reader})
	for _, body := range []string{
		`{"user":{"requests":-1},"namespace":{}}`, `{"user":{"cost_usd":-0.1},"namespace":{}}`, `{"user":{},"namespace":{"tokens":1e30}}`, `{"user":7,"namespace":{}}`, `[]`,
		`{}`, `{"user":{"requests":1}}`, `{"user":{"requests":1},"namespace":null}`, // the limits that are not named must not be lifted
	} {
		if r := m.as(admin, http.MethodPut, "/api/budgets", body, "application/json"); r.Code != http.StatusBadRequest {
			t.Errorf("%s: %d", body, r.Code)
		}
	}
	const body = `{"user":{"requests":1},"namespace":{"cost_usd":2.5}}`
	if r := m.as(reader, http.MethodPut, "/api/budgets", body, "application/json"); r.Code != http.StatusForbidden {
		t.Errorf("a reader: %d", r.Code)
	}
	set := func(method, body, want string) {
		t.Helper()
		if r := m.as(admin, method, "/api/budgets", body, "application/json"); r.Code != http.StatusOK || !strings.Contains(r.Body.String(), want) {
			t.Errorf("%d %s, want %s", r.Code, r.Body, want)
		}
	}
	set(http.MethodPut, body, `"user":{"requests":1,"tokens":0,"cost_usd":0},"namespace":{"requests":0,"tokens":0,"cost_usd":2.5},"chosen":true`)
	ask := func() int {
		return m.as(reader, http.MethodPost, "/chat", `{"messages":[{"role":"user","content":"How tall?"}]}`, "application/json").Code
	}
	if first, second := ask(), ask(); first != http.StatusOK || second != http.StatusTooManyRequests {
		t.Errorf("with one request: %d, %d", first, second)
	}
	set(http.MethodDelete, "", `"user":{"requests":4,"tokens":0,"cost_usd":0},"namespace":{"requests":0,"tokens":0,"cost_usd":0},"chosen":false`)
}
