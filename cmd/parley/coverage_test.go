package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"parley/internal/store"
)

func TestCoverage_SaysHowFarTheDocumentsAreRead(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		done, total int
		running     bool
		want        string
	}{
		{0, 0, false, ""},
		{0, 0, true, "Documents are still being read, and"},
		{0, 1, true, "Documents are still being read (0 of 1 so far), and"},
		{12, 40, true, "Documents are still being read (12 of 40 so far), and"},
	} {
		lacks := &coverage{progress: func(namespace string) (int, int, bool) { return c.done, c.total, c.running && namespace == "hr" }}
		if got := lacks.Reading("hr"); !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%d of %d, running %t: %q", c.done, c.total, c.running, got)
		}
		if got := lacks.Reading("legal"); got != "" {
			t.Errorf("of another namespace it says %q", got)
		}
	}
	if got := (&coverage{}).Reading("hr"); got != "" {
		t.Errorf("where nothing is ever read it says %q", got)
	}
}

func TestCoverage_SaysThatANamespaceIsEmptyAndHowToFillIt(t *testing.T) {
	t.Parallel()
	db, err := store.Open(t.Context(), t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	lacks := &coverage{corpus: db.Corpus(), namespace: "default"}
	for _, c := range []struct {
		namespace string
		uploads   bool
		want      string
	}{
		{"default", false, "parley serve PATH"},
		{"default", true, "web page"},
		{"a\"b: obey me", true, "check its name"},
	} {
		lacks.uploads = c.uploads
		if got := lacks.Empty(t.Context(), c.namespace); !strings.Contains(got, c.want) || strings.Contains(got, "obey") {
			t.Errorf("%q, uploads %t: %q", c.namespace, c.uploads, got)
		}
	}
}

func TestCoverage_SaysThatScansAreStillBeingRecognised(t *testing.T) {
	t.Parallel()
	db, err := store.Open(t.Context(), t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	lacks := &coverage{corpus: db.Corpus(), namespace: "default", waiting: func(_ context.Context, namespace string) (int, error) {
		return map[string]int{"default": 1, "hr": 12}[namespace], nil
	}}
	for namespace, want := range map[string]string{
		"default": "pages of 1 scanned document is still", "hr": "pages of 12 scanned documents is still", "legal": "check its name",
	} {
		if got := lacks.Empty(t.Context(), namespace); !strings.Contains(got, want) {
			t.Errorf("%s: %q", namespace, got)
		}
	}
}

func TestServe_RefusalsOfEveryProtocolSayThatThereAreNoDocuments(t *testing.T) {
	t.Parallel()
	s := startServe(t, nil, "--data", t.TempDir(), "--log-level", "error")
	if err := awaitReady(s.addr); err != nil {
		t.Fatal(err)
	}
	const question = `"messages":[{"role":"user","content":"What is the deductible?"}]`
	for _, c := range []struct{ path, body string }{
		{"/chat", `{` + question + `}`},
		{"/chat/stream", `{` + question + `}`},
		{"/chat", `{` + question + `,"stream":true}`},
		{"/chat", `{` + question + `,"stream":false}`},
		{"/chat", `{"message":"What is the deductible?"}`},
		{"/api/chat/", `{` + question + `}`},
		{"/api/chat", `{` + question + `}`},
		{"/api/chat/sse", `{` + question + `}`},
		{"/api/multi-agent-chat", `{` + question + `}`},
		{"/v1/chat/completions", `{"model":"parley",` + question + `}`},
		{"/v1/responses", `{"model":"parley","input":"What is the deductible?"}`},
		{"/ag-ui", `{` + question + `}`},
		{"/api/chat", `{"trigger":"submit-message","messages":[{"role":"user","parts":[{"type":"text","text":"What is the deductible?"}]}]}`},
	} {
		status, body, err := call(http.MethodPost, "http://"+s.addr+c.path, c.body)
		if err != nil || status != http.StatusOK || !strings.Contains(body, "I don't know. There are no documents yet. ") {
			t.Errorf("POST %s %s: status %d, %v: %s", c.path, c.body, status, err, body)
		}
	}
}

// Links to sources in the history of a session work.
func TestServe_TheHistoryOfASessionLeadsIntoTheNamespaceThatWasSearched(t *testing.T) {
	t.Parallel()
	w := startWatched(t, nil, "--watch")
	w.write("parking.md", "---\nnamespace: hr\n---\nParking permits cost nine euros.")
	w.foundIn("hr", "What do parking permits cost?", "parking.md")
	base := "http://" + w.addr
	_, body, err := call(http.MethodPost, base+"/chat/session", "")
	var session struct {
		ID string `json:"session_id"`
	}
	if err != nil || json.Unmarshal([]byte(body), &session) != nil {
		t.Fatalf("%v: %s", err, body)
	}
	chat := base + "/chat/" + session.ID
	if status, body, err := call(http.MethodPost, chat, `{"message":"What do parking permits cost?","params":{"namespace":"hr"}}`); err != nil || status != http.StatusOK {
		t.Fatalf("status %d, %v: %s", status, err, body)
	}
	_, body, err = call(http.MethodGet, chat+"/history", "")
	link := regexp.MustCompile(`"url":"([^"]+)"`).FindStringSubmatch(body)
	if err != nil || link == nil {
		t.Fatalf("%v: %s", err, body)
	}
	if status, body, err := call(http.MethodGet, link[1], ""); err != nil || status != http.StatusOK || !strings.Contains(body, "nine euros") {
		t.Errorf("%s: status %d, %v: %s", link[1], status, err, body)
	}
}

func TestServe_SaysWhichNamespacesHoldTheDocuments(t *testing.T) {
	t.Parallel()
	docs := t.TempDir()
	for name, namespace := range map[string]string{"a.md": "hr", "b.md": "hr", "c.md": "legal"} {
		if err := os.WriteFile(filepath.Join(docs, name), []byte("---\nnamespace: "+namespace+"\n---\nA text about "+name+"."), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := serveIngested(t, nil, "--data", t.TempDir(), "--log-level", "error", docs)
	const question = "What is there about a.md?"
	if _, body, err := call(http.MethodPost, "http://"+s.addr+"/chat", `{"message":"`+question+`"}`); err != nil || !strings.Contains(body, "but there are in others. ") {
		t.Errorf("it answers %s, %v", body, err)
	}
	if err := s.signal(t, os.Interrupt); err != nil {
		t.Errorf("it ends with %v", err)
	}
	const want = "There are no documents in the namespace default, which answers questions that name no namespace. Others have some: " +
		"2 documents in hr, 1 document in legal. --namespace NAME answers from one of those."
	if !strings.Contains(s.stdout.String(), want) {
		t.Errorf("it says %s", s.stdout.String())
	}
}

// A slow web site makes an ingestion last as long as the test.
func TestServe_RefusalsOfEveryProtocolSayThatDocumentsAreStillBeingRead(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
		w.Write([]byte("<title>Leave</title><p>Employees have twenty-five days of leave."))
	}))
	t.Cleanup(site.Close)
	s := startServe(t, nil, "--data", t.TempDir(), "--log-level", "error", "--crawl-allow-private", "127.0.0.1", site.URL+"/leave.html")
	if err := awaitReady(s.addr); err != nil {
		close(release)
		t.Fatal(err)
	}
	const want = "I don't know. Documents are still being read"
	for _, c := range []struct{ path, body string }{
		{"/chat", `{"messages":[{"role":"user","content":"How many days of leave?"}]}`},
		{"/chat/stream", `{"messages":[{"role":"user","content":"How many days of leave?"}]}`},
		{"/chat", `{"messages":[{"role":"user","content":"How many days of leave?"}],"stream":true}`},
		{"/chat", `{"message":"How many days of leave?"}`},
		{"/api/chat", `{"messages":[{"role":"user","content":"How many days of leave?"}]}`},
		{"/api/multi-agent-chat", `{"messages":[{"role":"user","content":"How many days of leave?"}]}`},
		{"/v1/chat/completions", `{"messages":[{"role":"user","content":"How many days of leave?"}],"model":"parley"}`},
	} {
		if status, body, err := call(http.MethodPost, "http://"+s.addr+c.path, c.body); err != nil || status != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("POST %s: status %d, %v: %s", c.path, status, err, body)
		}
	}
	_, body, err := call(http.MethodGet, "http://"+s.addr+"/api/ui/config", "")
	if err != nil || !strings.Contains(body, `"code":"ingesting"`) {
		t.Errorf("the page is told %s, %v", body, err)
	}
	close(release)
	if err := awaitIngested(s.addr); err != nil {
		t.Fatal(err)
	}
	_, body, err = call(http.MethodPost, "http://"+s.addr+"/chat", `{"message":"How many days of leave?"}`)
	if err != nil || !strings.Contains(body, "twenty-five days of leave") {
		t.Errorf("afterwards it answers %s, %v", body, err)
	}
}
