package azureopenai_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"parley/internal/llm"
	"parley/internal/llm/azureopenai"
	"parley/internal/llm/llmtest"
	"parley/internal/llm/upstream"
)

var update = flag.Bool("update", false, "rewrite the fixtures")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, url string, short bool) llm.Model {
	cfg := azureopenai.Config{Endpoint: url, APIKey: "test-key", Upstream: upstream.Config{HTTP: llmtest.HTTPClient(t)}}
	if short {
		cfg.Upstream.FirstByte, cfg.Upstream.Idle = 500*time.Millisecond, 500*time.Millisecond
	}
	p, err := azureopenai.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestStream_EndsEveryFaultInAnAnswerOrAnError(t *testing.T) {
	llmtest.RunFaults(t, llmtest.AzureOpenAI, llmtest.Wants(llmtest.Reported), open)
}

func TestStream_EndsWhenOnlyWhatSaysNothingComes(t *testing.T) {
	llmtest.RunMute(t, llmtest.AzureOpenAI, open)
}

func TestStream_AbortsTheUpstream(t *testing.T) { llmtest.RunCancel(t, llmtest.AzureOpenAI, open) }

func TestFixtures(t *testing.T) { llmtest.RunFixtures(t, *update, open) }

func TestStream_ReadsTheTokenFileForEachCall(t *testing.T) {
	up := llmtest.NewUpstreamFor(t, llmtest.AzureOpenAI)
	path := filepath.Join(t.TempDir(), "token")
	p, err := azureopenai.New(azureopenai.Config{Endpoint: up.URL + "/openai/", TokenFile: path, Upstream: upstream.Config{HTTP: llmtest.HTTPClient(t)}})
	if err != nil {
		t.Fatal(err)
	}
	for _, token := range []string{"first", "second"} {
		if err := os.WriteFile(path, []byte(token+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := llmtest.Ask(t.Context(), p, llmtest.Question("m")); got.Err != nil {
			t.Fatal(got.Err)
		}
		if _, h := up.Last(); h.Get("Authorization") != "Bearer "+token || h.Get("Api-Key") != "" {
			t.Errorf("header %v, want the token %q", h, token)
		}
	}
	for _, bad := range []string{"", "two words"} {
		if err := os.WriteFile(path, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := llmtest.Ask(t.Context(), p, llmtest.Question("m")); got.Err == nil || !strings.Contains(got.Err.Error(), "does not hold a token") {
			t.Errorf("token %q: error = %v", bad, got.Err)
		}
	}
	if up.Calls() != 2 {
		t.Errorf("%d calls, want none without a token", up.Calls())
	}
}

func TestStream_AsksNoAddressOutsideTheDeployments(t *testing.T) {
	up := llmtest.NewUpstreamFor(t, llmtest.AzureOpenAI)
	for _, name := range []string{"..", "."} {
		if got := llmtest.Ask(t.Context(), open(t, up.URL, false), llmtest.Question(name)); got.Err == nil || up.Calls() > 0 {
			t.Errorf("%q was asked: %v", name, got.Err)
		}
	}
	for _, name := range []string{"../x", "a/../../b", "x?y", "a b"} {
		if got := llmtest.Ask(t.Context(), open(t, up.URL, false), llmtest.Question(name)); got.Err != nil {
			t.Errorf("%q did not stay one name: %v", name, got.Err)
		}
	}
}

func TestEmbed_AsksNoAddressOutsideTheDeployments(t *testing.T) {
	up := llmtest.NewUpstreamFor(t, llmtest.AzureEmbeddings)
	req := llm.EmbedRequest{Model: "..", Texts: []string{"a"}}
	if _, err := openEmbedder(t, up.URL, false).Embed(t.Context(), req); err == nil || up.Calls() > 0 {
		t.Errorf("%q was asked: %v", req.Model, err)
	}
}

func TestNew_RefusesWhatCannotWork(t *testing.T) {
	for name, cfg := range map[string]azureopenai.Config{
		"no endpoint":    {APIKey: "k"},
		"no URL":         {Endpoint: "x.openai.azure.com", APIKey: "k"},
		"no credentials": {Endpoint: "https://x.openai.azure.com"},
	} {
		if _, err := azureopenai.New(cfg); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
