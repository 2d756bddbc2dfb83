package openai_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"parley/internal/llm"
	"parley/internal/llm/llmtest"
	"parley/internal/llm/openai"
	"parley/internal/llm/upstream"
)

var update = flag.Bool("update", false, "rewrite the fixtures")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func provider(t testing.TB, cfg openai.Config) *openai.Provider {
	t.Helper()
	if cfg.Upstream.HTTP == nil {
		cfg.Upstream.HTTP = llmtest.HTTPClient(t)
	}
	p, err := openai.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func openModel(t *testing.T, url string, short bool) llm.Model {
	cfg := openai.Config{BaseURL: url + "/v1", APIKey: "test-key"}
	if short {
		cfg.Upstream.FirstByte, cfg.Upstream.Idle = 500*time.Millisecond, 500*time.Millisecond
	}
	return provider(t, cfg)
}

func TestStream_EndsEveryFaultInAnAnswerOrAnError(t *testing.T) {
	llmtest.RunFaults(t, llmtest.OpenAI, llmtest.Wants(llmtest.Reported), openModel)
}

func TestStream_EndsWhenOnlyWhatSaysNothingComes(t *testing.T) {
	llmtest.RunMute(t, llmtest.OpenAI, openModel)
}

func TestStream_AbortsTheUpstream(t *testing.T) { llmtest.RunCancel(t, llmtest.OpenAI, openModel) }

func TestFixtures(t *testing.T) { llmtest.RunFixtures(t, *update, openModel) }

func TestStream_SendsTheRequest(t *testing.T) {
	up := llmtest.NewUpstream(t)
	yes := true
	p := provider(t, openai.Config{BaseURL: up.URL + "/", APIKey: "test-key", Overrides: llm.Overrides{"m": {Vision: &yes}}})
	req := llmtest.Question("m")
	req.TopP, req.Stop = 0.9, []string{"\n\n"}
	req.Messages = append(req.Messages,
		llm.Message{Role: llm.Assistant, ToolCalls: []llm.ToolCall{{ID: "c1", Name: "f", Arguments: "{}"}}},
		llm.Message{Role: llm.ToolRole, ToolCallID: "c1", Parts: []llm.Part{{Text: "r"}}},
		llm.Message{Role: llm.User, Parts: []llm.Part{{Text: "see"}, {Image: "data:image/png;base64,AA=="}}})
	req.Tools = []llm.Tool{{Name: "f", Description: "d", Parameters: json.RawMessage(`{"type":"object"}`)}}
	if got := llmtest.Ask(t.Context(), p, req); got.Err != nil {
		t.Fatal(got.Err)
	}
	body, header := up.Last()
	want := `{"model":"m","messages":[{"role":"system","content":"be brief"},{"role":"user","content":"hi <there>"},` +
		`{"role":"assistant","content":"","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]},` +
		`{"role":"tool","content":"r","tool_call_id":"c1"},` +
		`{"role":"user","content":[{"type":"text","text":"see"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}}]}],` +
		`"stream":true,"stream_options":{"include_usage":true},` +
		`"tools":[{"type":"function","function":{"name":"f","description":"d","parameters":{"type":"object"}}}],` +
		`"temperature":0.5,"top_p":0.9,"max_tokens":100,"stop":["\n\n"]}`
	if diff := cmp.Diff(want, string(body)); diff != "" {
		t.Error(diff)
	}
	if header.Get("Authorization") != "Bearer test-key" || header.Get("Content-Type") != "application/json" {
		t.Errorf("header = %v", header)
	}
}

func TestStream_ReturnsTheContextsErrorInEveryPhase(t *testing.T) {
	up := llmtest.NewUpstream(t)
	p := provider(t, openai.Config{BaseURL: up.URL})
	for _, fault := range []string{"hang", "stall"} {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		if got := llmtest.Ask(ctx, p, llmtest.Question(fault)); !errors.Is(got.Err, context.DeadlineExceeded) {
			t.Errorf("%s: error = %v", fault, got.Err)
		}
		cancel()
	}
}

func TestStream_EndsWhatTakesTooLongOverall(t *testing.T) {
	up := llmtest.NewUpstream(t)
	p := provider(t, openai.Config{BaseURL: up.URL, Upstream: upstream.Config{Overall: 50 * time.Millisecond}})
	got := llmtest.Ask(t.Context(), p, llmtest.Question("stall"))
	if e, ok := errors.AsType[*llm.Error](got.Err); !ok || !strings.Contains(e.Error(), "longer than allowed") {
		t.Errorf("error = %v", got.Err)
	}
}

func TestStream_UsesTheConnectionAgain(t *testing.T) {
	up := llmtest.NewUpstream(t)
	p := provider(t, openai.Config{BaseURL: up.URL})
	var ports []string
	for range 3 {
		if got := llmtest.Ask(t.Context(), p, llmtest.Question("none")); got.Err != nil {
			t.Fatal(got.Err)
		}
		ports = append(ports, up.Peer())
	}
	if ports[0] != ports[1] || ports[1] != ports[2] {
		t.Errorf("connections: %v, want one", ports)
	}
}

// scripted serves the same events for every request.
func scripted(t testing.TB, events ...string) *openai.Provider {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		for _, e := range events {
			fmt.Fprintf(w, "data: %s\n\n", e)
		}
	}))
	t.Cleanup(s.Close)
	return provider(t, openai.Config{BaseURL: s.URL})
}

func TestStream_PassesAzuresFieldsThrough(t *testing.T) {
	prompt := `[{"prompt_index":0,"content_filter_results":{"hate":{"filtered":false}}}]`
	filter := `{"violence":{"filtered":false,"severity":"safe"}}`
	p := scripted(t,
		`{"choices":[],"created":0,"id":"","model":"","object":"","prompt_filter_results":`+prompt+`}`,
		`{"choices":[{"content_filter_results":{},"delta":{"content":"","role":"assistant"},"finish_reason":null,"index":0}],"id":"c-1","model":"gpt-x","system_fingerprint":"fp_9"}`,
		`{"choices":[{"content_filter_results":`+filter+`,"delta":{"content":"Hi"},"finish_reason":null,"index":0}],"id":"c-1","model":"gpt-x","system_fingerprint":"fp_9"}`,
		`{"choices":[{"content_filter_results":{},"delta":{},"finish_reason":"stop","index":0}],"id":"c-1","model":"gpt-x","system_fingerprint":"fp_9"}`,
		`[DONE]`)
	var got []llm.Chunk
	for c, err := range p.Stream(t.Context(), llmtest.Question("m")) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, c)
	}
	want := []llm.Chunk{
		{Model: "gpt-x", Vendor: &llm.Vendor{ID: "c-1", SystemFingerprint: "fp_9", PromptFilterResults: json.RawMessage(prompt)}},
		{Text: "Hi", Vendor: &llm.Vendor{ContentFilter: json.RawMessage(filter)}},
		{FinishReason: "stop"},
		{Usage: &llm.Usage{Input: 13, Output: 1, Estimated: true}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestStream_AssemblesToolCalls(t *testing.T) {
	p := scripted(t,
		`{"model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"find","arguments":""}}]}}]}`,
		`{"model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"q\":"}}]}}]}`,
		`{"model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"b","function":{"name":"get","arguments":"{}"}},{"index":0,"function":{"arguments":"1}"}}]}}]}`,
		`{"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`, `[DONE]`)
	got := llmtest.Ask(t.Context(), p, llmtest.Question("m"))
	want := []llm.ToolCall{{ID: "a", Name: "find", Arguments: `{"q":1}`}, {ID: "b", Name: "get", Arguments: "{}"}}
	if diff := cmp.Diff(want, got.Calls); diff != "" || got.Err != nil || got.Finish != "tool_calls" {
		t.Errorf("%v %q %s", got.Err, got.Finish, diff)
	}
}

func TestStream_RejectsToolCallsOutOfOrder(t *testing.T) {
	for _, index := range []string{"-1", "5", "1000000000"} {
		p := scripted(t, `{"model":"m","choices":[{"delta":{"tool_calls":[{"index":`+index+`}]}}]}`, `[DONE]`)
		if got := llmtest.Ask(t.Context(), p, llmtest.Question("m")); got.Err == nil {
			t.Errorf("index %s was taken", index)
		}
	}
}

func TestStream_ReadsWhatDiffersFromTheUsualEvent(t *testing.T) {
	event := func(delta string) string {
		return `{"id":"c","model":"m","choices":[{"index":0,"delta":{` + delta + `},"finish_reason":null}]}`
	}
	for _, c := range []struct {
		name            string
		events          []string
		text, reasoning string
	}{
		{"escapes", []string{event(`"content":"a"`), event(`"content":"\n\"b\"\\"`), event(`"content":"\u00e9é"`)}, "a\n\"b\"\\éé", ""},
		{"an empty delta keeps nothing of the former", []string{event(`"content":"a"`), event(``), event(`"content":"b"`)}, "ab", ""},
		{"null", []string{event(`"content":"a"`), event(`"content":null`)}, "a", ""},
		{"content twice", []string{event(`"content":"a","content":"b"`), event(`"content":"c","content":"b"`)}, "bb", ""},
		{"content in another key", []string{event(`"x\"content":"q","content":"a"`), event(`"x\"content":"r","content":"a"`)}, "aa", ""},
		{"another field between the same ends", []string{event(`"content":"a"`), event(`"content":"b"},"x":{"y":"z"`)}, "ab", ""},
		{"reasoning", []string{event(`"content":"a"`), event(`"reasoning_content":"r"`), event(`"reasoning":"s"`)}, "a", "rs"},
		{"reasoning beside the text", []string{event(`"content":"a","reasoning":"r"`), event(`"content":"b","reasoning":"r"`)}, "ab", "rr"},
		{"second choices", []string{event(`"content":"a"`), `{"model":"m","choices":[{"index":1,"delta":{"content":"other"}}]}`}, "a", ""},
		{"invalid UTF-8", []string{event(`"content":"a"`), event("\"content\":\"\xff\"")}, "a\ufffd", ""},
		{"padding that varies", []string{
			`{"model":"m","choices":[{"index":0,"delta":{"content":"a"}}],"obfuscation":"x"}`,
			`{"model":"m","choices":[{"index":0,"delta":{"content":"b"}}],"obfuscation":"xyz"}`}, "ab", ""},
		{"spaces", []string{`{ "model" : "m", "choices" : [ { "delta" : { "content" : "a" } } ] }`}, "a", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := llmtest.Ask(t.Context(), scripted(t, append(c.events, "[DONE]")...), llmtest.Question("m"))
			if got.Err != nil || got.Text != c.text || got.Reasoning != c.reasoning {
				t.Errorf("got %q, %q, %v; want %q, %q", got.Text, got.Reasoning, got.Err, c.text, c.reasoning)
			}
		})
	}
}

func TestStream_RejectsAnEventThatIsNotJSONBetweenTheUsualEnds(t *testing.T) {
	for _, middle := range []string{"b\x01", `b" "c`, `\x`} {
		p := scripted(t, `{"model":"m","choices":[{"delta":{"content":"a"}}]}`,
			`{"model":"m","choices":[{"delta":{"content":"`+middle+`"}}]}`, "[DONE]")
		if got := llmtest.Ask(t.Context(), p, llmtest.Question("m")); got.Err == nil {
			t.Errorf("%q was taken as %q", middle, got.Text)
		}
	}
}

func TestStream_TakesNoUsageThatCannotBe(t *testing.T) {
	for _, usage := range []string{
		`{"prompt_tokens":-1,"completion_tokens":5}`, `{"prompt_tokens":1,"completion_tokens":1e18}`,
		`{"prompt_tokens":99999999999,"completion_tokens":5}`, `{"prompt_tokens":1.5}`, `"lots"`, `[]`, `{}`, `null`,
		`{"prompt_tokens":5,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":6}}`,
		`{"prompt_tokens":99999999999999999999999999999}`,
	} {
		p := scripted(t, `{"model":"m","choices":[{"delta":{"content":"abcdefgh"},"finish_reason":"stop"}],"usage":`+usage+`}`, "[DONE]")
		got := llmtest.Ask(t.Context(), p, llmtest.Question("m"))
		if got.Err != nil || !got.Usage.Estimated || got.Usage.Output != 2 {
			t.Errorf("%s: %+v, %v", usage, got.Usage, got.Err)
		}
	}
}

func TestNew_RefusesWhatIsNoURL(t *testing.T) {
	for _, base := range []string{"api.openai.com/v1", "ftp://x", "http://", "http://a b", "://", "http://[::1"} {
		if _, err := openai.New(openai.Config{BaseURL: base}); err == nil {
			t.Errorf("%q was taken", base)
		}
	}
}

func TestStream_SaysThatTheModelMiscalledATool(t *testing.T) {
	llmtest.RunMiscall(t, 400, "application/json", `{"error":{"message":"Failed to call a function. Please adjust your prompt.",`+
		`"type":"invalid_request_error","code":"tool_use_failed","failed_generation":"<function=x"}}`, openModel)
}

func TestContextSize_IsWhatTheServerSaysOrLess(t *testing.T) {
	llmtest.RunSizes(t, "/v1/models", `{"data":[{"id":"a","max_model_len":8192},{"id":"b","context_length":4096},{"id":"c","context_window":131072},
		{"id":"d","meta":{"n_ctx_train":32768,"n_ctx":2048}},{"id":"e"},{"id":"f","max_model_len":-1},{"id":"gpt-4o","context_length":16000},{"id":"gpt-4o-mini","context_length":999999}]}`,
		map[string]int{"a": 8192, "b": 4096, "c": 131_072, "d": 2048, "e": 0, "f": 0, "unlisted": 0, "gpt-4o": 16_000, "gpt-4o-mini": 128_000}, openModel)
	llmtest.RunSizes(t, "/v1/models", `<html>`, map[string]int{"a": 0, "gpt-4o": 128_000}, openModel)
}
