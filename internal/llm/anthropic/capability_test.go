package anthropic_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/llm"
	"parley/internal/llm/anthropic"
	"parley/internal/llm/llmtest"
)

func TestCapabilities_AreDeclaredByVersion(t *testing.T) {
	p, err := anthropic.New(anthropic.Config{Overrides: llm.Overrides{"claude-3-haiku-20240307": {Stop: new(bool)}}})
	if err != nil {
		t.Fatal(err)
	}
	older := llm.Capabilities{Vision: true, Tools: true, Temperature: true, Stop: true, Context: 200_000}
	newer := llm.Capabilities{Vision: true, Tools: true, Schema: true, Effort: true, Stop: true, Context: 1_000_000}
	with := func(c llm.Capabilities, change func(*llm.Capabilities)) llm.Capabilities { change(&c); return c }
	for model, want := range map[string]llm.Capabilities{
		"claude-2.1":               {Temperature: true, Stop: true, Context: 100_000},
		"claude-3-haiku-20240307":  with(older, func(c *llm.Capabilities) { c.Stop = false }),
		"claude-3-opus-20240229":   older,
		"claude-3-7-sonnet-latest": with(older, func(c *llm.Capabilities) { c.Effort = true }),
		"claude-haiku-4-5":         with(older, func(c *llm.Capabilities) { c.Effort, c.Schema = true, true }),
		"claude-opus-4-7":          with(newer, func(c *llm.Capabilities) { c.Context = 200_000 }),
		"claude-sonnet-5":          newer,
		"claude-opus-5-5":          newer,
		"claude-of-the-future":     newer,
	} {
		if diff := cmp.Diff(want, p.Capabilities(model)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", model, diff)
		}
	}
}

// A tool cannot be forced on a model that thinks, and some cannot be told not to think.
func TestStream_ForcesToolsOrThinks(t *testing.T) {
	up := llmtest.NewUpstreamFor(t, llmtest.Anthropic)
	for _, c := range []struct{ model, effort, choice, want string }{
		{"claude-3-haiku-20240307", "high", llm.ToolsRequired, `{"max_tokens":100,"tool_choice":{"type":"any"},"temperature":0.5}`},
		{"claude-sonnet-4-5", "high", "", `{"max_tokens":24676,"thinking":{"type":"enabled","budget_tokens":24576}}`},
		{"claude-sonnet-4-5", "high", "f", `{"max_tokens":100,"tool_choice":{"type":"tool","name":"f"},"temperature":0.5}`},
		{"claude-sonnet-4-5", "", "", `{"max_tokens":100,"temperature":0.5}`},
		{"claude-opus-4-6", "low", "", `{"max_tokens":4196,"thinking":{"type":"adaptive","display":"summarized"},"output_config":{"effort":"low"}}`},
		{"claude-opus-4-6", "low", "f", `{"max_tokens":100,"tool_choice":{"type":"tool","name":"f"},"output_config":{"effort":"low"},"temperature":0.5}`},
		{"claude-opus-4-8", "", "f", `{"max_tokens":100,"tool_choice":{"type":"tool","name":"f"}}`},
		{"claude-opus-5", "", "", `{"max_tokens":8292,"thinking":{"type":"adaptive","display":"summarized"}}`},
		{"claude-opus-5", "", "f", `{"max_tokens":100,"thinking":{"type":"disabled"},"tool_choice":{"type":"tool","name":"f"}}`},
		{"claude-opus-5-5", "", "f", `{"max_tokens":8292,"thinking":{"type":"adaptive","display":"summarized"}}`},
		{"claude-opus-5-5", "", llm.ToolsNone, `{"max_tokens":8292,"thinking":{"type":"adaptive","display":"summarized"},"tool_choice":{"type":"none"}}`},
	} {
		req := llmtest.Question(c.model)
		req.Tools, req.Effort, req.ToolChoice = []llm.Tool{{Name: "f"}}, c.effort, c.choice
		if got := llmtest.Ask(t.Context(), open(t, up.URL, false), req); got.Err != nil {
			t.Fatal(got.Err)
		}
		body, _ := up.Last()
		got, want := map[string]any{}, map[string]any{}
		if err := json.Unmarshal(body, &got); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(c.want), &want); err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"model", "messages", "system", "stream", "tools"} {
			delete(got, key)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s, effort %q, choice %q (-want +got):\n%s", c.model, c.effort, c.choice, diff)
		}
	}
}

func TestStream_KeepsTheThinkingOfOtherModelsToItself(t *testing.T) {
	up := llmtest.NewUpstreamFor(t, llmtest.Anthropic)
	for _, signature := range []string{
		`{"model":"claude-opus-5","thinking":[{"type":"thinking","thinking":"x","signature":"s"}]}`, "c2ln", "{", "reasoning_content:x",
	} {
		for model, thinks := range map[string]bool{"claude-sonnet-5": true, "claude-sonnet-4-5": false} {
			req := llmtest.Question(model)
			req.Effort = "low"
			req.Messages = append(req.Messages,
				llm.Message{Role: llm.Assistant, ToolCalls: []llm.ToolCall{{ID: "1", Name: "f", Signature: signature}}},
				llm.Message{Role: llm.ToolRole, ToolCallID: "1", Parts: []llm.Part{{Text: "r"}}})
			if got := llmtest.Ask(t.Context(), open(t, up.URL, false), req); got.Err != nil {
				t.Fatal(got.Err)
			}
			body, _ := up.Last()
			if strings.Contains(string(body), `"signature"`) || strings.Contains(string(body), `"thinking":{`) != thinks {
				t.Errorf("%s, %s: sent %s", model, signature, body)
			}
		}
	}
}
