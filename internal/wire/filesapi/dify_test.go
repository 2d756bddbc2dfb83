package filesapi_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"parley/internal/access"
	"parley/internal/documents"
	"parley/internal/wire/dify"
	"parley/internal/wire/wiretest"
)

// A vector store is a knowledge base of Dify, whose conditions name the attributes of its files.
func TestStore_IsAKnowledgeBaseOfDify(t *testing.T) {
	s := newSite(t, documents.Quota{})
	var store, file struct{ ID string }
	if err := json.Unmarshal(s.send("POST", "/v1/vector_stores", `{"name":"x"}`).Body.Bytes(), &store); err != nil {
		t.Fatal(err)
	}
	for _, year := range []string{"2025", "2026"} {
		form := "--b\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\nassistants\r\n--b\r\n" +
			"Content-Disposition: form-data; name=\"file\"; filename=\"leave-" + year + ".md\"\r\n\r\nLeave in the year " + year + ".\r\n--b--\r\n"
		if err := json.Unmarshal(s.send("POST", "/v1/files", form, "Content-Type", "multipart/form-data; boundary=b").Body.Bytes(), &file); err != nil {
			t.Fatal(err)
		}
		if w := s.send("POST", "/v1/vector_stores/"+store.ID+"/files", `{"file_id":"`+file.ID+`","attributes":{"year":`+year+`,"path":"forged"}}`); w.Code != 200 {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
	}
	s.Settle()
	h := wiretest.Mount(dify.New(dify.Config{Search: s.Searcher().Search, Library: s.Library, Namespaces: func(ctx context.Context, who access.Principal) ([]string, error) {
		return s.Library.Visible(ctx, who.Subject, []string{store.ID})
	}}).Protocol(), slog.New(slog.DiscardHandler))
	ask := func(user, condition string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodPost, "/retrieval", strings.NewReader(`{"knowledge_id":"`+store.ID+`","query":"leave","retrieval_setting":{"top_k":1},`+
			`"metadata_condition":{"logical_operator":"`+condition+`}}`))
		r.Header.Set("X-Test-User", user)
		h.ServeHTTP(w, r)
		return w
	}
	for condition, want := range map[string]string{
		`and","conditions":[{"name":"year","comparison_operator":"=","value":2025}]`:                                                                   "leave-2025.md",
		`and","conditions":[{"name":"year","comparison_operator":">","value":2025}]`:                                                                   "leave-2026.md",
		`or","conditions":[{"name":"year","comparison_operator":"=","value":2026},{"name":"path","comparison_operator":"is","value":"nothing.md"}]`:    "leave-2026.md",
		`and","conditions":[{"name":"year","comparison_operator":"≥","value":2025},{"name":"path","comparison_operator":"contains","value":"-2025."}]`: "leave-2025.md",
	} {
		if w := ask("", condition); w.Code != 200 || !strings.Contains(w.Body.String(), `"path":"`+want+`"`) || strings.Count(w.Body.String(), `"content"`) != 1 {
			t.Errorf("%s: %d %s", condition, w.Code, w.Body)
		}
	}
	if w := ask("", `and","conditions":[{"name":"year","comparison_operator":"=","value":1999}]`); w.Code != 200 || w.Body.String() != `{"records":[]}`+"\n" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := ask("somebody", `and"`); w.Code != 404 || !strings.Contains(w.Body.String(), `"error_code":2001`) {
		t.Errorf("the store of somebody else: %d %s", w.Code, w.Body)
	}
}
