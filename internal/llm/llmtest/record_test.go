package llmtest_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley/internal/llm"
	"parley/internal/llm/llmtest"
	"parley/internal/llm/openai"
	"parley/internal/llm/upstream"
)

const fixture = `Hand-made after https://docs.example/chat
-- ask --
{"Model": "m", "Messages": [{"Role": "user", "Parts": [{"Text": "Hi"}]}], "Tools": [{"Name": "f"}]}
-- record --
yes
-- request --
-- response --
-- chunks --
`

func openAI(t *testing.T, url, key string, client *http.Client) llm.Model {
	p, err := openai.New(openai.Config{BaseURL: url + "/v1", APIKey: key, Upstream: upstream.Config{HTTP: client}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// realAPI is an API whose answers have values that no fixture should contain.
func realAPI(t *testing.T, key string) *httptest.Server {
	n := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+key {
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		n++
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		head := fmt.Sprintf(`{"id":"chatcmpl-AbC%d","created":17%d,"model":"m-1","system_fingerprint":"fp_xyz%d",`, n, n, n)
		fmt.Fprintf(w, "data: %s\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Your key is %s\"}}],\"obfuscation\":\"r%d\"}\n\n", head, key, n)
		fmt.Fprintf(w, "data: %s\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"call_Q%d\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]}}]}\n\n", head, n)
		fmt.Fprintf(w, "data: %s\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":2}}\n\ndata: [DONE]\n\n", head)
	}))
	t.Cleanup(s.Close)
	return s
}

func TestRecord_RenewsWhatTheAPIAnswers(t *testing.T) {
	const key = "sk-live-0123456789abcdef0123"
	dir, s := t.TempDir(), realAPI(t, key)
	paths := map[string]string{"asked": fixture, "left": strings.Replace(fixture, "-- record --\nyes\n", "", 1)}
	for name, text := range paths {
		if err := os.WriteFile(filepath.Join(dir, name+".txtar"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	read := func(name string) string {
		b, err := os.ReadFile(filepath.Join(dir, name+".txtar"))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	var first string
	for day := range 2 {
		llmtest.Record(t, llmtest.Live{
			Key: key, Dir: dir, Now: time.Date(2026, 11, 21+day, 0, 0, 0, 0, time.UTC),
			Open: func(client *http.Client) (llm.Model, error) { return openAI(t, s.URL, key, client), nil },
			Replay: func(t *testing.T, url string, _ bool) llm.Model {
				return openAI(t, url, "test-key", llmtest.HTTPClient(t))
			},
		})
		got := read("asked")
		for _, want := range []string{
			fmt.Sprintf("Recorded on 2026-11-%d from 127.0.0.1, without keys and ids, after https://docs.example/chat\n", 21+day),
			`"id":"chatcmpl_1","created":1,"model":"m-1","system_fingerprint":"fp_1"`, `"id":"call_1"`, `"obfuscation":"c2ln"`,
			"Your key is test-key", "Authorization: Bearer test-key", `{"Usage":{"input":5,"output":2}}`, "-- record --\nyes\n",
		} {
			if !strings.Contains(got, want) {
				t.Errorf("missing %q in:\n%s", want, got)
			}
		}
		if strings.Contains(got, key) || strings.Contains(got, "AbC") || strings.Contains(got, "Hand-made") {
			t.Errorf("recorded:\n%s", got)
		}
		body := strings.SplitN(got, "\n", 2)[1]
		if day == 1 && body != first {
			t.Errorf("a second recording differs:\n%s\n%s", first, body)
		}
		first = body
	}
	if read("left") != paths["left"] {
		t.Error("a fixture was rewritten that is not to be recorded")
	}
}

func TestRecord_IsSkippedWithoutAKey(t *testing.T) {
	t.Run("skipped", func(t *testing.T) {
		llmtest.Record(t, llmtest.Live{Need: "SOME_API_KEY"})
		t.Error("recorded without a key")
	})
}
