package dify_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/internal/access"
	"parley/internal/chat"
	"parley/internal/retrieval"
	"parley/internal/wire"
	"parley/internal/wire/dify"
	"parley/internal/wire/wiretest"
)

// passages returns the results of every search, if its filter lets them through.
func passages() []retrieval.Passage {
	at := time.Date(2026, 11, 23, 10, 0, 0, 0, time.UTC)
	return []retrieval.Passage{
		{
			Chunk:    retrieval.Chunk{Text: "Employees get 25 days.\nUnused days expire.", Headings: []string{"Leave", "Paid leave"}, Spans: []retrieval.Span{{Page: 2}, {Page: 3, Offset: 23}}},
			Document: retrieval.Document{ID: "1", Name: "policies/leave \u00e9t\u00e9.pdf", Title: "Leave", Category: "hr", IndexedAt: at},
			Captions: []string{"Unused days expire."}, Score: 0.9,
		},
		{
			Chunk:    retrieval.Chunk{Text: "Trains are preferred.", Spans: []retrieval.Span{{}}},
			Document: retrieval.Document{ID: "2", Name: "travel.md", Title: "Travel", URL: "https://intranet.example/travel", IndexedAt: at.AddDate(0, 0, -2)},
			Score:    0.5,
		},
		{
			Chunk:    retrieval.Chunk{Text: "The office opens at nine.", Spans: []retrieval.Span{{Page: 12}}},
			Document: retrieval.Document{ID: "3", Name: "office.pdf", Title: "Office", IndexedAt: at},
			Score:    0.25,
		},
	}
}

func search(_ context.Context, q retrieval.Query) (retrieval.Result, error) {
	if q.Text == "Is the disk there?" {
		return retrieval.Result{}, &chat.Error{Kind: chat.Unavailable}
	}
	found := slices.DeleteFunc(passages(), func(p retrieval.Passage) bool {
		return p.Score < q.MinScore || !q.Where.Holds(p.Document.AllAttributes())
	})
	return retrieval.Result{Passages: found[:min(len(found), q.Limit)]}, nil
}

func protocol() wire.Protocol {
	return dify.New(dify.Config{
		Search:     search,
		Namespaces: func(context.Context, access.Principal) ([]string, error) { return []string{"hr"}, nil },
	}).Protocol()
}

func handler() http.Handler { return wiretest.Mount(protocol(), slog.New(slog.DiscardHandler)) }

// TestFixtures plays every testdata/*.txtar: prose, requests in order, and the exact bytes of the responses.
func TestFixtures(t *testing.T) {
	wiretest.PlayRequests(t, func(*testing.T) func(string, *http.Request) string {
		h := handler()
		return func(_ string, r *http.Request) string { return wiretest.Serve(h, r) }
	})
}

func TestFixtures_AreDescribed(t *testing.T) { wiretest.TestDescribed(t, protocol(), "") }

func TestRetrieval_RefusesConditionsThatMakeNoSense(t *testing.T) {
	for _, condition := range []string{
		`5`, `{"conditions":5}`, `{"conditions":[5]}`, `{"logical_operator":"xor"}`, `{"logical_operator":5}`,
		`{"conditions":[{"comparison_operator":"is","value":"x"}]}`,
		`{"conditions":[{"name":[],"comparison_operator":"is","value":"x"}]}`,
		`{"conditions":[{"name":"path","comparison_operator":"like","value":"x"}]}`,
		`{"conditions":[{"name":"path","comparison_operator":"is"}]}`,
		`{"conditions":[{"name":"path","comparison_operator":"is","value":[]}]}`,
		`{"conditions":[{"name":"path","comparison_operator":"in","value":5}]}`,
		`{"conditions":[{"name":"page","comparison_operator":">","value":"many"}]}`,
		`{"conditions":[{"name":"indexed_at","comparison_operator":"before","value":"yesterday"}]}`,
		`{"conditions":[` + strings.Repeat(`{"name":"a","comparison_operator":"empty"},`, 200) + `{"name":"a","comparison_operator":"empty"}]}`,
	} {
		w := send(`{"knowledge_id":"default","query":"leave","metadata_condition":` + condition + `}`)
		if w.Code != http.StatusBadRequest || !strings.HasPrefix(w.Body.String(), `{"error_code":400,"error_msg":"`) {
			t.Errorf("%.100s: %d %s", condition, w.Code, w.Body)
		}
	}
}

func TestRetrieval_ConditionsSelectRecords(t *testing.T) {
	const leave, travel, office = "1", "2", "3"
	for _, c := range []struct{ condition, want string }{
		{`{"name":"path","comparison_operator":"contains","value":"e"}`, leave + travel + office},
		{`{"name":"path","comparison_operator":"contains","value":"été"}`, leave},
		{`{"name":"path","comparison_operator":"contains","value":["leave","travel"]}`, leave + travel},
		{`{"name":"path","comparison_operator":"not contains","value":"leave"}`, travel + office},
		{`{"name":"path","comparison_operator":"start with","value":"office"}`, office},
		{`{"name":"path","comparison_operator":"end with","value":".pdf"}`, leave + office},
		{`{"name":"category","comparison_operator":"is","value":"hr"}`, leave},
		{`{"name":"category","comparison_operator":"is","value":"HR"}`, ""},
		{`{"name":"category","comparison_operator":"is not","value":"hr"}`, travel + office},
		{`{"name":["section","category"],"comparison_operator":"is","value":"hr"}`, leave},
		{`{"name":"document_title","comparison_operator":"in","value":["Office","Travel"]}`, travel + office},
		{`{"name":"document_title","comparison_operator":"in","value":"Office, Travel"}`, travel + office},
		{`{"name":"document_title","comparison_operator":"not in","value":["Office"]}`, leave + travel},
		{`{"name":"page","comparison_operator":"empty"}`, travel},
		{`{"name":"page","comparison_operator":"not empty","value":null}`, leave + office},
		{`{"name":"page","comparison_operator":"=","value":12}`, office},
		{`{"name":"page","comparison_operator":"is","value":12}`, office},
		{`{"name":"page","comparison_operator":"≠","value":"12"}`, leave + travel},
		{`{"name":"page","comparison_operator":">","value":3}`, office},
		{`{"name":"page","comparison_operator":"≥","value":3}`, leave + office},
		{`{"name":"page","comparison_operator":"<","value":12}`, leave},
		{`{"name":"page","comparison_operator":"≤","value":12}`, leave + office},
		{`{"name":"indexed_at","comparison_operator":"before","value":"2026-11-23"}`, travel},
		{`{"name":"indexed_at","comparison_operator":"after","value":1795341600}`, leave + office},
		{`{"name":"indexed_at","comparison_operator":"after","value":"2026-11-23T10:00:00Z"}`, ""},
		{`{"name":"year","comparison_operator":"is","value":"2026"}`, ""},
		{`{"name":"year","comparison_operator":"empty"}`, leave + travel + office},
	} {
		w := send(`{"knowledge_id":"default","query":"leave","metadata_condition":{"conditions":[` + c.condition + `]}}`)
		var out struct {
			Records []struct{ Content string }
		}
		if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil || w.Code != http.StatusOK {
			t.Fatalf("%s: %d %s", c.condition, w.Code, w.Body)
		}
		got := ""
		for _, rec := range out.Records {
			got += idOf(rec.Content)
		}
		if got != c.want {
			t.Errorf("%s: records %q, want %q", c.condition, got, c.want)
		}
	}
}

// idOf returns the id of the document with a text.
func idOf(text string) string {
	for _, p := range passages() {
		if p.Chunk.Text == text {
			return p.Document.ID
		}
	}
	return "?"
}

// What a client sends never breaks the handler: the reply is records or an error in the form of Dify.
func FuzzRetrieval(f *testing.F) {
	f.Add(`{"knowledge_id":"default","query":"leave","retrieval_setting":{"top_k":2,"score_threshold":0.5}}`)
	f.Add(`{"knowledge_id":"hr","query":"q","metadata_condition":{"logical_operator":"or","conditions":[{"name":["page"],"comparison_operator":"≥","value":"1e3"}]}}`)
	f.Add(`{"knowledge_id":"hr","query":"q","metadata_condition":{"conditions":[{"name":"indexed_at","comparison_operator":"after","value":1e300}]}}`)
	f.Fuzz(func(t *testing.T, body string) {
		w := send(body)
		var out struct {
			Records []json.RawMessage `json:"records"`
			Code    int               `json:"error_code"`
			Message string            `json:"error_msg"`
		}
		err := json.Unmarshal(w.Body.Bytes(), &out)
		if err != nil || (w.Code == http.StatusOK) != (out.Records != nil) || (w.Code == http.StatusOK) != (out.Message == "") || w.Code >= 500 {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	})
}

// send returns the response to a body.
func send(body string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodPost, "/retrieval", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	handler().ServeHTTP(w, r)
	return w
}

// A condition on a passage beside one on its document, of either kind.
func TestRetrieval_MeetsConditionsOnPassagesAndDocuments(t *testing.T) {
	for conditions, want := range map[string]int{
		`{"name":"title","comparison_operator":"is","value":"Leave"},{"name":"page","comparison_operator":"=","value":3}`:  1,
		`{"name":"title","comparison_operator":"is","value":"Office"},{"name":"page","comparison_operator":"=","value":3}`: 0,
		`{"name":["page","title"],"comparison_operator":"is","value":["12","Travel"]}`:                                     2,
	} {
		r := httptest.NewRequest(http.MethodPost, "/retrieval", strings.NewReader(`{"knowledge_id":"hr","query":"x","metadata_condition":{"conditions":[`+conditions+`]}}`))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		handler().ServeHTTP(w, r)
		var got struct{ Records []struct{ Title string } }
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || len(got.Records) != want {
			t.Errorf("%s: %d %s", conditions, w.Code, w.Body)
		}
	}
}
