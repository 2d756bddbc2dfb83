package filesapi_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/internal/access"
	"parley/internal/documents"
	"parley/internal/ident"
	"parley/internal/retrieval"
)

// The documents of a namespace are listed as the files of a vector store are, and only those that the caller may see.
func TestNamespaces_ListTheirDocumentsAsFiles(t *testing.T) {
	s := newSite(t, documents.Quota{})
	day := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var ids []string
	for i := range 5 {
		ids = append(ids, ident.At(day.AddDate(0, 0, i)))
		put := retrieval.Put{
			Document: retrieval.Document{
				ID: ids[i], Namespace: "default", Name: fmt.Sprintf("rules/%d.md", 9-i), Title: "Rules", SHA256: strings.Repeat("a", 64), Size: 17,
				Access: access.List{Users: []string{"ann"}}, IndexedAt: day.AddDate(1, 0, 0), Generation: "1",
			},
			Pages:  []retrieval.Page{{Text: "Leave is 30 days."}},
			Chunks: []retrieval.Chunk{{Text: "Leave is 30 days.", Spans: []retrieval.Span{{End: 17}}}},
		}
		if i == 2 {
			put.Document.Access.Users = []string{"bob"}
		}
		if err := s.Corpus.Apply(t.Context(), retrieval.Batch{Namespace: "default", Put: []retrieval.Put{put}}); err != nil {
			t.Fatal(err)
		}
	}
	const files = "/v1/vector_stores/default/files"
	for _, c := range []struct {
		query string
		want  []int
		more  bool
	}{
		{"", []int{4, 3, 1, 0}, false},
		{"?limit=2", []int{4, 3}, true},
		{"?limit=2&after=" + ids[3], []int{1, 0}, false},
		{"?order=asc&limit=3", []int{0, 1, 3}, true},
		{"?order=asc&after=" + ids[0] + "&before=" + ids[4], []int{1, 3}, false},
		{"?filter=completed&limit=1", []int{4}, true},
		{"?filter=failed", nil, false},
	} {
		got := s.listed(t, 200, files+c.query, "ann")
		var want []string
		for _, i := range c.want {
			want = append(want, ids[i])
		}
		if !slices.Equal(got.ids(), want) || got.HasMore != c.more {
			t.Errorf("%s: %v, more: %t; want %v", c.query, got.ids(), got.HasMore, want)
		}
	}
	for _, query := range []string{"?limit=0", "?limit=101", "?limit=abc", "?order=up", "?filter=done", "?after=nothing", "?after=" + ids[2], "?before=" + ids[2]} {
		s.listed(t, 400, files+query, "ann")
	}
	if got := s.listed(t, 200, files, "bob"); !slices.Equal(got.ids(), ids[2:3]) {
		t.Errorf("bob sees %v", got.ids())
	}
	s.listed(t, 404, "/v1/vector_stores/finance/files", "ann")

	one := s.send("GET", files+"/"+ids[0], "", "X-Test-User", "ann")
	if want := `{"id":"` + ids[0] + `","object":"vector_store.file","usage_bytes":17,"created_at":1767225600,"vector_store_id":"default","status":"completed",` +
		`"last_error":null,"chunking_strategy":{"type":"other"},"attributes":{},"filename":"9.md"}`; one.Code != 200 || strings.TrimSpace(one.Body.String()) != want {
		t.Errorf("a document: %d %s", one.Code, one.Body)
	}
	if text := s.send("GET", files+"/"+ids[0]+"/content", "", "X-Test-User", "ann"); text.Code != 200 || !strings.Contains(text.Body.String(), "Leave is 30 days.") {
		t.Errorf("its text: %d %s", text.Code, text.Body)
	}
	for _, target := range []string{files + "/" + ids[2], files + "/" + ids[2] + "/content", "/v1/vector_stores/hr/files/" + ids[0]} {
		if got := s.send("GET", target, "", "X-Test-User", "ann"); got.Code != 404 {
			t.Errorf("%s: %d %s", target, got.Code, got.Body)
		}
	}
	const elsewhere, batches = "POST /delete_uploaded", "/v1/vector_stores/default/file_batches"
	for _, c := range []struct {
		method, target, body, user string
		status                     int
	}{
		{"POST", files + "/" + ids[0], `{"attributes":{}}`, "ann", 400},
		{"DELETE", files + "/" + ids[0], "", "ann", 400},
		{"DELETE", files + "/" + ids[0], "", "bob", 404},
		{"DELETE", files + "/nothing", "", "ann", 404},
		{"POST", files, `{"file_id":"file_1"}`, "ann", 400},
		{"POST", "/v1/vector_stores/default", `{"name":"x"}`, "ann", 400},
		{"DELETE", "/v1/vector_stores/default", "", "ann", 400},
		{"DELETE", "/v1/vector_stores/finance", "", "ann", 404},
		{"DELETE", "/v1/files/default", "", "ann", 404},
		{"POST", batches, `{"file_ids":["file_1"]}`, "ann", 400},
		{"GET", batches + "/batch_1", "", "ann", 404},
		{"GET", batches + "/batch_1/files", "", "ann", 404},
		{"POST", batches + "/batch_1/cancel", "", "ann", 404},
	} {
		got := s.send(c.method, c.target, c.body, "X-Test-User", c.user)
		if got.Code != c.status || strings.Contains(got.Body.String(), elsewhere) != (c.status == 400) {
			t.Errorf("%s %s for %s: %d %s", c.method, c.target, c.user, got.Code, got.Body)
		}
	}
}

// fileList is a page of files in a response.
type fileList struct {
	Data    []struct{ ID string }
	FirstID *string `json:"first_id"`
	LastID  *string `json:"last_id"`
	HasMore bool    `json:"has_more"`
}

func (l fileList) ids() (all []string) {
	for _, f := range l.Data {
		all = append(all, f.ID)
	}
	return all
}

func (s *site) listed(t *testing.T, status int, target, user string) (got fileList) {
	t.Helper()
	w := s.send("GET", target, "", "X-Test-User", user)
	if w.Code != status || json.Unmarshal(w.Body.Bytes(), &got) != nil {
		t.Errorf("%s for %s: %d %s, want %d", target, user, w.Code, w.Body, status)
	}
	if all := got.ids(); len(all) > 0 && (*got.FirstID != all[0] || *got.LastID != all[len(all)-1]) {
		t.Errorf("%s: the ends of the page are %s and %s", target, *got.FirstID, *got.LastID)
	}
	return got
}
