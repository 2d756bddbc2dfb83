package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/test/needs"
)

// seenInBrowser is the report of the page test/browser/page.html.
type seenInBrowser struct {
	Origin  string
	Shown   map[string]string // the answer found by each way of reading a reply
	History json.RawMessage
	Refusal json.RawMessage
}

// findBrowser returns the path of Chromium, or skips the test if it is not installed.
func findBrowser(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	needs.Missing(t, "Chromium: apt-get install chromium")
	return ""
}

// browsers has a place for each browser that may run at the same time: one browser can keep a processor busy.
var browsers = make(chan struct{}, runtime.GOMAXPROCS(0))

// reserveBrowser waits until another browser may start. Call done when it has ended.
func reserveBrowser() (done func()) {
	browsers <- struct{}{}
	return func() { <-browsers }
}

// browse opens page.html of a folder in Chromium, from its own origin, and reads its report into seen. The browser talks
// to the server directly, because the browser decides what a page may read.
func browse(t *testing.T, browser, dir string, query url.Values, seen any) {
	t.Helper()
	results := make(chan []byte, 1)
	mux := http.NewServeMux()
	mux.Handle("GET /", http.FileServer(http.Dir(dir)))
	mux.HandleFunc("POST /result", func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		results <- body
	})
	origin := httptest.NewServer(mux)
	defer origin.Close()
	profile, err := os.MkdirTemp("", "parley-browser-") //nolint:usetesting // children of the browser may still write to it when the test ends
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(profile) // best effort: children of the browser may still write to it
	defer reserveBrowser()()
	var stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
		"--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
		"--user-data-dir="+profile, origin.URL+"/page.html?"+query.Encode())
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	}()
	select {
	case body := <-results:
		if err := json.Unmarshal(body, seen); err != nil {
			t.Fatalf("read %s: %v", body, err)
		}
	case <-time.After(2 * time.Minute):
		t.Fatalf("the page sent nothing: %s", stderr.String())
	}
}

// Five generations of the Chat UI client read five kinds of replies from another origin, and find
// the same answer.
func TestBrowser_EveryClientOfTheChatUIShowsTheSameAnswer(t *testing.T) {
	needs.Long(t)
	t.Parallel()
	browser := findBrowser(t)
	docs := t.TempDir()
	const text = "# The lighthouse\n\nThe lighthouse of Skagen is 46 metres tall.\n"
	if err := os.WriteFile(filepath.Join(docs, "lighthouse.md"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p := serveIngested(t, nil, docs)
	const question = "How tall is the lighthouse of Skagen?"
	var seen seenInBrowser
	browse(t, browser, "../../test/browser", url.Values{"api": {"http://" + p.addr}, "question": {question}}, &seen)
	if len(seen.Shown) != 12 || strings.HasSuffix(seen.Origin, p.addr) {
		t.Errorf("the page of %s shows %d answers", seen.Origin, len(seen.Shown))
	}
	for name, answer := range seen.Shown {
		if want := "The lighthouse of Skagen is 46 metres tall. [lighthouse.md]"; answer != want {
			t.Errorf("%s: %q, want %q", name, answer, want)
		}
	}
	const history = `{"title":"How tall is the lighthouse of Skagen?","lastMessage":"Yes.",` +
		`"contents":["How tall is the lighthouse of Skagen?","Yes."],"deleted":true}`
	if diff := cmp.Diff(history, string(seen.History)); diff != "" {
		t.Errorf("the history (-want +got)\n%s", diff)
	}
	const refusal = `{"status":400,"failed":"failed",` +
		`"sentence":"\"messages\" must be a list of messages, each with \"role\" and \"content\"","same":true}`
	if diff := cmp.Diff(refusal, string(seen.Refusal)); diff != "" {
		t.Errorf("the refusal (-want +got)\n%s", diff)
	}
	if err := p.signal(t, os.Interrupt); err != nil {
		t.Errorf("the server ended with %v", err)
	}
}
