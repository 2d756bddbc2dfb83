package main

import (
	"encoding/json"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"parley/test/needs"
)

// runShown is the state of a page made with AG-UI after a run; agui.mjs prints it.
type runShown struct {
	Role, Text   string
	Cited, State []string
}

func TestSDK_AGUIsClientVerifiesEveryRun(t *testing.T) {
	needs.Long(t)
	t.Parallel()
	dir := requireSDK(t, "@ag-ui/client")
	up := httptest.NewServer(held{&upstream{}, make(chan bool)})
	t.Cleanup(up.Close)
	docs := folderOf(t, map[string]string{"lighthouse.md": "# The lighthouse\n\nThe lighthouse is 46 metres tall.\n"})
	p := startServe(t, []string{"OPENAI_API_KEY=sk-test", "OPENAI_BASE_URL=" + up.URL + "/v1"},
		docs, "--data", t.TempDir(), "--model", "openai:test-model")
	if err := awaitIngested(p.addr); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("node", "agui.mjs", "http://"+p.addr+"/ag-ui")
	cmd.Dir = dir
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("run agui.mjs: %v: %s", err, stderr.String())
	}
	var got struct {
		Answer, Next, Final, Aborted runShown
		Steps, Ran                   []string
		Failed                       struct{ Message, Code string }
		Refused                      struct{ Error string }
		Thrown                       string
	}
	if err := json.Unmarshal(out, &got); err != nil || got.Thrown != "" {
		t.Fatalf("%v: %s", err, out)
	}
	cited := []string{"http://" + p.addr + "/content/lighthouse.md"}
	for what, m := range map[string]runShown{"the answer": got.Answer, "the next answer": got.Next} {
		if m.Role != "assistant" || m.Text != "The lighthouse is 46 metres tall [lighthouse.md]." || !slices.Equal(m.Cited, cited) ||
			!slices.Equal(m.State, []string{"theme", "followUps", "unsupportedCitations"}) {
			t.Errorf("%s shows as %+v", what, m)
		}
	}
	for _, step := range []string{"retrieve", "generate"} {
		if !slices.Contains(got.Steps, step) {
			t.Errorf("the steps are %q", got.Steps)
		}
	}
	slices.Sort(got.Ran)
	if !slices.Equal(got.Ran, []string{"Bergen", "Oslo"}) || !strings.Contains(got.Final.Text, "20 in Oslo") || !slices.Equal(got.Final.Cited, cited) {
		t.Errorf("with a tool: %q, %+v", got.Ran, got.Final)
	}
	if !strings.Contains(got.Failed.Message, "not available") || got.Failed.Code == "" || strings.Contains(string(out), upstreamSecret) || got.Refused.Error == "" {
		t.Errorf("failures show as %s", out)
	}
	if got.Aborted.Text != upstreamPieces[0] {
		t.Errorf("an aborted run shows as %+v", got.Aborted)
	}
}
