package anthropic_test

import (
	"flag"
	"testing"
	"time"

	"go.uber.org/goleak"

	"parley/internal/llm"
	"parley/internal/llm/anthropic"
	"parley/internal/llm/llmtest"
)

var update = flag.Bool("update", false, "rewrite the fixtures")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, url string, short bool) llm.Model {
	cfg := anthropic.Config{BaseURL: url, APIKey: "test-key", HTTP: llmtest.HTTPClient(t)}
	if short {
		cfg.FirstByte, cfg.Idle = 300*time.Millisecond, 300*time.Millisecond
	}
	p, err := anthropic.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestStream_EndsEveryFaultInAnAnswerOrAnError(t *testing.T) {
	// Reasoning is not counted apart.
	wants := llmtest.Wants(&llm.Usage{Input: 12, Output: 10, Cached: 4})
	// There is no error for a prompt that was filtered: models refuse in their answer.
	wants["filter"] = llmtest.Want{Err: &llm.Error{Status: 400}, Says: "status 400"}
	wants["errchunk"] = llmtest.Want{Text: wants["eof"].Text, Err: &llm.Error{Status: 529, Retryable: true}, Says: "server error [redacted]"}
	llmtest.RunFaults(t, llmtest.Anthropic, wants, open)
}

func TestStream_EndsWhenOnlyWhatSaysNothingComes(t *testing.T) {
	llmtest.RunMute(t, llmtest.Anthropic, open)
}

func TestStream_AbortsTheUpstream(t *testing.T) { llmtest.RunCancel(t, llmtest.Anthropic, open) }

func TestFixtures(t *testing.T) { llmtest.RunFixtures(t, *update, open) }
