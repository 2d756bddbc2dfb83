package openai_test

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/llm"
	"parley/internal/llm/llmtest"
	"parley/internal/llm/openai"
	"parley/internal/llm/upstream"
)

var (
	open      = llm.Capabilities{Tools: true, Schema: true, Temperature: true, TopP: true, Stop: true}
	reasoning = llm.Capabilities{Vision: true, Tools: true, Schema: true, Effort: true}
)

func with(c llm.Capabilities, change func(*llm.Capabilities)) llm.Capabilities {
	change(&c)
	return c
}

func TestCapabilities_AreDeclaredByFamily(t *testing.T) {
	p := provider(t, openai.Config{})
	for model, want := range map[string]llm.Capabilities{
		"gpt-3.5-turbo-0125":               {Tools: true, Temperature: true, TopP: true, Stop: true, Context: 16_385},
		"gpt-4":                            {Tools: true, Temperature: true, TopP: true, Stop: true, Context: 8192},
		"gpt-4o-mini-2024-07-18":           {Vision: true, Tools: true, Schema: true, Temperature: true, TopP: true, Stop: true, Context: 128_000},
		"ft:gpt-4o-mini-2024-07-18:org::x": {Vision: true, Tools: true, Schema: true, Temperature: true, TopP: true, Stop: true, Context: 128_000},
		"o3-mini":                          {Tools: true, Schema: true, Effort: true, Context: 200_000},
		"o3":                               with(reasoning, func(c *llm.Capabilities) { c.Context = 200_000 }),
		"gpt-5-nano":                       with(reasoning, func(c *llm.Capabilities) { c.Context = 400_000 }),
		"gpt-5-chat-latest":                {Vision: true, Tools: true, Schema: true, Temperature: true, TopP: true, Stop: true, Context: 128_000},
		"gpt-5.1-chat-latest":              {Vision: true, Tools: true, Schema: true, Context: 128_000},
		"gpt-6-astra":                      reasoning,
		"a-model-of-the-future":            reasoning,
	} {
		if diff := cmp.Diff(want, p.Capabilities(model)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", model, diff)
		}
	}
}

func TestCapabilities_OfOtherServersAreThoseOfOpenModels(t *testing.T) {
	for base, want := range map[string]llm.Capabilities{
		"http://127.0.0.1:8080/v1":       open,
		"https://api.deepseek.com":       with(open, func(c *llm.Capabilities) { c.Schema = false }),
		"https://api.mistral.ai/v1":      open,
		"https://api.groq.com/openai/v1": with(open, func(c *llm.Capabilities) { c.Schema = false }),
	} {
		p := provider(t, openai.Config{BaseURL: base})
		if diff := cmp.Diff(want, p.Capabilities("o10")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", base, diff)
		}
		if got := p.Capabilities("gpt-oss-120b"); !got.Effort || !got.Schema || !got.Temperature {
			t.Errorf("%s: gpt-oss takes %+v", base, got)
		}
	}
}

func TestCapabilities_AreCorrectedByTheConfiguration(t *testing.T) {
	yes, no := true, false
	p := provider(t, openai.Config{
		BaseURL: "http://127.0.0.1:8080/v1", Unknown: "gpt-4o", Reasoning: []string{"r"},
		Overrides: llm.Overrides{"prod": {Like: "gpt-5", Vision: &no}, "r": {Vision: &yes}},
	})
	for model, want := range map[string]llm.Capabilities{
		"prod": {Tools: true, Schema: true, Effort: true, Context: 400_000},
		"r":    {Vision: true, Tools: true, Schema: true, Effort: true, Context: 128_000},
		"x":    {Vision: true, Tools: true, Schema: true, Temperature: true, TopP: true, Stop: true, Context: 128_000},
	} {
		if diff := cmp.Diff(want, p.Capabilities(model)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", model, diff)
		}
	}
}

// sent returns the members of the request that an upstream receives.
func sent(t *testing.T, cfg openai.Config, req llm.Request) map[string]json.RawMessage {
	t.Helper()
	up := llmtest.NewUpstream(t)
	cfg.BaseURL = up.URL
	if got := llmtest.Ask(t.Context(), provider(t, cfg), req); got.Err != nil {
		t.Fatal(got.Err)
	}
	var w map[string]json.RawMessage
	body, _ := up.Last()
	if err := json.Unmarshal(body, &w); err != nil {
		t.Fatal(err)
	}
	return w
}

func TestStream_SendsWhatTheModelTakes(t *testing.T) {
	for model, want := range map[string]map[string]string{
		"o1":                {"max_completion_tokens": "4196", "reasoning_effort": `"low"`},
		"o3-mini":           {"max_completion_tokens": "4196", "reasoning_effort": `"low"`},
		"gpt-5":             {"max_completion_tokens": "1124", "reasoning_effort": `"minimal"`},
		"gpt-5.1":           {"max_completion_tokens": "4196", "reasoning_effort": `"low"`},
		"gpt-5-chat-latest": {"max_tokens": "100", "temperature": "0.5", "top_p": "0.9", "stop": `["x"]`},
		"gpt-4o":            {"max_tokens": "100", "temperature": "0.5", "top_p": "0.9", "stop": `["x"]`},
		"o10":               {"max_tokens": "100", "temperature": "0.5", "top_p": "0.9", "stop": `["x"]`},
		"gpt-oss-20b":       {"max_tokens": "100", "temperature": "0.5", "top_p": "0.9", "stop": `["x"]`, "reasoning_effort": `"low"`},
	} {
		req := llmtest.Question(model)
		req.TopP, req.Stop, req.Effort = 0.9, []string{"x"}, "low"
		if model == "gpt-5" {
			req.Effort = "minimal"
		}
		got := map[string]string{}
		for _, key := range []string{"max_tokens", "max_completion_tokens", "temperature", "top_p", "stop", "reasoning_effort"} {
			if v := sent(t, openai.Config{}, req)[key]; v != nil {
				got[key] = string(v)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", model, diff)
		}
	}
}

func TestStream_ChoosesTools(t *testing.T) {
	for choice, want := range map[string]string{
		"":                "",
		llm.ToolsNone:     `"none"`,
		llm.ToolsRequired: `"required"`,
		"weather":         `{"type":"function","function":{"name":"weather"}}`,
	} {
		req := llmtest.Question("gpt-4o")
		req.Tools, req.ToolChoice = []llm.Tool{{Name: "weather"}}, choice
		if got := string(sent(t, openai.Config{}, req)["tool_choice"]); got != want {
			t.Errorf("%q: sent %s, want %s", choice, got, want)
		}
	}
	req := llmtest.Question("gpt-4o")
	req.ToolChoice = llm.ToolsRequired
	if got := sent(t, openai.Config{}, req)["tool_choice"]; got != nil {
		t.Errorf("sent %s without tools", got)
	}
}

func TestStream_GivesTheReasoningBackWithTheResultOfATool(t *testing.T) {
	p := scripted(t,
		`{"model":"m","choices":[{"index":0,"delta":{"reasoning_content":"Look "}}]}`,
		`{"model":"m","choices":[{"index":0,"delta":{"reasoning_content":"it up."}}]}`,
		`{"model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"find","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`, `[DONE]`)
	got := llmtest.Ask(t.Context(), p, llmtest.Question("m"))
	if got.Err != nil || len(got.Calls) != 1 {
		t.Fatalf("%+v", got)
	}
	req := llmtest.Question("m")
	req.Messages = append(req.Messages, llm.Message{Role: llm.Assistant, ToolCalls: got.Calls},
		llm.Message{Role: llm.ToolRole, ToolCallID: "a", Parts: []llm.Part{{Text: "found"}}})
	messages := string(sent(t, openai.Config{}, req)["messages"])
	if !strings.Contains(messages, `"reasoning_content":"Look it up."`) || strings.Count(messages, "reasoning_content") != 1 {
		t.Errorf("sent %s", messages)
	}
	got.Calls[0].Signature = "of another provider"
	if messages := string(sent(t, openai.Config{}, req)["messages"]); strings.Contains(messages, "another") {
		t.Errorf("sent %s", messages)
	}
}

// The provider knows a server by its host, so the test's upstream stands in for that host.
func TestStream_LeavesOutWhatAServerRefuses(t *testing.T) {
	up := llmtest.NewUpstream(t)
	address := strings.TrimSuffix(strings.TrimPrefix(up.URL, "http://"), "/v1")
	tr := &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, address)
	}}
	defer tr.CloseIdleConnections()
	for host, want := range map[string]bool{"api.mistral.ai": false, "api.deepseek.com": true} {
		p := provider(t, openai.Config{BaseURL: "http://" + host + "/v1", Upstream: upstream.Config{HTTP: &http.Client{Transport: tr}}})
		if got := llmtest.Ask(t.Context(), p, llmtest.Question("m")); got.Err != nil || got.Usage.Estimated {
			t.Fatalf("%s: %+v", host, got)
		}
		if body, _ := up.Last(); strings.Contains(string(body), "stream_options") != want {
			t.Errorf("%s: %s", host, body)
		}
	}
}
