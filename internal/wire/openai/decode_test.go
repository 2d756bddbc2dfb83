package openai

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"parley/internal/access"
	"parley/internal/chat"
	"parley/internal/wire"
	"parley/internal/wire/wiretest"
)

// complete sends a body and returns what came.
func complete(h *Handler, body string) *httptest.ResponseRecorder { return completeFor(h, "", body) }

func completeFor(h *Handler, user, body string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(body))
	r.Header.Set("X-Test-User", user)
	serve(h).ServeHTTP(w, r)
	return w
}

type errorBody struct {
	Error struct {
		Message, Type string
		Param, Code   *string
	}
}

func TestComplete_RefusesBadInputNamingIt(t *testing.T) {
	const model, question = `"model":"parley"`, `"messages":[{"role":"user","content":"x"}]`
	with := func(members string) string { return `{` + model + `,` + question + `,` + members + `}` }
	message := func(m string) string {
		return `{` + model + `,"messages":[` + m + `,{"role":"user","content":"x"}]}`
	}
	part := func(p string) string { return message(`{"role":"user","content":[` + p + `]}`) }
	cases := []struct{ name, body, param, code, message string }{
		{"not JSON", `model`, "", "", "the request body is not valid JSON: unexpected 'm' at byte 0"},
		{"a key twice", with(`"n":1,"n":1`), "", "", `the request body has the key "n" twice in one object`},
		{"no model", `{` + question + `}`, "model", missing, `"model" must name a model; GET /v1/models lists them.`},
		{"model null", `{"model":null,` + question + `}`, "model", missing, `"model" must name a model; GET /v1/models lists them.`},
		{"model is a number", `{"model":3,` + question + `}`, "model", invalid, `"model" must be a string.`},
		{"no messages", `{` + model + `}`, "messages", missing, `"messages" must be a list of messages.`},
		{"messages null", `{` + model + `,"messages":null}`, "messages", missing, `"messages" must be a list of messages.`},
		{"messages is text", `{` + model + `,"messages":"x"}`, "messages", invalid, `"messages" must be a list of messages.`},
		{"messages empty", `{` + model + `,"messages":[]}`, "messages", invalid, `"messages" has no question: the last message with the role "user" is missing or has no text.`},
		{"1,001 messages", `{` + model + `,"messages":[` + strings.Repeat(`{},`, 1000) + `{}]}`, "messages", invalid, `"messages" may hold 1000 messages at most.`},
		{"no question", `{` + model + `,"messages":[{"role":"assistant","content":"x"}]}`, "messages", invalid, `"messages" has no question: the last message with the role "user" is missing or has no text.`},
		{"blank question", `{` + model + `,"messages":[{"role":"user","content":[{"type":"text","text":" \n"},{"type":"text","text":""}]}]}`, "messages", invalid, `"messages" has no question: the last message with the role "user" is missing or has no text.`},
		{"message is text", message(`"x"`), "messages[0]", invalid, `"messages[0]" must be an object.`},
		{"no role", message(`{"content":"x"}`), "messages[0].role", invalid, `"messages[0].role" must be "user", "assistant", "system", "developer" or "tool".`},
		{"role unknown", message(`{"role":"User","content":"x"}`), "messages[0].role", invalid, `"messages[0].role" must be "user", "assistant", "system", "developer" or "tool".`},
		{"result of no call", message(`{"role":"tool","content":"x"}`), "messages[0].tool_call_id", missing, `"messages[0].tool_call_id" must name the call that the message answers.`},
		{"result that is an object", message(`{"role":"tool","content":{},"tool_call_id":"1"}`), "messages[0].content", invalid, `"messages[0].content" must be a string or a list of parts.`},
		{"result of a function", message(`{"role":"function","content":"x"}`), "messages[0].role", unsupported, `"messages[0].role" cannot be "function"; use "tool" for the result of a tool.`},
		{"call without a function", message(`{"role":"assistant","content":null,"tool_calls":[{"id":"1"}]}`), "messages[0].tool_calls[0]", invalid, `"messages[0].tool_calls[0]" must be the call of a function, with "id" and "function" {"name", "arguments"}.`},
		{"call without an id", message(`{"role":"assistant","content":null,"tool_calls":[{"function":{"name":"f","arguments":""}}]}`), "messages[0].tool_calls[0]", invalid, `"messages[0].tool_calls[0]" must be the call of a function, with "id" and "function" {"name", "arguments"}.`},
		{"call of another kind", message(`{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"custom","function":{"name":"f","arguments":""}}]}`), "messages[0].tool_calls[0]", invalid, `"messages[0].tool_calls[0]" must be the call of a function, with "id" and "function" {"name", "arguments"}.`},
		{"call whose arguments are an object", message(`{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":{}}}]}`), "messages[0].tool_calls[0]", invalid, `"messages[0].tool_calls[0]" must be the call of a function, with "id" and "function" {"name", "arguments"}.`},
		{"calls that are no list", message(`{"role":"assistant","content":null,"tool_calls":{}}`), "messages[0].tool_calls", invalid, `"messages[0].tool_calls" must be a list of calls.`},
		{"call of a function", message(`{"role":"assistant","content":null,"function_call":{}}`), "messages[0]", unsupported, `"messages[0].function_call" is not supported; use "tool_calls".`},
		{"no content", message(`{"role":"user"}`), "messages[0].content", invalid, `"messages[0].content" must be a string or a list of parts.`},
		{"content null", message(`{"role":"assistant","content":null}`), "messages[0].content", invalid, `"messages[0].content" must be a string or a list of parts.`},
		{"content is an object", message(`{"role":"user","content":{}}`), "messages[0].content", invalid, `"messages[0].content" must be a string or a list of parts.`},
		{"refusal of a user", message(`{"role":"user","content":null,"refusal":"x"}`), "messages[0].content", invalid, `"messages[0].content" must be a string or a list of parts.`},
		{"part is text", part(`"x"`), "messages[0].content[0]", invalid, `"messages[0].content[0]" must be an object.`},
		{"part without a type", part(`{"text":"x"}`), "messages[0].content[0]", invalid, `"messages[0].content[0].type" is not allowed in a message of this role.`},
		{"part without its text", part(`{"type":"text","text":"x"},{"type":"text"}`), "messages[0].content[1]", invalid, `"messages[0].content[1].text" must be a string.`},
		{"refusal part of a user", part(`{"type":"refusal","refusal":"x"}`), "messages[0].content[0]", invalid, `"messages[0].content[0].type" is not allowed in a message of this role.`},
		{"audio part", part(`{"type":"input_audio","input_audio":{}}`), "messages[0].content[0]", unsupported, `"messages[0].content[0]" is audio or a file, which this server does not read.`},
		{"file part", part(`{"type":"file","file":{}}`), "messages[0].content[0]", unsupported, `"messages[0].content[0]" is audio or a file, which this server does not read.`},
		{"image without vision", part(`{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}`), "messages[0].content[0].image_url", unsupported, `"messages[0].content[0].image_url" is an image, but this server's model does not accept images.`},
		{"image is text", part(`{"type":"image_url","image_url":"https://example.com/a.png"}`), "messages[0].content[0].image_url", invalid, `"messages[0].content[0].image_url" must be an object.`},
		{"image without its URL", part(`{"type":"image_url","image_url":{}}`), "messages[0].content[0].image_url", invalid, `"messages[0].content[0].image_url.url" must be a data: URL of a PNG, JPEG, GIF or WebP image in base64.`},
		{"image that is no image", part(`{"type":"image_url","image_url":{"url":"data:text/html;base64,AAAA"}}`), "messages[0].content[0].image_url", invalid, `"messages[0].content[0].image_url.url" must be a data: URL of a PNG, JPEG, GIF or WebP image in base64.`},
		{"image that is a drawing", part(`{"type":"image_url","image_url":{"url":"data:image/svg+xml;base64,AAAA"}}`), "messages[0].content[0].image_url", invalid, `"messages[0].content[0].image_url.url" must be a data: URL of a PNG, JPEG, GIF or WebP image in base64.`},
		{"image that is not base64", part(`{"type":"image_url","image_url":{"url":"data:image/png;base64,A!"}}`), "messages[0].content[0].image_url", invalid, `"messages[0].content[0].image_url.url" must be a data: URL of a PNG, JPEG, GIF or WebP image in base64.`},
		{"image that is empty", part(`{"type":"image_url","image_url":{"url":"data:image/png;base64,"}}`), "messages[0].content[0].image_url", invalid, `"messages[0].content[0].image_url.url" must be a data: URL of a PNG, JPEG, GIF or WebP image in base64.`},
		{"image by http", part(`{"type":"image_url","image_url":{"url":"http://169.254.169.254/"}}`), "messages[0].content[0].image_url", unsupported, `"messages[0].content[0].image_url.url" must be a data: URL: this server does not download images.`},
		{"image by https", part(`{"type":"image_url","image_url":{"url":"https://169.254.169.254/"}}`), "messages[0].content[0].image_url", unsupported, `"messages[0].content[0].image_url.url" must be a data: URL: this server does not download images.`},
		{"image of the system", message(`{"role":"system","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,"}}]}`), "messages[0].content[0]", invalid, `"messages[0].content[0].type" is not allowed in a message of this role.`},
		{"stream is text", with(`"stream":"yes"`), "stream", invalid, `"stream" must be true or false.`},
		{"stream_options is a list", with(`"stream_options":[]`), "stream_options", invalid, `"stream_options" must be an object.`},
		{"include_usage is a number", with(`"stream_options":{"include_usage":1}`), "stream_options.include_usage", invalid, `"stream_options.include_usage" must be true or false.`},
		{"temperature is high", with(`"temperature":2.1`), "temperature", invalid, `"temperature" must be a number from 0 to 2.`},
		{"temperature is text", with(`"temperature":"hot"`), "temperature", invalid, `"temperature" must be a number from 0 to 2.`},
		{"top_p is negative", with(`"top_p":-0.1`), "top_p", invalid, `"top_p" must be a number from 0 to 1.`},
		{"top_p is beyond numbers", with(`"top_p":"1e999"`), "top_p", invalid, `"top_p" must be a number from 0 to 1.`},
		{"max_tokens is 0", with(`"max_tokens":0`), "max_tokens", invalid, `"max_tokens" must be a whole number over 0.`},
		{"max_tokens is a fraction", with(`"max_tokens":1.5`), "max_tokens", invalid, `"max_tokens" must be a whole number over 0.`},
		{"max_completion_tokens is negative", with(`"max_completion_tokens":-1`), "max_completion_tokens", invalid, `"max_completion_tokens" must be a whole number over 0.`},
		{"a penalty is high", with(`"presence_penalty":2.1`), "presence_penalty", invalid, `"presence_penalty" must be a number from -2 to 2.`},
		{"seed is a fraction", with(`"seed":0.5`), "seed", invalid, `"seed" must be a whole number.`},
		{"n is 2", with(`"n":2`), "n", unsupportedValue, `"n" must be 1: this server gives one answer to a request.`},
		{"n is 0", with(`"n":0`), "n", unsupportedValue, `"n" must be 1: this server gives one answer to a request.`},
		{"stop is a number", with(`"stop":1`), "stop", invalid, `"stop" must be a string or a list of strings.`},
		{"stop holds a number", with(`"stop":["a",1]`), "stop", invalid, `"stop" must hold 4 strings at most.`},
		{"stop holds five", with(`"stop":["a","b","c","d","e"]`), "stop", invalid, `"stop" must hold 4 strings at most.`},
		{"stop is empty", with(`"stop":""`), "stop", invalid, `"stop" holds an empty string.`},
		{"reasoning_effort", with(`"reasoning_effort":"huge"`), "reasoning_effort", invalid, `"reasoning_effort" must be "none", "minimal", "low", "medium", "high" or "xhigh".`},
		{"a tool without its function", with(`"tools":[{"type":"function"}]`), "tools[0].function", invalid, `"tools[0].function" must be an object.`},
		{"a tool without a name", with(`"tools":[{"type":"function","function":{}}]`), "tools[0].function.name", missing, `"tools[0].function.name" must name the function.`},
		{"a tool whose name is a number", with(`"tools":[{"type":"function","function":{"name":1}}]`), "tools[0].function.name", invalid, `"tools[0].function.name" must be a string.`},
		{"a tool whose parameters are a list", with(`"tools":[{"type":"function","function":{"name":"f","parameters":[]}}]`), "tools[0].function.parameters", invalid, `"tools[0].function.parameters" must be an object.`},
		{"a custom tool", with(`"tools":[{"type":"custom","custom":{"name":"f"}}]`), "tools[0].type", unsupportedValue, `"tools[0].type" must be "function".`},
		{"a tool that is text", with(`"tools":["f"]`), "tools[0]", invalid, `"tools[0]" must be an object.`},
		{"129 tools", with(`"tools":[` + strings.Repeat(`{"type":"function","function":{"name":"f"}},`, 128) + `{}]`), "tools", invalid, `"tools" may hold 128 tools at most.`},
		{"tools is text", with(`"tools":"a,b"`), "tools", invalid, `"tools" must be a list of tools.`},
		{"tools is an object", with(`"tools":{}`), "tools", invalid, `"tools" must be a list of tools.`},
		{"functions", with(`"functions":[{"name":"f"}]`), "functions", unsupported, `"functions" is not supported; use "tools".`},
		{"tool_choice", with(`"tool_choice":"any"`), "tool_choice", invalid, `"tool_choice" must be "none", "auto", "required" or an object.`},
		{"tool_choice of another kind", with(`"tool_choice":{"type":"custom"}`), "tool_choice", unsupportedValue, choiceForms},
		{"allowed tools without a mode", with(`"tool_choice":{"type":"allowed_tools"}`), "tool_choice", invalid, `"tool_choice.allowed_tools.mode" must be "auto" or "required".`},
		{"allowed tools of which none may be called", with(`"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"none","tools":[]}}`), "tool_choice", invalid, `"tool_choice.allowed_tools.mode" must be "auto" or "required".`},
		{"an allowed tool that is not there", with(`"tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[{"function":{"name":"f"}},{"function":{"name":"g"}}]}}`), "tool_choice.allowed_tools.tools[1]", invalid, `"tool_choice.allowed_tools.tools[1]" must name one of "tools".`},
		{"allowed tools without tools", with(`"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"auto"}}`), "tool_choice.allowed_tools.tools", missing, `"tool_choice.allowed_tools.tools" must be a list of tools.`},
		{"an allowed tool without a name", with(`"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[{"type":"function"}]}}`), "tool_choice.allowed_tools.tools[0].function.name", missing, `"tool_choice.allowed_tools.tools[0].function.name" must name a function.`},
		{"129 allowed tools", with(`"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[` + strings.Repeat(`{"function":{"name":"f"}},`, 128) + `{"function":{"name":"f"}}]}}`), "tool_choice.allowed_tools.tools", invalid, `"tool_choice.allowed_tools.tools" may hold 128 tools at most.`},
		{"tool_choice is a number", with(`"tool_choice":1`), "tool_choice", unsupportedValue, choiceForms},
		{"tool_choice without a name", with(`"tool_choice":{"type":"function","function":{}}`), "tool_choice.function.name", missing, `"tool_choice.function.name" must name a function.`},
		{"parallel_tool_calls", with(`"parallel_tool_calls":"no"`), "parallel_tool_calls", invalid, `"parallel_tool_calls" must be true or false.`},
		{"function_call", with(`"function_call":{"name":"f"}`), "function_call", unsupported, `"function_call" is not supported; use "tool_choice".`},
		{"another output", with(`"response_format":{"type":"grammar"}`), "response_format.type", unsupportedValue, `"response_format.type" must be "text", "json_object" or "json_schema".`},
		{"a schema that is missing", with(`"response_format":{"type":"json_schema","json_schema":{"name":"x"}}`), "response_format.json_schema.schema", invalid, `"response_format.json_schema.schema" must be an object.`},
		{"a schema that is a list", with(`"response_format":{"type":"json_schema","json_schema":{"schema":[]}}`), "response_format.json_schema.schema", invalid, `"response_format.json_schema.schema" must be an object.`},
		{"response_format is text", with(`"response_format":"text"`), "response_format", invalid, `"response_format" must be an object.`},
		{"audio output", with(`"modalities":["text","audio"]`), "modalities", unsupportedValue, `"modalities" must be ["text"]: this server answers in text only.`},
		{"modalities is text", with(`"modalities":"text"`), "modalities", invalid, `"modalities" must be a list.`},
		{"audio", with(`"audio":{"voice":"ash"}`), "audio", unsupported, `"audio" is not supported: this server answers in text only.`},
		{"logprobs", with(`"logprobs":true`), "logprobs", unsupported, `"logprobs" must be false: this server does not return log probabilities.`},
		{"logprobs is a number", with(`"logprobs":2`), "logprobs", invalid, `"logprobs" must be true or false.`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			runner := &wiretest.Scripted{}
			w := complete(handlerOf(runner, nil), c.body)
			var got errorBody
			if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
				t.Fatalf("%s: %v", w.Body, err)
			}
			e := got.Error
			if w.Code != 400 || e.Type != "invalid_request_error" || e.Message != c.message {
				t.Errorf("got %d %s", w.Code, w.Body)
			}
			if textOr(e.Param) != c.param || textOr(e.Code) != c.code {
				t.Errorf("got param %q and code %q, want %q and %q", textOr(e.Param), textOr(e.Code), c.param, c.code)
			}
			if len(runner.Asked) > 0 {
				t.Error("the turn was run")
			}
		})
	}
}

func textOr(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func TestHandler_TellsWhoMayNotAsk(t *testing.T) {
	cases := []struct {
		err    error
		status int
		kind   string
	}{
		{&chat.Error{Kind: chat.Unauthorized, Msg: "The token has expired."}, 401, "authentication_error"},
		{&chat.Error{Kind: chat.Forbidden, Msg: "Chat is not for you."}, 403, "permission_error"},
		{errors.New("the key server is away"), 500, "server_error"},
	}
	for _, c := range cases {
		runner := &wiretest.Scripted{}
		h := wiretest.MountFor(handlerOf(runner, nil).Protocol(), slog.New(slog.DiscardHandler),
			func(*http.Request, wire.Right) (access.Principal, error) { return access.Principal{}, c.err })
		requests := []*http.Request{
			httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(`{"model":"nothing"}`)),
			httptest.NewRequest(http.MethodGet, "/v1/models", nil),
			httptest.NewRequest(http.MethodGet, "/v1/models/parley", nil),
		}
		for _, r := range requests {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			var got errorBody
			if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != c.status || got.Error.Type != c.kind {
				t.Errorf("%s: %v: %d %s", r.URL.Path, c.err, w.Code, w.Body)
			}
			if strings.Contains(w.Body.String(), "key server") {
				t.Errorf("%s tells what is internal: %s", r.URL.Path, w.Body)
			}
		}
		if len(runner.Asked) > 0 {
			t.Error("the turn was run")
		}
	}
}

// What the caller may ask is the server's to say; other namespaces are as if they did not exist.
func TestComplete_AsksForTheNamespacesOfTheCaller(t *testing.T) {
	runner := &wiretest.Scripted{Steps: wiretest.Script(t, "include answer.events")}
	h := handlerOf(runner, func(cfg *Config) {
		cfg.Namespaces = func(_ context.Context, p access.Principal) ([]string, error) { return []string{p.Subject}, nil }
	})
	for model, status := range map[string]int{"parley": 200, "parley/default": 200, "parley/ada": 200, "parley/eve": 404, "parley/": 404, "Parley": 404, "gpt-5": 404} {
		w := completeFor(h, "ada", `{"model":"`+model+`","messages":[{"role":"user","content":"x"}],"user":"eve","namespace":"eve"}`)
		if w.Code != status {
			t.Errorf("%s: status %d, want %d", model, w.Code, status)
		}
	}
	for _, req := range runner.Asked {
		if req.Principal.Subject != "ada" || req.Namespace == "eve" {
			t.Errorf("asked %+v", req)
		}
	}
	if len(runner.Asked) != 3 {
		t.Errorf("%d turns were run, want 3", len(runner.Asked))
	}
}

func TestModels_FailsWhenTheNamespacesAreNotKnown(t *testing.T) {
	h := handlerOf(&wiretest.Scripted{}, func(cfg *Config) {
		cfg.Namespaces = func(context.Context, access.Principal) ([]string, error) { return nil, errors.New("disk full") }
	})
	for path, status := range map[string]int{"/v1/models": 500, "/v1/models/parley/hr": 500, "/v1/models/parley": 200} {
		w := httptest.NewRecorder()
		serve(h).ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if w.Code != status || strings.Contains(w.Body.String(), "disk full") {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

// Row R13: a hostile body may cost ten times its size at most, up to its refusal.
func TestComplete_SpendsLittleOnAHostileBody(t *testing.T) {
	const size, model = 1<<20 - 100, `{"model":"parley","messages":[`
	bodies := map[string]string{
		"a million messages": model + strings.Repeat(`{},`, size/3) + `{}]}`,
		"many parts":         model + `{"role":"user","content":[` + strings.Repeat(`{"type":"text","text":""},`, size/26-10) + `{}]}]}`,
		"a huge content":     model + `{"role":"user","content":"` + strings.Repeat(`\n`, size/2-100) + `"}],"n":2}`,
		"a huge model":       `{"model":"` + strings.Repeat(`ü`, size/2-10) + `"}`,
	}
	h := handlerOf(&wiretest.Scripted{}, nil)
	for name, body := range bodies {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		w := complete(h, body)
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; w.Code < 400 || w.Code > 404 || used > 10*uint64(len(body)) || w.Body.Len() > 1000 {
			t.Errorf("%s: status %d, %d bytes allocated for a body of %d: %.300s", name, w.Code, used, len(body), w.Body)
		}
	}
}

// FuzzComplete sends any body: the answer is JSON or a stream of JSON events, and 200, 400 or 404.
func FuzzComplete(f *testing.F) {
	f.Add([]byte(`{"model":"parley","messages":[{"role":"user","content":"x"}],"stream":true,"stream_options":{"include_usage":true}}`))
	f.Add([]byte(`{"model":"parley/hr","messages":[{"role":"developer","content":[{"type":"text","text":"a"}]},{"role":"user","content":"x"}],"max_tokens":"3"}`))
	f.Add([]byte(`{"model":"gpt","messages":[],"n":1,"stop":[],"tools":null}`))
	steps := wiretest.Script(f, "include answer.events")
	f.Fuzz(func(t *testing.T, body []byte) {
		w := complete(handlerOf(&wiretest.Scripted{Steps: steps}, nil), string(body))
		if w.Code != 200 && w.Code != 400 && w.Code != 404 {
			t.Errorf("%q gave %d", body, w.Code)
		}
		if w.Header().Get("Content-Type") == "application/json" {
			if !json.Valid(w.Body.Bytes()) {
				t.Errorf("%q gave %s", body, w.Body)
			}
			return
		}
		checkEvents(t, w)
	})
}

func checkEvents(t *testing.T, w *httptest.ResponseRecorder) {
	t.Helper()
	last := ""
	for scanner := bufio.NewScanner(w.Body); scanner.Scan(); {
		if scanner.Text() == "" {
			continue
		}
		data, ok := strings.CutPrefix(scanner.Text(), "data: ")
		if last = data; !ok || data != "[DONE]" && !json.Valid([]byte(data)) {
			t.Errorf("the stream has the line %q", scanner.Text())
		}
	}
	if last != "[DONE]" {
		t.Errorf("the stream ends with %q", last)
	}
}
