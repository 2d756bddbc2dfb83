package gemini_test

import (
	"flag"
	"testing"
	"time"

	"go.uber.org/goleak"

	"parley/internal/llm"
	"parley/internal/llm/gemini"
	"parley/internal/llm/llmtest"
	"parley/internal/llm/upstream"
)

var update = flag.Bool("update", false, "rewrite the fixtures")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, url string, short bool) llm.Model {
	cfg := gemini.Config{BaseURL: url, APIKey: "test-key", Upstream: upstream.Config{HTTP: llmtest.HTTPClient(t)}}
	if short {
		cfg.Upstream.FirstByte, cfg.Upstream.Idle = 500*time.Millisecond, 500*time.Millisecond
	}
	p, err := gemini.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestStream_EndsEveryFaultInAnAnswerOrAnError(t *testing.T) {
	wants := llmtest.Wants(llmtest.Reported)
	// Only the finish reason says that a stream is complete.
	wants["nofinish"] = llmtest.Want{Text: wants["none"].Text, Err: &llm.Error{Retryable: true}, Says: "cut off"}
	wants["filter"] = llmtest.Want{Err: &llm.Error{Filtered: true}, Says: "PROHIBITED_CONTENT"}
	wants["errchunk"] = llmtest.Want{Text: wants["eof"].Text, Err: &llm.Error{Status: 500, Retryable: true}, Says: "server error [redacted]"}
	llmtest.RunFaults(t, llmtest.Gemini, wants, open)
}

func TestStream_EndsWhenOnlyWhatSaysNothingComes(t *testing.T) {
	llmtest.RunMute(t, llmtest.Gemini, open)
}

func TestStream_AbortsTheUpstream(t *testing.T) { llmtest.RunCancel(t, llmtest.Gemini, open) }

func TestFixtures(t *testing.T) { llmtest.RunFixtures(t, *update, open) }

func TestStream_SaysThatTheModelMiscalledATool(t *testing.T) {
	for _, reason := range []string{"MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL"} {
		llmtest.RunMiscall(t, 200, "text/event-stream", `data: {"candidates":[{"content":{},"finishReason":"`+reason+`","index":0}]}`+"\r\n\r\n", open)
	}
}

func TestContextSize_IsWhatTheServerSaysOrLess(t *testing.T) {
	llmtest.RunSizes(t, "/v1beta/models", `{"models":[{"name":"models/gemma-4","inputTokenLimit":8192},{"name":"models/gemini-3-pro","inputTokenLimit":2000000}]}`,
		map[string]int{"gemma-4": 8192, "models/gemma-4": 8192, "gemini-3-pro": 1_048_576}, open)
}
