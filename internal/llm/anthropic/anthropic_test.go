package anthropic_test

import (
	"flag"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"parley/internal/llm"
	"parley/internal/llm/anthropic"
	"parley/internal/llm/llmtest"
	"parley/internal/llm/upstream"
)

var update = flag.Bool("update", false, "rewrite the fixtures")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, url string, short bool) llm.Model {
	cfg := anthropic.Config{BaseURL: url, APIKey: "test-key", Upstream: upstream.Config{HTTP: llmtest.HTTPClient(t)}}
	if short {
		cfg.Upstream.FirstByte, cfg.Upstream.Idle = 500*time.Millisecond, 500*time.Millisecond
	}
	p, err := anthropic.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestStream_EndsEveryFaultInAnAnswerOrAnError(t *testing.T) {
	// The API does not report reasoning apart.
	wants := llmtest.Wants(&llm.Usage{Input: 12, Output: 10, Cached: 4})
	// The API has no error for a filtered prompt: the model refuses in its answer.
	wants["filter"] = llmtest.Want{Err: &llm.Error{Status: 400}, Says: "status 400"}
	wants["errchunk"] = llmtest.Want{Text: wants["eof"].Text, Err: &llm.Error{Status: 529, Retryable: true}, Says: "server error [redacted]"}
	llmtest.RunFaults(t, llmtest.Anthropic, wants, open)
}

func TestStream_EndsWhenOnlyWhatSaysNothingComes(t *testing.T) {
	llmtest.RunMute(t, llmtest.Anthropic, open)
}

func TestStream_AbortsTheUpstream(t *testing.T) { llmtest.RunCancel(t, llmtest.Anthropic, open) }

func TestFixtures(t *testing.T) { llmtest.RunFixtures(t, *update, open) }

// The API refuses messages that call tools if the request does not define these tools.
func TestStream_DefinesTheToolsOfTheHistoryWhenNoneCanBeCalled(t *testing.T) {
	up := llmtest.NewUpstreamFor(t, llmtest.Anthropic)
	req := llmtest.Question("claude-sonnet-5")
	req.Messages = append(req.Messages,
		llm.Message{Role: llm.Assistant, ToolCalls: []llm.ToolCall{{ID: "1", Name: "weather", Arguments: "{}"}, {ID: "2", Name: "weather", Arguments: "{}"}}},
		llm.Message{Role: llm.ToolRole, ToolCallID: "1", Parts: []llm.Part{{Text: "sunny"}}},
		llm.Message{Role: llm.ToolRole, ToolCallID: "2", Parts: []llm.Part{{Text: "sunny"}}})
	if got := llmtest.Ask(t.Context(), open(t, up.URL, false), req); got.Err != nil {
		t.Fatal(got.Err)
	}
	body, _ := up.Last()
	if want := `"tools":[{"name":"weather","input_schema":{"type":"object"}}],"tool_choice":{"type":"none"}`; !strings.Contains(string(body), want) {
		t.Errorf("sent %s, want %s in it", body, want)
	}
}
