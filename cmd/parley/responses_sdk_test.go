package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"parley/test/needs"
)

// responsesCall is the result of one call as a user of a client sees it; responses.mjs prints it.
type responsesCall struct {
	Answer, Streamed, Next, Final, Thrown string
	Parsed                                struct{ Height int }
	Ran, Cited                            []string
}

func TestSDK_ClientsOfTheResponsesAPIUnderstandEveryAnswer(t *testing.T) {
	needs.Long(t)
	t.Parallel()
	up := httptest.NewServer(http.HandlerFunc(able))
	t.Cleanup(up.Close)
	docs := t.TempDir()
	const text = "# The lighthouse\n\nThe lighthouse of Skagen is 46 metres tall.\n"
	if err := os.WriteFile(filepath.Join(docs, "lighthouse.md"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, client := range map[string]string{"openai": "openai", "ai": "@ai-sdk/openai", "agents": "@openai/agents"} {
		t.Run(name, func(t *testing.T) {
			dir := requireSDK(t, client)
			p := startServe(t, []string{"OPENAI_API_KEY=sk-test", "OPENAI_BASE_URL=" + up.URL + "/v1"},
				docs, "--data", t.TempDir(), "--model", "openai:test-model")
			if err := awaitIngested(p.addr); err != nil {
				t.Fatal(err)
			}
			got := callResponses(t, dir, name, p.addr)
			const answer = "I see 0 images and stop at []."
			if got.Thrown != "" || got.Answer != answer || got.Streamed != answer || got.Next != answer || got.Parsed.Height != 46 {
				t.Errorf("the client sees %+v", got)
			}
			slices.Sort(got.Ran) // some clients run all at once
			if !slices.Equal(got.Ran, []string{"Bergen", "Oslo"}) || !strings.Contains(got.Final, "20 in Oslo") {
				t.Errorf("the function ran for %q, and the answer is %q", got.Ran, got.Final)
			}
			want := []string{"http://" + p.addr + "/content/lighthouse.md"}
			if name != "agents" && !slices.Equal(got.Cited, want) { // that one shows no annotations
				t.Errorf("the answer cites %q", got.Cited)
			}
		})
	}
}

func callResponses(t *testing.T, dir, client, addr string) (got responsesCall) {
	t.Helper()
	cmd := exec.Command("node", "responses.mjs", "http://"+addr+"/v1", client)
	cmd.Dir = dir
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("run responses.mjs: %v: %s", err, stderr.String())
	}
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("read %s: %v", out, err)
	}
	return got
}
