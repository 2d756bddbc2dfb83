package ollama_test

import (
	"flag"
	"testing"
	"time"

	"go.uber.org/goleak"

	"parley/internal/llm"
	"parley/internal/llm/llmtest"
	"parley/internal/llm/ollama"
	"parley/internal/llm/upstream"
)

var update = flag.Bool("update", false, "rewrite the fixtures")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, url string, short bool) llm.Model {
	cfg := ollama.Config{Host: url, Upstream: upstream.Config{HTTP: llmtest.HTTPClient(t)}}
	if short {
		cfg.Upstream.FirstByte, cfg.Upstream.Idle = 500*time.Millisecond, 500*time.Millisecond
	}
	p, err := ollama.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestStream_EndsEveryFaultInAnAnswerOrAnError(t *testing.T) {
	wants := llmtest.Wants(&llm.Usage{Input: 12, Output: 10})
	// Only the last line says that a stream is complete.
	wants["nodone"] = llmtest.Want{Text: wants["none"].Text, Err: &llm.Error{Retryable: true}, Says: "cut off"}
	// Ollama filters nothing, and its errors are texts.
	wants["filter"] = llmtest.Want{Err: &llm.Error{Status: 400}, Says: "status 400"}
	wants["filtered"] = wants["none"]
	wants["jsonerror"] = llmtest.Want{Err: &llm.Error{Retryable: true}, Says: "application/json"}
	llmtest.RunFaults(t, llmtest.Ollama, wants, open)
}

func TestStream_EndsWhenOnlyWhatSaysNothingComes(t *testing.T) {
	llmtest.RunMute(t, llmtest.Ollama, open)
}

func TestStream_AbortsTheUpstream(t *testing.T) { llmtest.RunCancel(t, llmtest.Ollama, open) }

func TestFixtures(t *testing.T) { llmtest.RunFixtures(t, *update, open) }

func TestBaseURL_ReadsWhatOllamaReads(t *testing.T) {
	for host, want := range map[string]string{
		"": "http://127.0.0.1:11434", "example.com": "http://example.com:11434", "example.com:1": "http://example.com:1",
		"0.0.0.0": "http://127.0.0.1:11434", ":56": "http://127.0.0.1:56", "http://example.com": "http://example.com:80",
		"https://example.com/": "https://example.com:443", "https://example.com:1/ollama/": "https://example.com:1/ollama",
		"[::]": "http://127.0.0.1:11434", "[::1]:7": "http://[::1]:7", "::1": "http://[::1]:11434",
		"ftp://x": "", "a b": "", "http://u:p@x": "",
	} {
		got, err := ollama.BaseURL(host)
		if got != want || (err != nil) != (want == "") {
			t.Errorf("BaseURL(%q) = %q, %v; want %q", host, got, err, want)
		}
	}
}

func TestStream_RefusesImagesThatOllamaCannotFetch(t *testing.T) {
	up := llmtest.NewUpstreamFor(t, llmtest.Ollama)
	req := llmtest.Question("llava")
	req.Messages[1].Parts = append(req.Messages[1].Parts, llm.Part{Image: "https://a.example/b.png"})
	if got := llmtest.Ask(t.Context(), open(t, up.URL, false), req); got.Err == nil || up.Calls() > 0 {
		t.Errorf("error = %v after %d calls", got.Err, up.Calls())
	}
}

func TestStream_SaysThatTheModelMiscalledATool(t *testing.T) {
	const failed = `{"error":"error parsing tool call: raw='{\"city\":', err=unexpected end of JSON input"}`
	llmtest.RunMiscall(t, 500, "application/json", failed, open)
	llmtest.RunMiscall(t, 200, "application/x-ndjson", failed+"\n", open)
}
