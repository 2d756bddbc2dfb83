package wiretest

import (
	"bytes"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write what the handlers answer into the fixtures")

// minComment is the minimum length, in bytes, of the prose at the beginning of a fixture.
const minComment = 40

// Fixture is one testdata/*.txtar: prose, requests, and the expected results.
type Fixture struct {
	Path string

	archive *txtar.Archive
	read    map[string]bool // names of the files that the test has asked for
}

// Fixtures returns all fixtures of a package. It fails the test if one has no prose.
func Fixtures(t *testing.T) []Fixture {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no fixtures: %v", err)
	}
	all := make([]Fixture, len(paths))
	for i, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if len(bytes.TrimSpace(archive.Comment)) < minComment {
			t.Errorf("%s does not say what it shows", path)
		}
		all[i] = Fixture{Path: path, archive: archive, read: map[string]bool{}}
	}
	return all
}

// Names returns the names of the files, in order.
func (f Fixture) Names() []string {
	names := make([]string, len(f.archive.Files))
	for i, file := range f.archive.Files {
		names[i] = file.Name
	}
	return names
}

// Text returns the content of a file, or "" if there is none with that name.
func (f Fixture) Text(name string) string {
	f.read[name] = true
	for _, file := range f.archive.Files {
		if file.Name == name {
			return string(file.Data)
		}
	}
	return ""
}

// Play runs play for every fixture and compares its results with the files of the same names. A response
// must have its file, and a file that was neither read nor compared is an error. With -update, Play
// writes the files instead.
func Play(t *testing.T, play func(t *testing.T, f Fixture) map[string]string) {
	t.Helper()
	for _, f := range Fixtures(t) {
		t.Run(strings.TrimSuffix(filepath.Base(f.Path), ".txtar"), func(t *testing.T) {
			got := play(t, f)
			if *update {
				f.write(t, got)
				return
			}
			for _, wrong := range f.compare(got) {
				t.Error(wrong)
			}
		})
	}
}

// PlayRequests is Play for fixtures with several requests (request, request2…), which are sent in order.
// begin is called for each fixture. The function that it returns is called with each request and the name of its
// file; it must return the response in the form of a fixture.
func PlayRequests(t *testing.T, begin func(t *testing.T) func(name string, r *http.Request) string) {
	t.Helper()
	Play(t, func(t *testing.T, f Fixture) map[string]string {
		return f.respond(t, begin(t))
	})
}

// respond sends the requests in order and returns the responses.
func (f Fixture) respond(t *testing.T, send func(name string, r *http.Request) string) map[string]string {
	t.Helper()
	got := map[string]string{}
	for _, name := range f.Names() {
		if number, ok := strings.CutPrefix(name, "request"); ok {
			got["response"+number] = send(name, Request(t, f.Text(name)))
		}
	}
	if len(got) == 0 {
		t.Fatal("the fixture has no request")
	}
	return got
}

// Serve returns the response of a handler in the form of a fixture.
func Serve(h http.Handler, r *http.Request) string {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return Response(w, w.Body.String())
}

// compare returns the differences between a fixture and its results.
func (f Fixture) compare(got map[string]string) (wrong []string) {
	for _, file := range f.archive.Files {
		have, ok := got[file.Name]
		switch diff := cmp.Diff(string(file.Data), have); {
		case ok && diff != "":
			wrong = append(wrong, fmt.Sprintf("%s (-want +got):\n%s", file.Name, diff))
		case !ok && !f.read[file.Name]:
			wrong = append(wrong, fmt.Sprintf("nothing reads the file %q", file.Name))
		}
	}
	for name := range got {
		if strings.HasPrefix(name, "response") && !slices.Contains(f.Names(), name) {
			wrong = append(wrong, fmt.Sprintf("the fixture has no file %q", name))
		}
	}
	return wrong
}

func (f Fixture) write(t *testing.T, got map[string]string) {
	t.Helper()
	for i, file := range f.archive.Files {
		if text, ok := got[file.Name]; ok {
			f.archive.Files[i].Data = []byte(text)
		}
	}
	if err := os.WriteFile(f.Path, txtar.Format(f.archive), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Request parses a request of a fixture: method and path, headers, an empty line, the body.
func Request(tb testing.TB, text string) *http.Request {
	tb.Helper()
	if text == "" {
		tb.Fatal("the fixture has no request")
	}
	head, body, _ := strings.Cut(text, "\n\n")
	lines := strings.Split(strings.TrimSpace(head), "\n")
	method, path, _ := strings.Cut(lines[0], " ")
	r, err := http.NewRequestWithContext(tb.Context(), method, "http://parley.example"+path, strings.NewReader(body))
	if err != nil {
		tb.Fatal(err)
	}
	for _, line := range lines[1:] {
		key, value, _ := strings.Cut(line, ": ")
		r.Header.Set(key, value)
	}
	return r
}

// Response returns a response in the form of a fixture: the status, the content type, the named headers,
// Retry-After and X-Turn-Id, each if present, an empty line and the body.
func Response(w *httptest.ResponseRecorder, body string, headers ...string) string {
	var b strings.Builder
	fmt.Fprintln(&b, w.Code)
	keys := append([]string{"Content-Type"}, headers...)
	for _, key := range append(keys, "Retry-After", "X-Turn-Id") {
		if v := w.Header().Get(key); v != "" {
			fmt.Fprintf(&b, "%s: %s\n", key, v)
		}
	}
	return b.String() + "\n" + body
}
