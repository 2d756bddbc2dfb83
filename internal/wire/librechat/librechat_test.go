package librechat_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"parley/internal/access"
	"parley/internal/chat"
	"parley/internal/documents"
	"parley/internal/documents/ingest"
	"parley/internal/extract"
	"parley/internal/library/librarytest"
	"parley/internal/retrieval"
	"parley/internal/wire"
	"parley/internal/wire/librechat"
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
	s.protocol = librechat.New(librechat.Config{
		Library: s.Library, Search: s.Corpus.Search, Pages: s.DB.Corpus().Pages, Chunks: s.DB.Corpus().RevisionChunks,
		Extract: librarytest.Reader{}.Extract, MaxUpload: 1 << 16, Temp: t.TempDir(),
	}).Protocol()
	s.http = wiretest.Mount(s.protocol, slog.New(slog.DiscardHandler))
	s.Work()
	return s
}

// distances are replaced in fixtures, because the ranking of passages is not this package's.
var distances = regexp.MustCompile(`\},-?[0-9.e-]+\]`)

// TestFixtures plays every testdata/*.txtar: prose, requests in order, and the exact bytes of the responses.
func TestFixtures(t *testing.T) {
	wiretest.PlayRequests(t, func(t *testing.T) func(string, *http.Request) string {
		s := newSite(t)
		return func(_ string, r *http.Request) string {
			return distances.ReplaceAllString(wiretest.Serve(s.http, r), "},0.5]")
		}
	})
}

func TestFixtures_AreDescribed(t *testing.T) { wiretest.TestDescribed(t, newSite(t).protocol, "") }

func (s *site) send(method, path, user, contentType, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, librechat.Mount+path, strings.NewReader(body))
	r.Header.Set("Content-Type", contentType)
	r.Header.Set("X-Test-User", user)
	w := httptest.NewRecorder()
	s.http.ServeHTTP(w, r)
	return w
}

// embed sends the form that LibreChat makes.
func (s *site) embed(user, id, name, text, entity string) *httptest.ResponseRecorder {
	form := "--b\r\nContent-Disposition: form-data; name=\"file_id\"\r\n\r\n" + id +
		"\r\n--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"" + name + "\"\r\nContent-Type: text/markdown\r\n\r\n" + text
	if entity != "" {
		form += "\r\n--b\r\nContent-Disposition: form-data; name=\"entity_id\"\r\n\r\n" + entity
	}
	return s.send("POST", "/embed", user, "multipart/form-data; boundary=b", form+"\r\n--b--\r\n")
}

func (s *site) query(user, body string) string {
	w := s.send("POST", "/query", user, "application/json", body)
	if w.Code != http.StatusOK {
		s.Errorf("%s: %d %s", body, w.Code, w.Body)
	}
	return w.Body.String()
}

func TestFiles_OfOthersAreLikeWhatIsNotThere(t *testing.T) {
	s := newSite(t)
	if w := s.embed("librechat:ann", "f-1", "plan.md", "The secret plan is to leave.", ""); w.Code != 200 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	const bert = "librechat:bert"
	for _, id := range []string{"f-1", "f-2"} {
		for _, body := range []string{`{"query":"plan","file_id":"` + id + `","k":4}`, `{"query":"plan","file_id":"` + id + `","k":4,"entity_id":"ann"}`} {
			if got := s.query(bert, body); got != "[]\n" {
				t.Errorf("%s: %s", body, got)
			}
		}
		for _, c := range [][3]string{
			{"GET", "/documents?ids=" + id, ""}, {"GET", "/documents/" + id + "/context", ""}, {"DELETE", "/documents", `["` + id + `"]`},
			{"POST", "/query_multiple", `{"query":"plan","file_ids":["` + id + `"]}`},
		} {
			if w := s.send(c[0], c[1], bert, "application/json", c[2]); w.Code != http.StatusNotFound || strings.Contains(w.Body.String(), "leave") {
				t.Errorf("%s: %d %s", c, w.Code, w.Body)
			}
		}
	}
	if w := s.send("GET", "/ids", bert, "", ""); w.Body.String() != "[]\n" {
		t.Errorf("ids: %s", w.Body)
	}
	if got := s.query("librechat:ann", `{"query":"plan","file_id":"f-1"}`); !strings.Contains(got, "secret plan") {
		t.Errorf("the owner's: %s", got)
	}
}

// LibreChat uploads an agent's file for its author, and searches it for the agent's other users.
func TestFiles_OfAnAgentAreSearchedByItsUsersAndDeletedByItsAuthor(t *testing.T) {
	s := newSite(t)
	const ann, bert = "librechat:ann", "librechat:bert"
	if w := s.embed(ann, "f-1", "plan.md", "The plan of the agent.", "agent_x"); w.Code != 200 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	if got := s.query(bert, `{"query":"plan","file_id":"f-1","entity_id":"agent_x"}`); !strings.Contains(got, `"user_id":"agent_x"`) {
		t.Errorf("the agent's user finds %s", got)
	}
	if got := s.query(bert, `{"query":"plan","file_id":"f-1","entity_id":"agent_y"}`); got != "[]\n" {
		t.Errorf("the user of another agent finds %s", got)
	}
	if w := s.embed(bert, "f-1", "trap.md", "A forged plan.", "agent_x"); w.Code != http.StatusConflict {
		t.Errorf("another file with the id: %d %s", w.Code, w.Body)
	}
	if got := s.query(bert, `{"query":"plan","file_id":"f-1","entity_id":"agent_x"}`); !strings.Contains(got, "The plan of the agent") {
		t.Errorf("after a forgery the agent's user finds %s", got)
	}
	if w := s.send("DELETE", "/documents", ann, "application/json", `["f-1"]`); w.Code != 200 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if got := s.query(bert, `{"query":"plan","file_id":"f-1","entity_id":"agent_x"}`); got != "[]\n" {
		t.Errorf("after the deletion the agent's user finds %s", got)
	}
}

func TestEmbed_ReplacesTheFileWithTheSameID(t *testing.T) {
	s := newSite(t)
	for _, text := range []string{"The first version.", "The second version."} {
		if w := s.embed("librechat:ann", "f-1", "plan.md", text, ""); w.Code != 200 {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
	}
	got := s.query("librechat:ann", `{"query":"version","file_id":"f-1"}`)
	if strings.Contains(got, "first") || !strings.Contains(got, "second") {
		t.Error(got)
	}
}

func TestText_LeavesNothingBehind(t *testing.T) {
	s := newSite(t)
	temp := t.TempDir()
	h := wiretest.Mount(librechat.New(librechat.Config{
		Library: s.Library, Temp: temp,
		Extract: func(_ context.Context, r extract.Request) (*extract.Result, error) {
			if _, err := os.Stat(r.Path); err != nil {
				t.Error(err)
			}
			return nil, &extract.Error{Reason: extract.Damaged, Detail: "it is broken"}
		},
	}).Protocol(), slog.New(slog.DiscardHandler))
	r := httptest.NewRequest(http.MethodPost, librechat.Mount+"/text", strings.NewReader("--b\r\nContent-Disposition: form-data; name=\"file_id\"\r\n\r\nf-1"+
		"\r\n--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.pdf\"\r\n\r\nx\r\n--b--\r\n"))
	r.Header.Set("Content-Type", "multipart/form-data; boundary=b")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), `"detail":"Error during text extraction: it is broken"`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
}

// A file with another one inside it has two documents.
func TestContext_HasNoGapWhereItIsTooLong(t *testing.T) {
	s := newSite(t)
	const ann = "librechat:ann"
	if w := s.embed(ann, "f-1", "mail.md", "The mail.", ""); w.Code != 200 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	home, err := s.Library.Home(t.Context(), ann, "librechat")
	if err != nil {
		t.Fatal(err)
	}
	d := retrieval.Document{ID: "inner", Namespace: home.ID, Name: "mail.md/plan.md", SHA256: strings.Repeat("a", 64), Generation: "1"}
	row := retrieval.File{FileKey: retrieval.FileKey{Root: ingest.UploadsRoot(ann), Path: d.Name}, DocumentID: d.ID}
	if err := s.Corpus.Apply(t.Context(), retrieval.Batch{Namespace: home.ID, Put: []retrieval.Put{{Document: d}}, PutFiles: []retrieval.File{row}}); err != nil {
		t.Fatal(err)
	}
	calls := 0
	s.http = wiretest.Mount(librechat.New(librechat.Config{
		Library: s.Library,
		Pages: func(context.Context, int64) ([]retrieval.Page, error) {
			calls++
			return []retrieval.Page{{Text: "Document " + strconv.Itoa(calls)}, {Text: strings.Repeat("x", 8<<20)}}, nil
		},
	}).Protocol(), slog.New(slog.DiscardHandler))
	w := s.send("GET", "/documents/f-1/context", ann, "", "")
	if got, want := w.Body.String(), `"mail.md\nDocument 1"`+"\n"; w.Code != 200 || got != want {
		t.Errorf("%d %.100q, want %q", w.Code, got, want)
	}
}

func TestRemove_NamesTheDeletedFilesInTheAuditLog(t *testing.T) {
	s := newSite(t)
	for _, id := range []string{"f-1", "f-2"} {
		if w := s.embed("librechat:ann", id, id+".md", "The plan.", ""); w.Code != 200 {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
	}
	i := slices.IndexFunc(s.protocol.Routes, func(rt wire.Route) bool { return rt.Pattern == "DELETE "+librechat.Mount+"/documents" })
	r := &wire.Request{
		Request: httptest.NewRequest(http.MethodDelete, "/", nil), Who: access.Principal{Subject: "librechat:ann"}, Body: []byte(`["f-1","unknown","f-2"]`),
	}
	if err := s.protocol.Routes[i].Handle(httptest.NewRecorder(), r); chat.KindOf(err) != chat.NotFound || r.Changed != "f-1, f-2" {
		t.Errorf("changed %q, %v", r.Changed, err)
	}
}

// What a client sends never breaks the handler, and an error has a detail.
func FuzzRequests(f *testing.F) {
	f.Add("/query", `{"query":"plan","file_id":"f-1","k":1e9,"entity_id":5}`)
	f.Add("/query_multiple", `{"query":"plan","file_ids":["f-1","f-1","x"],"k":"3"}`)
	f.Add("/documents", `["../../etc/passwd"]`)
	s := newSite(f)
	s.embed("librechat:ann", "f-1", "plan.md", "The plan.", "")
	f.Fuzz(func(t *testing.T, path, body string) {
		method := "POST"
		if path == "/documents" {
			method = "DELETE"
		} else if path != "/query" {
			path = "/query_multiple"
		}
		w := s.send(method, path, "librechat:ann", "application/json", body)
		var e struct{ Detail string }
		if w.Code >= 500 || w.Code >= 400 && (json.Unmarshal(w.Body.Bytes(), &e) != nil || e.Detail == "") {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	})
}
