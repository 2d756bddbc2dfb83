package llmtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"parley/internal/llm"
)

// RunEmbedFixtures plays testdata/embed/*.txtar. They are like those of RunFixtures, but "ask" is an
// llm.EmbedRequest, and "answer", in place of "chunks", is the llm.Embeddings or the error. If a
// provider makes a second call, its files are "request 2" and "response 2".
func RunEmbedFixtures(t *testing.T, update bool, open func(t *testing.T, url string, short bool) llm.Embedder) {
	runDocumentFixtures(t, update, "testdata/embed/*.txtar", func(ask []byte, url string) (string, error) {
		var req llm.EmbedRequest
		if err := json.Unmarshal(ask, &req); err != nil {
			t.Fatalf("ask: %v", err)
		}
		out, err := open(t, url, false).Embed(t.Context(), req)
		return compactJSON(t, out), err
	})
}

// RunRerankFixtures does the same as RunEmbedFixtures for testdata/*.txtar, llm.RerankRequest and
// llm.Ranking.
func RunRerankFixtures(t *testing.T, update bool, open func(t *testing.T, url string, short bool) llm.Reranker) {
	runDocumentFixtures(t, update, "testdata/*.txtar", func(ask []byte, url string) (string, error) {
		var req llm.RerankRequest
		if err := json.Unmarshal(ask, &req); err != nil {
			t.Fatalf("ask: %v", err)
		}
		out, err := open(t, url, false).Rerank(t.Context(), req)
		return compactJSON(t, out), err
	})
}

func compactJSON(t *testing.T, v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b) + "\n"
}

func runDocumentFixtures(t *testing.T, update bool, glob string, ask func(ask []byte, url string) (string, error)) {
	paths, err := filepath.Glob(glob)
	if err != nil || len(paths) == 0 {
		t.Fatalf("no fixtures in %s: %v", glob, err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Contains(archive.Comment, []byte("https://")) {
				t.Error("the fixture does not say which documentation it follows")
			}
			sent, s := replay(t, archive)
			answer, err := ask(file(t, archive, "ask").Data, s.URL)
			s.Close()
			if err != nil {
				answer = failure(err)
			}
			want := map[string]string{"answer": answer}
			for i, request := range *sent {
				want[numbered("request", i)] = request
			}
			for name, got := range want {
				f := file(t, archive, name)
				if update {
					f.Data = []byte(got)
				} else if diff := cmp.Diff(string(f.Data), got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", name, diff)
				}
			}
			if update {
				if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// numbered returns the name of the i-th file of a kind: "request", "request 2".
func numbered(kind string, i int) string {
	if i == 0 {
		return kind
	}
	return fmt.Sprintf("%s %d", kind, i+1)
}

// replay starts a server that returns the responses of a fixture in their order, and records the
// requests. The requests may be read once the server is closed.
func replay(t *testing.T, archive *txtar.Archive) (sent *[]string, s *httptest.Server) {
	var responses []string
	for _, f := range archive.Files {
		if strings.HasPrefix(f.Name, "response") {
			responses = append(responses, string(f.Data))
		}
	}
	sent = new([]string)
	s = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		n := len(*sent)
		*sent = append(*sent, written(r, b))
		if n >= len(responses) {
			t.Errorf("call %d has no response", n+1)
			return
		}
		head, body, _ := strings.Cut(responses[n], "\n\n")
		var status int
		var kind string
		if _, err := fmt.Sscanf(head, "%d %s", &status, &kind); err != nil {
			t.Errorf("response: %v", err)
			return
		}
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	return sent, s
}
