package openwebui_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"parley/internal/documents"
	"parley/internal/library/librarytest"
	"parley/internal/wire"
	"parley/internal/wire/openwebui"
	"parley/internal/wire/wiretest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// site is a Handler with a data folder, which reads files at once.
type site struct {
	*librarytest.Site
	protocol wire.Protocol
	http     http.Handler
}

func newSite(t testing.TB) *site {
	t.Helper()
	s := &site{Site: librarytest.New(t, documents.Quota{}, wiretest.IDs())}
	s.protocol = openwebui.New(openwebui.Config{Library: s.Library, MaxUpload: 1 << 16}).Protocol()
	s.http = wiretest.Mount(s.protocol, slog.New(slog.DiscardHandler))
	s.Work()
	return s
}

// TestFixtures plays every testdata/*.txtar: prose, requests in order, and the exact bytes of the responses.
func TestFixtures(t *testing.T) {
	wiretest.PlayRequests(t, func(t *testing.T) func(string, *http.Request) string {
		s := newSite(t)
		return func(_ string, r *http.Request) string { return wiretest.Serve(s.http, r) }
	})
}

func TestFixtures_AreDescribed(t *testing.T) { wiretest.TestDescribed(t, newSite(t).protocol, "") }

func (s *site) send(path, user, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	if strings.HasPrefix(body, "--b") {
		r.Header.Set("Content-Type", "multipart/form-data; boundary=b")
	}
	r.Header.Set("X-Test-User", user)
	w := httptest.NewRecorder()
	s.http.ServeHTTP(w, r)
	return w
}

func (s *site) make(user string) (id string) {
	s.Helper()
	var k struct{ ID string }
	if w := s.send("/api/v1/knowledge/create", user, `{"name":"x"}`); json.Unmarshal(w.Body.Bytes(), &k) != nil || k.ID == "" {
		s.Fatalf("%d %s", w.Code, w.Body)
	}
	return k.ID
}

func formOf(id, directory, name, hash, text string) string {
	return "--b\r\nContent-Disposition: form-data; name=\"metadata\"\r\n\r\n" + `{"knowledge_id":"` + id + `","file_hash":"` + hash + `","directory_id":"` + directory + `"}` +
		"\r\n--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"" + name + "\"\r\n\r\n" + text + "\r\n--b--\r\n"
}

func TestKnowledge_OfOthersIsLikeWhatIsNotThere(t *testing.T) {
	s := newSite(t)
	id := s.make("ann")
	for _, id := range []string{id, "vs_none"} {
		for path, body := range map[string]string{
			"/api/v1/knowledge/" + id + "/sync/diff": `{"manifest":[]}`, "/api/v1/knowledge/" + id + "/sync/cleanup": `{"file_ids":[]}`,
			"/api/v1/knowledge/" + id + "/dirs/create": `{"name":"x"}`, "/api/v1/knowledge/" + id + "/reset": "",
			"/api/v1/files/": formOf(id, "", "a.md", "1", "Text."),
		} {
			if w := s.send(path, "bert", body); w.Code != http.StatusNotFound {
				t.Errorf("%s: %d %s", path, w.Code, w.Body)
			}
		}
	}
}

// A file that was added by other means, or is in another knowledge base, is never deleted by a cleanup.
func TestCleanup_DeletesFilesOfTheKnowledgeBaseOnly(t *testing.T) {
	s := newSite(t)
	one, two := s.make("ann"), s.make("ann")
	var f struct{ ID string }
	if w := s.send("/api/v1/files/", "ann", formOf(two, "", "a.md", "1", "Text.")); json.Unmarshal(w.Body.Bytes(), &f) != nil || f.ID == "" {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	if w := s.send("/api/v1/knowledge/"+one+"/sync/cleanup", "ann", `{"file_ids":["`+f.ID+`"]}`); w.Code != http.StatusOK {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	const manifest = `{"manifest":[{"filename":"a.md","path":"","checksum":"1","size":5}]}`
	if w := s.send("/api/v1/knowledge/"+two+"/sync/diff", "ann", manifest); !strings.Contains(w.Body.String(), `"unmodified_count":1`) {
		t.Errorf("the file is gone: %s", w.Body)
	}
}

// What a client sends never breaks the handler, and an error has a detail.
func FuzzSync(f *testing.F) {
	f.Add("diff", `{"manifest":[{"filename":"a","path":"b/c","checksum":"1"},{"filename":"..","path":"../x","checksum":""}]}`)
	f.Add("cleanup", `{"file_ids":["../x",5],"dir_ids":null}`)
	f.Add("dirs", `{"name":"x","parent_id":"dir-Li4"}`)
	s := newSite(f)
	id := s.make("ann")
	f.Fuzz(func(t *testing.T, route, body string) {
		path := map[string]string{"diff": "/sync/diff", "cleanup": "/sync/cleanup"}[route]
		if path == "" {
			path = "/dirs/create"
		}
		w := s.send("/api/v1/knowledge/"+id+path, "ann", body)
		var e struct{ Detail string }
		if w.Code >= 500 || w.Code >= 400 && (json.Unmarshal(w.Body.Bytes(), &e) != nil || e.Detail == "") {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	})
}
