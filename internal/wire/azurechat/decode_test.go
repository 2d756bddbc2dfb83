package azurechat

import (
	"encoding/json"
	"errors"
	"fmt"
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

func TestServe_RefusesBadInputNamingIt(t *testing.T) {
	const question = `"messages":[{"role":"user","content":"x"}]`
	override := func(text string) string { return `{` + question + `,"context":{"overrides":{` + text + `}}}` }
	cases := []struct{ name, body, want string }{
		{"no messages", `{}`, `"messages" must be a list of messages, each with "role" and "content"`},
		{"messages null", `{"messages":null}`, `"messages" must be a list of messages, each with "role" and "content"`},
		{"no question", `{"messages":[{"role":"assistant","content":"x"}]}`, `"messages" has no question: the last message with the role "user" is missing or empty`},
		{"empty question", `{"messages":[{"role":"user","content":"x"},{"role":"user","content":" \n"}]}`, `"messages" has no question: the last message with the role "user" is missing or empty`},
		{"message is text", `{"messages":["x"]}`, `"messages[0]" must be an object`},
		{"no role", `{"messages":[{"content":"x"}]}`, `"messages[0].role" must be "user", "assistant" or "system"`},
		{"role of a tool", `{"messages":[{"role":"user","content":"x"},{"role":"tool","content":"x"}]}`, `"messages[1].role" must be "user", "assistant" or "system"`},
		{"role is a number", `{"messages":[{"role":1,"content":"x"}]}`, `"messages[0].role" must be "user", "assistant" or "system"`},
		{"no content", `{"messages":[{"role":"user"}]}`, `"messages[0].content" must be a string`},
		{"content null", `{"messages":[{"role":"user","content":null}]}`, `"messages[0].content" must be a string`},
		{"content in parts", `{"messages":[{"role":"user","content":[{"type":"text","text":"x"}]}]}`, `"messages[0].content" must be a string`},
		{"context is text", `{` + question + `,"context":"x"}`, `"context" must be an object`},
		{"overrides is a list", `{` + question + `,"context":{"overrides":[]}}`, `"context.overrides" must be an object`},
		{"stream is text", `{` + question + `,"stream":"yes"}`, `"stream" must be true or false`},
		{"top is text", override(`"top":"many"`), `"context.overrides.top" must be a whole number`},
		{"top is NaN as text", override(`"top":"NaN"`), `"context.overrides.top" must be a whole number`},
		{"top is hexadecimal", override(`"top":"0x10"`), `"context.overrides.top" must be a whole number`},
		{"top is a fraction", override(`"top":2.5`), `"context.overrides.top" must be a whole number`},
		{"top is beyond numbers", override(`"top":"1e999"`), `"context.overrides.top" must be a whole number`},
		{"top is a list", override(`"top":[3]`), `"context.overrides.top" must be a whole number`},
		{"temperature is high", override(`"temperature":2.1`), `"context.overrides.temperature" must be a number from 0 to 2`},
		{"temperature is negative", override(`"temperature":"-1"`), `"context.overrides.temperature" must be a number from 0 to 2`},
		{"retrieval_mode unknown", override(`"retrieval_mode":"Hybrid"`), `"context.overrides.retrieval_mode" must be "hybrid", "text" or "vectors"`},
		{"retrieval_mode is a number", override(`"retrieval_mode":1`), `"context.overrides.retrieval_mode" must be "hybrid", "text" or "vectors"`},
		{"semantic_ranker is text", override(`"semantic_ranker":"yes"`), `"context.overrides.semantic_ranker" must be true or false`},
		{"semantic_captions is a number", override(`"semantic_captions":1`), `"context.overrides.semantic_captions" must be true or false`},
		{"suggest_followup_questions is an object", override(`"suggest_followup_questions":{}`), `"context.overrides.suggest_followup_questions" must be true or false`},
		{"include_category is a list", override(`"include_category":["a"]`), `"context.overrides.include_category" must be a string`},
		{"include_category is too long", override(`"include_category":"` + strings.Repeat("a", 257) + `"`), `"context.overrides.include_category" must be at most 256 bytes long`},
		{"prompt_template is too long", override(`"prompt_template":"` + strings.Repeat("a", 8<<10+1) + `"`), `"context.overrides.prompt_template" must be at most 8192 bytes long`},
		{"exclude_category is a number", override(`"exclude_category":1`), `"context.overrides.exclude_category" must be a string`},
		{"prompt_template is true", override(`"prompt_template":true`), `"context.overrides.prompt_template" must be a string`},
		{"minimum_search_score is text", override(`"minimum_search_score":"low"`), `"context.overrides.minimum_search_score" must be a number from 0 to 1`},
		{"minimum_search_score is of another scale", override(`"minimum_search_score":1.5`), `"context.overrides.minimum_search_score" must be a number from 0 to 1`},
		{"minimum_search_score is negative", override(`"minimum_search_score":"-0.1"`), `"context.overrides.minimum_search_score" must be a number from 0 to 1`},
		{"minimum_reranker_score is text", override(`"minimum_reranker_score":""`), `"context.overrides.minimum_reranker_score" must be a number`},
		{"use_oid_security_filter is text", override(`"use_oid_security_filter":"false"`), `"context.overrides.use_oid_security_filter" must be true or false`},
		{"use_groups_security_filter is a number", override(`"use_groups_security_filter":0`), `"context.overrides.use_groups_security_filter" must be true or false`},
		{"use_gpt4v is text", override(`"use_gpt4v":"on"`), `"context.overrides.use_gpt4v" must be true or false`},
		{"gpt4v_input unknown", override(`"gpt4v_input":"video"`), `"context.overrides.gpt4v_input" must be "text", "texts", "textAndImages" or "images"`},
		{"vector_fields unknown", override(`"vector_fields":["embedding","x"]`), `"context.overrides.vector_fields" must be a list of "embedding" and "imageEmbedding"`},
		{"vector_fields is a number", override(`"vector_fields":3`), `"context.overrides.vector_fields" must be a list of "embedding" and "imageEmbedding"`},
		{"1,001 messages", `{"messages":[` + strings.Repeat(`{},`, 1000) + `{}]}`, `"messages" may hold 1000 messages at most`},
		{"not JSON", `messages`, `the request body is not valid JSON: unexpected 'm' at byte 0`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			runner := &wiretest.Scripted{}
			w := httptest.NewRecorder()
			serve(handlerOf(runner, nil)).ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/chat", strings.NewReader(c.body)))
			want := string(wire.AppendString([]byte(`{"error":`), c.want)) + "}\n"
			if w.Code != 400 || w.Body.String() != want {
				t.Errorf("got %d %swant 400 %s", w.Code, w.Body, want)
			}
			if len(runner.Asked) > 0 {
				t.Error("the turn was run")
			}
		})
	}
}

func TestServe_TellsWhoMayNotAsk(t *testing.T) {
	cases := []struct {
		err  error
		want int
	}{
		{&chat.Error{Kind: chat.Unauthorized, Msg: "The token has expired."}, 401},
		{&chat.Error{Kind: chat.Forbidden, Msg: "Chat is not for you."}, 403},
		{errors.New("the key server is away"), 500},
	}
	for _, c := range cases {
		runner := &wiretest.Scripted{}
		h := wiretest.MountFor(handlerOf(runner, nil).Protocol(), slog.New(slog.DiscardHandler),
			func(*http.Request, wire.Right) (access.Principal, error) { return access.Principal{}, c.err })
		w := httptest.NewRecorder()
		body := strings.NewReader(`{"messages":[{"role":"user","content":"x"}]}`)
		h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/chat", body))
		if w.Code != c.want || len(runner.Asked) > 0 {
			t.Errorf("%v: status %d, %d turns", c.err, w.Code, len(runner.Asked))
		}
	}
}

func TestServe_HandsThePrincipalOn(t *testing.T) {
	runner := &wiretest.Scripted{Steps: wiretest.Script(t, "include short.events\ninclude answer.events\ninclude finished.events")}
	h := handlerOf(runner, func(cfg *Config) { cfg.Namespace = "hr" })
	body := strings.NewReader(`{"messages":[{"role":"user","content":"x"}],"namespace":"other","user_id":"eve"}`)
	r := httptest.NewRequest(http.MethodPost, "/chat", body)
	r.Header.Set("X-Test-User", "ada")
	serve(h).ServeHTTP(httptest.NewRecorder(), r)
	if len(runner.Asked) != 1 || runner.Asked[0].Principal.Subject != "ada" || runner.Asked[0].Namespace != "hr" {
		t.Errorf("asked %+v", runner.Asked)
	}
}

// Row R13: a hostile body may cost ten times its size at most, up to its refusal.
func TestServe_SpendsLittleOnAHostileBody(t *testing.T) {
	const size = 1<<20 - 100
	bodies := map[string]string{
		"a million messages": `{"messages":[` + strings.Repeat(`{},`, size/3) + `{}]}`,
		"a huge content":     `{"messages":[{"role":"user","content":"` + strings.Repeat(`\n`, size/2-100) + `"}],"context":1}`,
		"a huge state":       `{"messages":[],"session_state":[` + strings.Repeat(`1,`, size/2-100) + `1]}`,
		"many settings":      `{"messages":[],"context":{"overrides":{` + settings(size-100) + `}}}`,
	}
	h := serve(handlerOf(&wiretest.Scripted{}, nil))
	for name, body := range bodies {
		var before, after runtime.MemStats
		r := httptest.NewRequest(http.MethodPost, "/chat/stream", strings.NewReader(body))
		runtime.ReadMemStats(&before)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; w.Code != 400 || used > 10*uint64(len(body)) {
			t.Errorf("%s: status %d, %d bytes allocated for a body of %d", name, w.Code, used, len(body))
		}
	}
}

func settings(size int) string {
	var b strings.Builder
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, `"k%x":1,`, i)
	}
	return b.String() + `"top":"x"`
}

func TestServeMultipart_RefusesBrokenForms(t *testing.T) {
	part := func(name, data string) string {
		return "--b\r\nContent-Disposition: form-data; name=" + name + "\r\n\r\n" + data + "\r\n"
	}
	question := part("json", `{"messages":[{"role":"user","content":"x"}]}`)
	const gif = "GIF89a"
	cases := []struct {
		name, contentType, body string
		status                  int
		want                    string
	}{
		{"no boundary", "multipart/form-data", question, 400, "the multipart request has no boundary"},
		{"no json", "multipart/form-data; boundary=b", part("x", "y") + "--b--", 400, `the multipart request has no part "json"`},
		{"json twice", "multipart/form-data; boundary=b", question + question + "--b--", 400, `the multipart request has the part "json" twice`},
		{"cut in a header", "multipart/form-data; boundary=b", question[:40], 400, `the multipart request has no part "json"`},
		{"cut in a part", "multipart/form-data; boundary=b", question[:80], 400, "the multipart request is broken"},
		{"cut behind the json", "multipart/form-data; boundary=b", question, 400, "the multipart request is broken"},
		{"many parts", "multipart/form-data; boundary=b", strings.Repeat(part("x", "y"), 40) + "--b--", 400, "the multipart request has more than 32 parts"},
		{"no such message", "multipart/form-data; boundary=b", question + part(`"messages[7].files[0]"`, gif) + "--b--", 400, `"messages[7]", to which a file belongs, does not exist`},
		{"bad json", "multipart/form-data; boundary=b", part("json", `{`) + "--b--", 400, "the request body is not valid JSON: it ends too early"},
		{"too large", "multipart/form-data; boundary=b", strings.Repeat("x", 2000), 413, "the request body is over the limit of 1000 bytes"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			h := handlerOf(&wiretest.Scripted{}, func(cfg *Config) { cfg.Vision, cfg.MultipartLimit = true, 1000 })
			if c.name == "many parts" {
				h = handlerOf(&wiretest.Scripted{}, nil)
			}
			r := httptest.NewRequest(http.MethodPost, "/chat", strings.NewReader(c.body))
			r.Header.Set("Content-Type", c.contentType)
			w := httptest.NewRecorder()
			serve(h).ServeHTTP(w, r)
			var got struct {
				Error struct{ Code, Message string }
			}
			if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
				t.Fatalf("%s: %v", w.Body, err)
			}
			if w.Code != c.status || got.Error.Message != c.want || got.Error.Code == "" {
				t.Errorf("got %d %s, want %d %s", w.Code, w.Body, c.status, c.want)
			}
		})
	}
}

// FuzzServe sends any body to any mount: the answer is always JSON, and 200 or 400. Other paths are the
// router's business, which redirects those that are not clean.
func FuzzServe(f *testing.F) {
	f.Add("/chat", []byte(`{"messages":[{"role":"user","content":"x"}],"context":{"overrides":{"top":"3"}},"session_state":{"a":[1, 2]}}`))
	f.Add("/chat/stream", []byte(`{"messages":[{"role":"user","content":"x"}],"context":{"approach":"rrr"},"stream":true}`))
	f.Add("/api/chat/", []byte(`{"messages":[{"role":"user","content":"x"}],"sessionState":"01J0000000000000000000000A"}`))
	f.Add("/chat/stream", []byte(`{"messages":[{"role":"user","content":"x"}],"context":{"overrides":{"send_text_sources":true,"use_web_source":false}}}`))
	f.Add("/p/responses/chat/stream", []byte(`{"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"x"}]}]}`))
	f.Add("/p/azure-0128/chat?stream=true", []byte(`{"messages":[],"stream":1}`))
	steps := wiretest.Script(f, "include short.events\ninclude answer.events\ninclude finished.events")
	f.Fuzz(func(t *testing.T, path string, body []byte) {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(string(body)))
		r.URL.Path, r.URL.RawQuery, _ = strings.Cut(path, "?")
		w := httptest.NewRecorder()
		serve(handlerOf(&wiretest.Scripted{Steps: steps}, nil)).ServeHTTP(w, r)
		if w.Code == http.StatusNotFound || w.Code == http.StatusTemporaryRedirect {
			return
		}
		if w.Code != 200 && w.Code != 400 {
			t.Errorf("%q gave %d", body, w.Code)
		}
		for line := range strings.Lines(w.Body.String()) {
			if !json.Valid([]byte(line)) || !strings.HasSuffix(line, "}\n") {
				t.Errorf("%q gave the line %q", body, line)
			}
		}
	})
}
