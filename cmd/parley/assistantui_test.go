package main

import (
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/test/needs"
)

// assistantUIShown is what a page made with assistant-ui shows; test/sdk/assistantui.jsx sends it.
type assistantUIShown struct{ Texts, Links []string }

func TestBrowser_AssistantUIShowsAnswersThroughTheAISDKAndAGUI(t *testing.T) {
	needs.Long(t)
	sdk, browser := requireSDK(t, "@assistant-ui/react"), findBrowser(t)
	page := t.TempDir()
	build := exec.Command(filepath.Join(sdk, "node_modules/.bin/esbuild"), "assistantui.jsx", "--bundle", "--format=esm", "--jsx=automatic", "--log-level=warning",
		`--define:process.env.NODE_ENV="production"`, "--outfile="+filepath.Join(page, "page.mjs"))
	build.Dir = sdk
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the page: %v: %s", err, out)
	}
	docs := t.TempDir()
	for path, text := range map[string]string{
		filepath.Join(page, "page.html"):     `<!doctype html><meta charset="utf-8"><script type="module" src="page.mjs"></script>`,
		filepath.Join(docs, "lighthouse.md"): "# The lighthouse\n\nThe lighthouse is 46 metres tall.\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	up := httptest.NewServer(held{&upstream{}, nil})
	t.Cleanup(up.Close)
	p := serveIngested(t, []string{"OPENAI_API_KEY=sk-test", "OPENAI_BASE_URL=" + up.URL + "/v1"}, docs, "--data", t.TempDir(), "--model", "openai:test-model")
	var seen struct {
		AISDK, AGUI assistantUIShown
		Failed      string
	}
	browse(t, browser, page, url.Values{"api": {"http://" + p.addr}, "question": {"How tall is the lighthouse?"}}, &seen)
	const answer = "The lighthouse is 46 metres tall [lighthouse.md]."
	want := assistantUIShown{Texts: []string{answer, answer}, Links: []string{"http://" + p.addr + "/content/lighthouse.md"}}
	for name, got := range map[string]assistantUIShown{"the AI SDK": seen.AISDK, "AG-UI": seen.AGUI} {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("through %s (-want +got)\n%s", name, diff)
		}
	}
	if want := "The model is not available at the moment."; seen.Failed != want {
		t.Errorf("the failure reads %q, want %q", seen.Failed, want)
	}
	if err := p.signal(t, os.Interrupt); err != nil {
		t.Errorf("the server ended with %v", err)
	}
}
