package llmtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"parley/internal/llm"
)

// RunFixtures plays testdata/*.txtar. The text above the files of a fixture tells the origin of its
// bytes: "Hand-made after", or the mark that Record writes. Its files are:
//
//	ask       the llm.Request, as JSON
//	request   the request that the provider must send
//	response  the upstream's answer: its status and media type, a blank line, the body
//	chunks    the chunks that the provider must return: each llm.Chunk on a line as JSON
//	          without empty fields, and the error as the last line
//	record    only in fixtures that Record renews: notes for that
//
// open returns the provider for an upstream at url, with "test-key" as its key. If update is true,
// RunFixtures does not compare, but writes the request and the chunks into the fixtures.
func RunFixtures(t *testing.T, update bool, open func(t *testing.T, url string, short bool) llm.Model) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no fixtures in testdata: %v", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Contains(archive.Comment, []byte("https://")) || !mark.Match(archive.Comment) {
				t.Error("the fixture does not begin with where it is from and which documentation it follows")
			}
			sent, gave := play(t, file(t, archive, "ask").Data, file(t, archive, "response").Data, open)
			for name, got := range map[string]string{"request": sent, "chunks": gave} {
				f := file(t, archive, name)
				if update {
					f.Data = []byte(got)
				} else if diff := cmp.Diff(string(f.Data), got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", name, diff)
				}
			}
			if update {
				write(t, path, archive)
			}
		})
	}
}

func write(t *testing.T, path string, a *txtar.Archive) {
	t.Helper()
	if err := os.WriteFile(path, txtar.Format(a), 0o644); err != nil {
		t.Fatal(err)
	}
}

func has(a *txtar.Archive, name string) bool {
	return slices.ContainsFunc(a.Files, func(f txtar.File) bool { return f.Name == name })
}

func file(t *testing.T, a *txtar.Archive, name string) *txtar.File {
	t.Helper()
	i := slices.IndexFunc(a.Files, func(f txtar.File) bool { return f.Name == name })
	if i < 0 {
		t.Fatalf("the fixture has no file %s", name)
	}
	return &a.Files[i]
}

// play makes one completion and returns the request and the chunks in the form of a fixture.
func play(t *testing.T, ask, response []byte, open func(t *testing.T, url string, short bool) llm.Model) (sent, gave string) {
	t.Helper()
	req := request(t, ask)
	head, body, _ := strings.Cut(string(response), "\n\n")
	var status int
	var kind string
	if _, err := fmt.Sscanf(head, "%d %s", &status, &kind); err != nil {
		t.Fatalf("response: %v", err)
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		sent = written(r, b)
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	defer s.Close()
	for chunk, err := range open(t, s.URL, false).Stream(t.Context(), req) {
		if err != nil {
			gave += failure(err)
			break
		}
		gave += compact(t, chunk) + "\n"
	}
	return sent, gave
}

func request(t *testing.T, ask []byte) (req llm.Request) {
	t.Helper()
	if err := json.Unmarshal(ask, &req); err != nil {
		t.Fatalf("ask: %v", err)
	}
	return req
}

func failure(err error) string {
	e, ok := errors.AsType[*llm.Error](err)
	if !ok {
		return fmt.Sprintf("error %v\n", err)
	}
	return fmt.Sprintf("error status=%d retryable=%v after=%v filtered=%v: %v\n", e.Status, e.Retryable, e.RetryAfter, e.Filtered, e)
}

// written returns a request with its body indented, but without the headers that all requests have.
func written(r *http.Request, body []byte) string {
	for _, h := range []string{"Content-Length", "User-Agent", "Accept-Encoding", "Content-Type", "Accept"} {
		r.Header.Del(h)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n", r.Method, r.URL.RequestURI())
	_ = r.Header.Write(&b)
	var pretty bytes.Buffer
	if json.Indent(&pretty, body, "", "  ") != nil {
		pretty.Write(body)
	}
	return strings.ReplaceAll(b.String(), "\r", "") + "\n" + pretty.String() + "\n"
}

// compact returns a chunk as JSON without empty fields.
func compact(t *testing.T, c llm.Chunk) string {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	// The map has the same fields as the chunk, and empty ones can be removed from it.
	var m map[string]any
	if err := enc.Encode(c); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b.Bytes(), &m); err != nil {
		t.Fatal(err)
	}
	b.Reset()
	if err := enc.Encode(prune(m)); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(b.String())
}

func prune(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			if e = prune(e); e == nil || e == "" || e == false || e == 0.0 {
				delete(v, k)
			} else {
				v[k] = e
			}
		}
	case []any:
		for i := range v {
			v[i] = prune(v[i])
		}
	}
	return v
}
