package filesapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/internal/access"
	"parley/internal/attribute"
	"parley/internal/documents"
	"parley/internal/ident"
	"parley/internal/retrieval"
	"parley/internal/wire"
)

const formType = "multipart/form-data; boundary=b"

func formOf(name, content string) string {
	return "--b\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\nassistants\r\n" +
		"--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"" + name + "\"\r\n\r\n" + content + "\r\n--b--\r\n"
}

// object has the members of replies that the tests check.
type object struct {
	ID         string
	Status     string
	FileCounts struct{ InProgress, Completed, Failed, Total int } `json:"file_counts"`
	Data       []struct {
		ID         string
		FileID     string `json:"file_id"`
		Filename   string
		Page       int
		Attributes json.RawMessage
	}
	Error struct{ Message, Type, Code string }
}

// do makes a request and checks the status of the reply.
func (s *site) do(status int, method, target, body string, headers ...string) (o object) {
	s.Helper()
	w := s.send(method, target, body, headers...)
	if w.Code != status {
		s.Fatalf("%s %s: %d %s, want %d", method, target, w.Code, w.Body, status)
	}
	if err := json.Unmarshal(w.Body.Bytes(), &o); err != nil {
		s.Fatal(err)
	}
	return o
}

func (s *site) upload(name, content string) string {
	s.Helper()
	return s.do(200, "POST", "/v1/files", formOf(name, content), "Content-Type", formType).ID
}

// kept counts the files in the folder of kept files.
func (s *site) kept() int {
	s.Helper()
	entries, err := os.ReadDir(filepath.Join(s.Data, "uploads", "kept", "shared"))
	if err != nil && !os.IsNotExist(err) {
		s.Fatal(err)
	}
	return len(entries)
}

func TestUpload_KeepsNothingOfWhatIsNotWhole(t *testing.T) {
	whole := formOf("a.md", strings.Repeat("x", 50))
	s := newSite(t, documents.Quota{})
	for cut := range len(whole) - 2 { // the last line end may be missing
		w := s.send("POST", "/v1/files", whole[:cut], "Content-Type", formType)
		if w.Code != http.StatusBadRequest {
			t.Fatalf("%d bytes of %d: %d %s", cut, len(whole), w.Code, w.Body)
		}
	}
	w := s.send("POST", "/v1/files", formOf("a.md", strings.Repeat("x", 1<<16)), "Content-Type", formType)
	if w.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("too large: %d %s", w.Code, w.Body)
	}
	if got := s.do(200, "GET", "/v1/files", ""); len(got.Data) > 0 || s.kept() > 0 {
		t.Errorf("%d files, %d kept", len(got.Data), s.kept())
	}
}

func TestUpload_CountsTowardsTheQuota(t *testing.T) {
	s := newSite(t, documents.Quota{Owner: 1500, All: 1 << 20})
	first := s.upload("a.md", strings.Repeat("x", 1000))
	got := s.do(507, "POST", "/v1/files", formOf("b.md", strings.Repeat("x", 600)), "Content-Type", formType)
	if got.Error.Code != "quota_exceeded" || s.kept() != 1 {
		t.Errorf("%+v, %d kept", got.Error, s.kept())
	}
	// A file in a store is stored a second time.
	s.do(507, "POST", "/v1/vector_stores", `{"file_ids":["`+first+`"]}`)
	if got := s.do(200, "GET", "/v1/vector_stores", ""); len(got.Data) > 0 {
		t.Errorf("a store without its file is left: %+v", got)
	}
	s.do(200, "DELETE", "/v1/files/"+first, "")
	s.upload("b.md", strings.Repeat("x", 600))
}

func TestCreateStore_NamesTheStoreInTheAuditLog(t *testing.T) {
	s := newSite(t, documents.Quota{})
	i := slices.IndexFunc(s.protocol.Routes, func(rt wire.Route) bool { return rt.Pattern == "POST /v1/vector_stores" })
	r, w := &wire.Request{Request: httptest.NewRequest(http.MethodPost, "/", nil), Body: []byte(`{}`)}, httptest.NewRecorder()
	if err := s.protocol.Routes[i].Handle(w, r); err != nil || r.Changed == "" || !strings.Contains(w.Body.String(), r.Changed) {
		t.Errorf("changed %q, %v: %s", r.Changed, err, w.Body)
	}
}

// The rules of R13 for bodies hold for every route with a body.
func TestRoutes_RefuseHostileBodies(t *testing.T) {
	s := newSite(t, documents.Quota{})
	store := s.do(200, "POST", "/v1/vector_stores", `{}`).ID
	deep := strings.Repeat(`{"a":`, 10_000)
	bodies := map[string]string{
		"not JSON": `{`, "a list": `[]`, "deep": deep, "NaN": `{"query":NaN}`, "twice": `{"name":"a","name":"b"}`,
		"not UTF-8": "{\"name\":\"\xff\"}", "behind it": `{} {}`, "half a surrogate": `{"name":"\ud800`,
	}
	for _, rt := range s.protocol.Routes {
		method, path, _ := strings.Cut(rt.Pattern, " ")
		if method != "POST" || path == "/v1/files" || strings.HasPrefix(path, "/v1/files/") || strings.Contains(path, "/parts") || strings.HasSuffix(path, "/cancel") || strings.HasSuffix(path, "/cancel/{$}") {
			continue
		}
		path = strings.NewReplacer("{id}", store, "{$}", "").Replace(path)
		for name, body := range bodies {
			if got := s.do(400, method, path, body, "Content-Type", "application/json"); got.Error.Type != "invalid_request_error" || got.Error.Message == "" {
				t.Errorf("%s, %s: %+v", path, name, got.Error)
			}
		}
		s.do(413, method, path, `{"query":"`+strings.Repeat("x", 1<<20)+`"}`)
		s.do(415, method, path, `query`, "Content-Type", "text/plain")
	}
}

func TestAttach_GivesEachFileANameOfItsOwnWhoeverComesAtOnce(t *testing.T) {
	s := newSite(t, documents.Quota{})
	store := s.do(200, "POST", "/v1/vector_stores", `{}`).ID
	var files []string
	for i := range 8 {
		files = append(files, s.upload("Leave.md", fmt.Sprintf("Group %d has %d days of leave.", i, 20+i)))
	}
	var wg sync.WaitGroup
	for _, file := range files {
		wg.Go(func() {
			if w := s.send("POST", "/v1/vector_stores/"+store+"/files", `{"file_id":"`+file+`"}`); w.Code != 200 {
				t.Errorf("%d %s", w.Code, w.Body)
			}
			s.send("GET", "/v1/vector_stores/"+store, "")
		})
	}
	wg.Wait()
	s.Settle()
	if got := s.do(200, "GET", "/v1/vector_stores/"+store, ""); got.FileCounts.Completed != 8 {
		t.Errorf("%+v", got)
	}
	found := map[string]bool{}
	for _, hit := range s.do(200, "POST", "/v1/vector_stores/"+store+"/search", `{"query":"days of leave","max_num_results":50}`).Data {
		found[hit.FileID] = true
	}
	if len(found) != 8 {
		t.Errorf("%d files are found", len(found))
	}
}

// A filter restricts the search before the best passages are chosen.
func TestSearch_FindsWhatAFilterLeavesHoweverMuchElseFitsBetter(t *testing.T) {
	s := newSite(t, documents.Quota{})
	var files []string
	for i := range 60 {
		files = append(files, fmt.Sprintf(`{"file_id":%q,"attributes":{"n":%d}}`, s.upload("a.md", "leave leave leave days of leave"), i))
	}
	last := s.upload("b.md", "Something long that speaks of many things, and of leave only once.")
	files = append(files, fmt.Sprintf(`{"file_id":%q,"attributes":{"n":1000}}`, last))
	store := s.do(200, "POST", "/v1/vector_stores", `{}`).ID
	s.do(200, "POST", "/v1/vector_stores/"+store+"/file_batches", `{"files":[`+strings.Join(files, ",")+`]}`)
	s.Settle()
	got := s.do(200, "POST", "/v1/vector_stores/"+store+"/search", `{"query":"days of leave","max_num_results":1,"filters":{"type":"gt","key":"n","value":999}}`)
	if len(got.Data) != 1 || got.Data[0].FileID != last {
		t.Errorf("%+v, want %s", got.Data, last)
	}
	// So does every protocol that names the store as a namespace.
	for subject, want := range map[string]int{"": 1, "bob": 0} {
		found, err := s.Searcher().Search(t.Context(), retrieval.Query{Text: "days of leave", Limit: 5, Filter: retrieval.Filter{
			Principal: access.Principal{Subject: subject}, Namespace: store, Where: attribute.Compare("gt", "n", 999.0)}})
		if err != nil || len(found.Passages) != want || want == 1 && found.Passages[0].Document.Name != "b.md" {
			t.Errorf("%q: %+v, %v", subject, found.Passages, err)
		}
	}
}

func TestSearch_NamesThePageOfWhatFitsBest(t *testing.T) {
	s := newSite(t, documents.Quota{})
	file := s.upload("a.txt", "Welcome to the handbook.\fThe canteen opens at noon.\fEmployees have thirty days of leave.")
	store := s.do(200, "POST", "/v1/vector_stores", `{"file_ids":["`+file+`"]}`).ID
	s.Settle()
	got := s.do(200, "POST", "/v1/vector_stores/"+store+"/search", `{"query":"How many days of leave do employees have?"}`)
	if len(got.Data) != 1 || got.Data[0].Page != 3 {
		t.Errorf("%+v", got.Data)
	}
}

// What file_search takes as a vector store can be searched by itself as well.
func TestSearch_TakesNamespacesWithoutFiles(t *testing.T) {
	s := newSite(t, documents.Quota{})
	for _, namespace := range []string{"default", "hr"} {
		put := retrieval.Put{
			Document: retrieval.Document{
				ID: ident.New(), Namespace: namespace, Name: "rules/leave.md", Title: "Leave", SHA256: strings.Repeat("a", 64), Size: 17,
				Access: access.List{Users: []string{"ann"}}, IndexedAt: time.Now().UTC().Truncate(time.Microsecond), Generation: "1",
				Attributes: json.RawMessage(`{"tags":["leave","rules"],"year":2026}`),
			},
			Pages:  []retrieval.Page{{Text: "Leave is 30 days."}},
			Chunks: []retrieval.Chunk{{Text: "Leave is 30 days.", Spans: []retrieval.Span{{End: 17}}}},
		}
		if err := s.Corpus.Apply(t.Context(), retrieval.Batch{Namespace: namespace, Put: []retrieval.Put{put}}); err != nil {
			t.Fatal(err)
		}
	}
	find := func(status int, namespace, user, filters string) object {
		return s.do(status, "POST", "/v1/vector_stores/"+namespace+"/search", `{"query":"leave"`+filters+`}`, "X-Test-User", user)
	}
	for _, namespace := range []string{"default", "hr"} {
		if got := find(200, namespace, "ann", ""); len(got.Data) != 1 || got.Data[0].Filename != "leave.md" {
			t.Errorf("%s: %+v", namespace, got)
		}
		if got := find(200, namespace, "bob", ""); len(got.Data) != 0 {
			t.Errorf("%s finds for somebody else: %+v", namespace, got)
		}
	}
	for _, c := range []struct {
		namespace, user string
		status, files   int
	}{{"default", "ann", 200, 1}, {"hr", "ann", 200, 1}, {"hr", "bob", 200, 0}, {"finance", "ann", 404, 0}} {
		w := s.send("GET", "/v1/vector_stores/"+c.namespace, "", "X-Test-User", c.user)
		var got struct {
			ID, Object, Status string
			Usage              int64                          `json:"usage_bytes"`
			Counts             struct{ Completed, Total int } `json:"file_counts"`
		}
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != c.status {
			t.Errorf("%s for %s: %v, %d %s", c.namespace, c.user, err, w.Code, w.Body)
		}
		if c.status == 200 && (got.ID != c.namespace || got.Object != "vector_store" || got.Status != "completed" ||
			got.Counts.Completed != c.files || got.Counts.Total != c.files || got.Usage != int64(17*c.files)) {
			t.Errorf("%s for %s: %s", c.namespace, c.user, w.Body)
		}
	}
	find(404, "finance", "ann", "")
	for filter, files := range map[string]int{
		`{"type":"eq","key":"year","value":2026}`: 1, `{"type":"gt","key":"year","value":2026}`: 0, `{"type":"in","key":"tags","value":["leave"]}`: 1,
		`{"type":"eq","key":"path","value":"rules/leave.md"}`: 1, `{"type":"eq","key":"path","value":"leave.md"}`: 0,
	} {
		got := find(200, "hr", "ann", `,"filters":`+filter)
		if len(got.Data) != files || files == 1 && string(got.Data[0].Attributes) != `{"tags":"leave, rules","year":2026}` {
			t.Errorf("%s finds %+v", filter, got.Data)
		}
		if got := find(200, "hr", "bob", `,"filters":`+filter); len(got.Data) != 0 {
			t.Errorf("%s finds for somebody else: %+v", filter, got)
		}
	}
	find(400, "hr", "ann", `,"filters":{"type":"eq","key":"year"}`)
}
