package responses

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"parley/internal/chat"
	"parley/internal/llm"
	"parley/internal/transcript"
	"parley/internal/transcript/transcripttest"
	"parley/internal/wire"
	"parley/internal/wire/openai"
	"parley/internal/wire/wiretest"
)

func TestCreate_RefusesBadInputNamingIt(t *testing.T) {
	const model = `"model":"parley"`
	with := func(members string) string { return `{` + model + `,"input":"x",` + members + `}` }
	item := func(i string) string { return `{` + model + `,"input":[` + i + `,{"role":"user","content":"x"}]}` }
	part := func(p string) string { return item(`{"role":"user","content":[` + p + `]}`) }
	tool := func(f string) string { return with(`"tools":[` + f + `]`) }
	cases := []struct{ name, body, param, code string }{
		{"no JSON", `model`, "", ""},
		{"a key twice", with(`"store":true,"store":true`), "", ""},
		{"no model", `{"input":"x"}`, "model", openai.Missing},
		{"model is a number", `{"model":3,"input":"x"}`, "model", openai.Invalid},
		{"no input", `{` + model + `}`, "input", openai.Missing},
		{"input is a number", `{` + model + `,"input":3}`, "input", openai.Invalid},
		{"input is empty", `{` + model + `,"input":""}`, "input", openai.Invalid},
		{"no question", `{` + model + `,"input":[{"role":"assistant","content":"x"}]}`, "input", openai.Invalid},
		{"1,001 items", `{` + model + `,"input":[` + strings.Repeat(`{},`, 1000) + `{}]}`, "input", openai.Invalid},
		{"item is text", item(`"x"`), "input[0]", openai.Invalid},
		{"item of a number", item(`{"type":3}`), "input[0].type", openai.Invalid},
		{"item of another type", item(`{"type":"computer_call"}`), "input[0].type", openai.UnsupportedValue},
		{"item without type, role and id", item(`{}`), "input[0].type", openai.UnsupportedValue},
		{"a role", item(`{"role":"tool","content":"x"}`), "input[0].role", openai.Invalid},
		{"no content", item(`{"role":"user"}`), "input[0].content", openai.Invalid},
		{"part is text", part(`"x"`), "input[0].content[0]", openai.Invalid},
		{"part without its text", part(`{"type":"input_text"}`), "input[0].content[0].text", openai.Invalid},
		{"part of another type", part(`{"type":"image"}`), "input[0].content[0].type", openai.Invalid},
		{"a file", part(`{"type":"input_file","file_id":"f"}`), "input[0].content[0]", openai.Unsupported},
		{"image by its file", part(`{"type":"input_image","file_id":"f"}`), "input[0].content[0]", openai.Unsupported},
		{"image by https", part(`{"type":"input_image","image_url":"https://169.254.169.254/"}`), "input[0].content[0].image_url", openai.Unsupported},
		{"image without vision", part(`{"type":"input_image","image_url":"data:image/png;base64,AAAA"}`), "input[0].content[0].image_url", openai.Unsupported},
		{"image of the assistant", item(`{"role":"assistant","content":[{"type":"input_image"}]}`), "input[0].content[0]", openai.Unsupported},
		{"call without a name", item(`{"type":"function_call","call_id":"c","arguments":""}`), "input[0]", openai.Invalid},
		{"output without its call", item(`{"type":"function_call_output","output":""}`), "input[0].call_id", openai.Missing},
		{"output is an object", item(`{"type":"function_call_output","call_id":"c","output":{}}`), "input[0].output", openai.Invalid},
		{"compaction of another server", item(`{"type":"compaction","encrypted_content":"gAAAA"}`), "input[0].encrypted_content", openai.Invalid},
		{"instructions", with(`"instructions":[]`), "instructions", openai.Invalid},
		{"stream", with(`"stream":"yes"`), "stream", openai.Invalid},
		{"store", with(`"store":1`), "store", openai.Invalid},
		{"background", with(`"background":1`), "background", openai.Invalid},
		{"temperature", with(`"temperature":3`), "temperature", openai.Invalid},
		{"max_output_tokens", with(`"max_output_tokens":0`), "max_output_tokens", openai.Invalid},
		{"max_tool_calls", with(`"max_tool_calls":1.5`), "max_tool_calls", openai.Invalid},
		{"reasoning", with(`"reasoning":"high"`), "reasoning", openai.Invalid},
		{"effort", with(`"reasoning":{"effort":"huge"}`), "reasoning.effort", openai.Invalid},
		{"summary", with(`"reasoning":{"summary":"long"}`), "reasoning.summary", openai.Invalid},
		{"text", with(`"text":"json"`), "text", openai.Invalid},
		{"format", with(`"text":{"format":"json"}`), "text.format", openai.Invalid},
		{"another format", with(`"text":{"format":{"type":"grammar"}}`), "text.format.type", openai.UnsupportedValue},
		{"no schema", with(`"text":{"format":{"type":"json_schema","name":"x"}}`), "text.format.schema", openai.Invalid},
		{"include", with(`"include":"x"`), "include", openai.Invalid},
		{"log probabilities", with(`"include":["message.output_text.logprobs"]`), "include", openai.UnsupportedValue},
		{"top_logprobs", with(`"top_logprobs":2`), "top_logprobs", openai.UnsupportedValue},
		{"metadata of numbers", with(`"metadata":{"a":1}`), "metadata", openai.Invalid},
		{"truncation", with(`"truncation":"yes"`), "truncation", openai.Invalid},
		{"prompt", with(`"prompt":{"id":"p"}`), "prompt", openai.Unsupported},
		{"prompt_cache_key", with(`"prompt_cache_key":"` + strings.Repeat("x", maxEcho+1) + `"`), "prompt_cache_key", openai.Invalid},
		{"tools", with(`"tools":{}`), "tools", openai.Invalid},
		{"129 tools", tool(strings.Repeat(`{"type":"function","name":"f"},`, 128) + `{}`), "tools", openai.Invalid},
		{"a tool that is text", tool(`"f"`), "tools[0]", openai.Invalid},
		{"a tool in the form of Chat Completions", tool(`{"type":"function","function":{"name":"f"}}`), "tools[0].name", openai.Missing},
		{"parameters", tool(`{"type":"function","name":"f","parameters":[]}`), "tools[0].parameters", openai.Invalid},
		{"another tool", tool(`{"type":"web_search"}`), "tools[0].type", openai.UnsupportedValue},
		{"eleven stores", tool(`{"type":"file_search","vector_store_ids":["1","2","3","4","5","6","7","8","9","10","11"]}`), "tools[0].vector_store_ids", openai.UnsupportedValue},
		{"filters", tool(`{"type":"file_search","filters":{}}`), "tools[0].filters", openai.Invalid},
		{"ranking_options", tool(`{"type":"file_search","ranking_options":{"score_threshold":2}}`), "tools[0].ranking_options.score_threshold", openai.Invalid},
		{"tool_choice", with(`"tool_choice":"any"`), "tool_choice", openai.Invalid},
		{"tool_choice of another tool", with(`"tool_choice":{"type":"mcp"}`), "tool_choice", openai.UnsupportedValue},
		{"tool_choice without a name", with(`"tool_choice":{"type":"function"}`), "tool_choice.name", openai.Missing},
		{"allowed_tools without tools", with(`"tool_choice":{"type":"allowed_tools"}`), "tool_choice.tools", openai.Missing},
		{"conversation", with(`"conversation":{}`), "conversation.id", openai.Invalid},
		{"two pasts", with(`"conversation":"c","previous_response_id":"r"`), "conversation", openai.Invalid},
		{"no such past", with(`"previous_response_id":"r"`), "previous_response_id", "previous_response_not_found"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			runner := &wiretest.Scripted{}
			w := send(handlerOf(runner, nil), http.MethodPost, endpoint, c.body)
			var got struct {
				Error struct{ Type, Code, Message, Param string }
			}
			if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
				t.Fatalf("%s: %v", w.Body, err)
			}
			if e := got.Error; w.Code != 400 || e.Type != "invalid_request" || e.Param != c.param || e.Code != c.code || e.Message == "" {
				t.Errorf("got %d %s, want the parameter %q and the code %q", w.Code, w.Body, c.param, c.code)
			}
			if len(runner.Asked) > 0 {
				t.Error("the turn was run")
			}
		})
	}
}

func TestCreate_DoesNotFindTheStoreOrTheItemThatIsNotThere(t *testing.T) {
	for _, body := range []string{
		`{"model":"parley","input":"x","tools":[{"type":"file_search","vector_store_ids":["vs_1"]}]}`,
		`{"model":"parley","input":[{"type":"item_reference","id":"msg_1_0"}]}`,
		`{"model":"parley","input":[{"id":"x"}]}`,
		`{"model":"parley","input":"x","conversation":"conv_1"}`,
		`{"model":"parley/payroll","input":"x"}`,
	} {
		if w := send(handlerOf(nil, nil), http.MethodPost, endpoint, body); w.Code != 404 || !strings.Contains(w.Body.String(), `"type":"not_found"`) {
			t.Errorf("%s: %d %s", body, w.Code, w.Body)
		}
	}
}

// Searches know whose attributes count: those of files in vector stores, elsewhere those of documents.
func TestCreate_FiltersWhateverIsSearched(t *testing.T) {
	runner := answering(t)
	for i, c := range []struct{ stores, namespace, places string }{
		{``, "default", ""}, {`"vector_store_ids":["hr"],`, "hr", ""}, {`"vector_store_ids":["hr","vs_tower"],`, "hr", "hr vs_tower"},
	} {
		body := `{"model":"parley","input":"x","tools":[{"type":"file_search",` + c.stores + `"filters":{"type":"eq","key":"a","value":1}}]}`
		if w := send(handlerOf(runner, nil), http.MethodPost, endpoint, body); w.Code != 200 {
			t.Fatalf("%s: %d %s", c.stores, w.Code, w.Body)
		}
		got, places := runner.Asked[i], []string{}
		for _, p := range got.Places {
			places = append(places, p.Namespace)
		}
		if got.Options.Where.String() != `eq["a",1]` || got.Namespace != c.namespace || strings.Join(places, " ") != c.places {
			t.Errorf("%s: %s %v, filtered by %v", c.stores, got.Namespace, places, got.Options.Where)
		}
	}
}

// A long chain costs no more than its newest part, which begins with no result without its call.
func TestHistory_IsTheNewestPartOfALongChain(t *testing.T) {
	runner := answering(t)
	h := handlerOf(runner, func(c *Config) { c.MaxMessages = 10 })
	previous := ""
	for range 8 {
		body := `{"model":"parley","input":[{"role":"user","content":"Why?"},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},` +
			`{"type":"function_call_output","call_id":"c","output":"x"}]` + previous + `}`
		w := send(h, http.MethodPost, endpoint, body)
		previous = `,"previous_response_id":"` + idIn(t, w) + `"`
	}
	last := runner.Asked[len(runner.Asked)-1].Messages
	if len(last) > 8 || last[0].Role == "tool" {
		t.Errorf("the last turn was told %d messages, the first of which is the %s's", len(last), last[0].Role)
	}
}

func TestExpire_DeletesOldResponsesAndNothingElse(t *testing.T) {
	s, now := &transcripttest.Store{}, time.Now()
	for i, kind := range []transcript.Kind{transcript.Responses, transcript.Responses, transcript.Conversations} {
		_, err := s.Save(t.Context(), transcript.Scope{Kind: kind}, string(rune('a'+i)), func(c *transcript.Transcript, _ bool) error {
			c.UpdatedAt = now.Add(time.Duration(i%2) * time.Hour)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if n, err := Expire(context.Background(), s, now.Add(time.Minute)); n != 1 || err != nil {
		t.Errorf("deleted %d, %v", n, err)
	}
}

func TestCreate_BoundsWhatALittleInputCanBecome(t *testing.T) {
	long := pack([]chat.Message{chat.TextMessage(llm.User, strings.Repeat("a", maxWholeMessage))})
	many := strings.Repeat(`{"type":"compaction","encrypted_content":"`+long+`"},`, 100)
	w := send(handlerOf(answering(t), nil), http.MethodPost, endpoint, `{"model":"parley","input":[`+many+`{"role":"user","content":"x"}]}`)
	if w.Code != 400 {
		t.Errorf("many compactions: %d %.200s", w.Code, w.Body)
	}
	h := handlerOf(answering(t), nil)
	first := send(h, http.MethodPost, endpoint, `{"model":"parley","input":"`+strings.Repeat("a", 100_000)+`"}`)
	id := strings.Replace(idIn(t, first), responsePrefix, messagePrefix, 1) + "_i0"
	body := `{"model":"parley","input":[` + strings.Repeat(`{"type":"item_reference","id":"`+id+`"},`, 500) + `{"role":"user","content":"x"}]}`
	if w := send(h, http.MethodPost, endpoint, body); w.Code != 413 {
		t.Errorf("many references: %d %.200s", w.Code, w.Body)
	}
}

func TestMemory_KeepsTheNewestPartOfALongConversation(t *testing.T) {
	m := memory{most: wire.DefaultMaxMessages / 2}
	x := &exchange{}
	for range 20 {
		x.req.Messages = append(m.messages, llmImage(100_000), chat.Message{Role: llm.Assistant, ToolCalls: []llm.ToolCall{{ID: "c"}}},
			chat.Message{Role: llm.ToolRole, ToolCallID: "c"})
		m.keep(x)
	}
	size := 0
	for _, message := range m.messages {
		for _, p := range message.Parts {
			size += len(p.Image)
		}
	}
	if size == 0 || size > maxHistoryBytes || m.messages[0].Role == llm.ToolRole {
		t.Errorf("%d bytes of images in %d messages are kept, the first one is the %s's", size, len(m.messages), m.messages[0].Role)
	}
}

func TestMetadata_IsLimitedInCharacters(t *testing.T) {
	for _, c := range []struct {
		key, value string
		ok         bool
	}{
		{strings.Repeat("ключ", 16), strings.Repeat("界", maxMetadataValue), true},
		{"a", strings.Repeat("a", maxMetadataValue+1), false},
		{strings.Repeat("a", maxMetadataKey+1), "a", false},
	} {
		if _, err := metadataOf(wire.Value(`{"` + c.key + `":"` + c.value + `"}`)); (err == nil) != c.ok {
			t.Errorf("a key of %d bytes and a value of %d: %v", len(c.key), len(c.value), err)
		}
	}
}

func TestConversation_NamesItemsInErrors(t *testing.T) {
	h := handlerOf(nil, func(c *Config) { c.MaxMessages = 2 })
	for items, param := range map[string]string{`[{},{},{}]`: "items", `[{"id":"x"}]`: "items[0].id", `[3]`: "items[0]"} {
		w := send(h, http.MethodPost, "/v1/conversations", `{"items":`+items+`}`)
		if !strings.Contains(w.Body.String(), `"param":"`+param+`"`) || strings.Contains(w.Body.String(), "input") {
			t.Errorf("%s: %d %s", items, w.Code, w.Body)
		}
	}
}

func llmImage(size int) chat.Message {
	return chat.Message{Role: llm.User, Parts: []llm.Part{{Image: strings.Repeat("x", size)}}}
}
