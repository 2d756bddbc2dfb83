package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/test/needs"
)

// able is an OpenAI-compatible server whose model calls offered tools, answers in JSON on request,
// and says how many images it sees.
func able(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var request struct {
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
		Tools          []json.RawMessage
		Stop           []string
		ResponseFormat *json.RawMessage `json:"response_format"`
	}
	if err := json.Unmarshal(body, &request); err != nil || len(request.Messages) == 0 {
		http.Error(w, "no messages", http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	last := request.Messages[len(request.Messages)-1]
	event := func(delta, finish string) {
		fmt.Fprintf(w, `data: {"model":"gpt-4.1","system_fingerprint":"fp_7","choices":[{"index":0,"delta":%s,"finish_reason":%s}]}`+"\n\n", delta, finish)
	}
	say := func(text string) {
		quoted, _ := json.Marshal(text)
		event(`{"content":`+string(quoted)+`}`, "null")
	}
	finish := `"stop"`
	switch {
	case last.Role == "tool":
		results := []string{}
		for _, m := range request.Messages {
			if m.Role == "tool" {
				results = append(results, string(m.Content))
			}
		}
		say("The tools say " + strings.Join(results, " and ") + " [lighthouse.md].")
	case len(request.Tools) > 0:
		event(`{"content":null,"tool_calls":[{"index":0,"id":"call_a","type":"function","function":{"name":"weather","arguments":""}}]}`, "null")
		event(`{"tool_calls":[{"index":0,"function":{"arguments":"{\"city\":"}}]}`, "null")
		event(`{"tool_calls":[{"index":0,"function":{"arguments":"\"Oslo\"}"}}]}`, "null")
		event(`{"tool_calls":[{"index":1,"id":"call_b","type":"function","function":{"name":"weather","arguments":"{\"city\":\"Bergen\"}"}}]}`, "null")
		finish = `"tool_calls"`
	case request.ResponseFormat != nil:
		say(`{"height":46,"source":"[lighthouse.md]"}`)
	default:
		say(fmt.Sprintf("I see %d images and stop at %q.", strings.Count(string(last.Content), `"image_url":{"url":"data:image/png`), request.Stop))
	}
	event(`{}`, finish)
	fmt.Fprint(w, `data: {"choices":[],"usage":{"prompt_tokens":11,"completion_tokens":7,"total_tokens":18}}`+"\n\ndata: [DONE]\n\n")
}

// A pixel, as a PNG.
const pixel = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

func TestSDK_OpenAIsClientUsesToolsImagesAndJSON(t *testing.T) {
	needs.Long(t)
	t.Parallel()
	dir := requireSDK(t, "openai")
	up := httptest.NewServer(http.HandlerFunc(able))
	t.Cleanup(up.Close)
	docs := t.TempDir()
	const text = "# The lighthouse\n\nThe lighthouse of Skagen is 46 metres tall.\n"
	if err := os.WriteFile(filepath.Join(docs, "lighthouse.md"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	env := []string{"OPENAI_API_KEY=sk-test", "OPENAI_BASE_URL=" + up.URL + "/v1"}
	p := serveIngested(t, env, docs, "--model", "openai:gpt-4.1")
	c := openAIClient{dir: dir, base: "http://" + p.addr + "/v1"}
	for _, name := range []string{"tools", "toolsStreamed"} {
		t.Run(name, func(t *testing.T) { testOpenAITools(t, c.ask(t, name, howTall, "")) })
	}
	t.Run("calls", func(t *testing.T) { testOpenAICalls(t, c) })
	t.Run("JSON", func(t *testing.T) { testOpenAIJSON(t, c) })
	t.Run("image", func(t *testing.T) { testOpenAIImage(t, c) })
	if err := p.signal(t, os.Interrupt); err != nil {
		t.Errorf("the server ended with %v", err)
	}
}

// testOpenAITools checks an exchange by the client's own tool runner: the model called, the client
// ran its function and sent the results, the model answered.
func testOpenAITools(t *testing.T, got openAICall) {
	t.Helper()
	if got.Thrown != nil {
		t.Fatalf("the client threw %+v", got.Thrown)
	}
	if diff := cmp.Diff([]string{"Oslo", "Bergen"}, got.Ran); diff != "" {
		t.Errorf("the client's function was run with: %s", diff)
	}
	if want := `The tools say "20 in Oslo" and "20 in Bergen" [lighthouse.md].`; got.Final != want {
		t.Errorf("the answer is %q, want %q", got.Final, want)
	}
}

func testOpenAICalls(t *testing.T, c openAIClient) {
	const tools = `,"tools":[{"type":"function","function":{"name":"weather","parameters":{"type":"object"}}}],"stream_options":{"include_usage":true}`
	got := c.ask(t, "stream", howTall, tools)
	if got.Thrown != nil || len(got.Chunks) < 4 {
		t.Fatalf("got %+v", got)
	}
	var indices []int
	var finish string
	for _, chunk := range got.Chunks {
		for _, choice := range chunk.Choices {
			for _, call := range choice.Delta.ToolCalls {
				indices = append(indices, call.Index)
				if call.ID == "" || call.Type != "function" || call.Function.Name != "weather" || !json.Valid([]byte(call.Function.Arguments)) {
					t.Errorf("the call is %+v", call)
				}
			}
			finish += choice.FinishReason
		}
	}
	if diff := cmp.Diff([]int{0, 1}, indices); diff != "" || finish != "tool_calls" {
		t.Errorf("finish reason %q, indices of calls: %s", finish, diff)
	}
	if usage := got.Chunks[len(got.Chunks)-1].Usage; usage == nil || usage.Total != 18 {
		t.Errorf("usage %+v", usage)
	}
	one := c.ask(t, "complete", howTall, tools+`,"parallel_tool_calls":false,"tool_choice":"required"`)
	if one.Thrown != nil || len(one.Result.Choices[0].Message.ToolCalls) != 1 || one.Result.Fingerprint != "gpt-4.1 fp_7" {
		t.Errorf("got %+v", one)
	}
}

func testOpenAIJSON(t *testing.T, c openAIClient) {
	const format = `,"response_format":{"type":"json_schema","json_schema":{"name":"tower","strict":true,"schema":{"type":"object","properties":{"height":{"type":"number"}}}}}`
	got := c.ask(t, "parse", howTall, format)
	if got.Thrown != nil || len(got.Result.Choices) != 1 {
		t.Fatalf("got %+v", got)
	}
	m := got.Result.Choices[0].Message
	if string(m.Parsed) != `{"height":46,"source":"[lighthouse.md]"}` || len(m.Annotations) != 1 {
		t.Errorf("the message is %+v", m)
	}
}

func testOpenAIImage(t *testing.T, c openAIClient) {
	ask := func(url string) openAICall {
		return c.call(t, "complete", fmt.Sprintf(`{"model":"parley","stop":"END","reasoning_effort":"low","messages":[{"role":"user","content":[`+
			`{"type":"text","text":"What is this?"},{"type":"image_url","image_url":{"url":%q}}]}]}`, url))
	}
	if got := ask(pixel); got.Thrown != nil || got.Result.Choices[0].Message.Content != `I see 1 images and stop at ["END"].` {
		t.Errorf("got %+v", got)
	}
	if got := ask("https://example.com/a.png"); got.Thrown == nil || got.Thrown.Status != 400 || got.Thrown.Param != "messages[0].content[1].image_url" {
		t.Errorf("got %+v", got)
	}
}
