package gemini_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/llm"
	"parley/internal/llm/gemini"
	"parley/internal/llm/llmtest"
)

func TestCapabilities_AreDeclaredByFamily(t *testing.T) {
	size := 1000
	p, err := gemini.New(gemini.Config{Overrides: llm.Overrides{"tuned": {Like: "gemini-2.0-flash", Context: &size}}})
	if err != nil {
		t.Fatal(err)
	}
	takes := llm.Capabilities{Vision: true, Tools: true, Schema: true, Temperature: true, TopP: true, Stop: true, Context: 1_048_576}
	with := func(change func(*llm.Capabilities)) llm.Capabilities { c := takes; change(&c); return c }
	thinks := with(func(c *llm.Capabilities) { c.Effort = true })
	for model, want := range map[string]llm.Capabilities{
		"gemini-2.0-flash":        takes,
		"models/gemini-2.5-pro":   thinks,
		"gemini-3-flash-preview":  thinks,
		"gemini-of-the-future":    thinks,
		"tuned":                   with(func(c *llm.Capabilities) { c.Context = 1000 }),
		"gemini-3.5-flash-latest": thinks,
	} {
		if diff := cmp.Diff(want, p.Capabilities(model)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", model, diff)
		}
	}
}

func TestStream_SaysHowToThinkAndCallInTheModelsWay(t *testing.T) {
	up := llmtest.NewUpstreamFor(t, llmtest.Gemini)
	for _, c := range []struct{ model, effort, choice, config, tools string }{
		{"gemini-2.0-flash", "low", "", `{"maxOutputTokens":100}`, ""},
		{"gemini-2.5-flash", "medium", llm.ToolsNone,
			`{"maxOutputTokens":8292,"thinkingConfig":{"includeThoughts":true,"thinkingBudget":8192}}`, `{"functionCallingConfig":{"mode":"NONE"}}`},
		{"gemini-2.5-flash", "", llm.ToolsRequired,
			`{"maxOutputTokens":8292,"thinkingConfig":{"includeThoughts":true}}`, `{"functionCallingConfig":{"mode":"ANY"}}`},
		{"gemini-3-pro-preview", "medium", "f",
			`{"maxOutputTokens":8292,"thinkingConfig":{"includeThoughts":true,"thinkingLevel":"high"},"responseMimeType":"application/json","responseJsonSchema":{}}`,
			`{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["f"]}}`},
		{"gemini-3-flash", "minimal", "",
			`{"maxOutputTokens":1124,"thinkingConfig":{"includeThoughts":true,"thinkingLevel":"minimal"},"responseMimeType":"application/json","responseJsonSchema":{}}`, ""},
		{"gemini-3.1-pro-preview", "minimal", "",
			`{"maxOutputTokens":1124,"thinkingConfig":{"includeThoughts":true,"thinkingLevel":"low"},"responseMimeType":"application/json","responseJsonSchema":{}}`, ""},
	} {
		req := llmtest.Question(c.model)
		req.Tools, req.Effort, req.ToolChoice = []llm.Tool{{Name: "f"}}, c.effort, c.choice
		req.Schema, req.Stop = json.RawMessage("{}"), []string{"END"}
		if got := llmtest.Ask(t.Context(), open(t, up.URL, false), req); got.Err != nil {
			t.Fatal(got.Err)
		}
		var got struct {
			Config map[string]any  `json:"generationConfig"`
			Tools  json.RawMessage `json:"toolConfig"`
		}
		body, _ := up.Last()
		if err := json.Unmarshal(body, &got); err != nil {
			t.Fatal(err)
		}
		var want map[string]any
		if err := json.Unmarshal([]byte(c.config), &want); err != nil {
			t.Fatal(err)
		}
		want["temperature"], want["stopSequences"] = 0.5, []any{"END"}
		if diff := cmp.Diff(want, got.Config); diff != "" {
			t.Errorf("%s, effort %q (-want +got):\n%s", c.model, c.effort, diff)
		}
		if tools := string(got.Tools); tools != c.tools {
			t.Errorf("%s, choice %q: sent %s", c.model, c.choice, tools)
		}
	}
}
