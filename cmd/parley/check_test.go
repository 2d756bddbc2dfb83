package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"parley/internal/conformance"
)

// served starts the program over a small document.
func served(t *testing.T) string {
	t.Helper()
	docs := t.TempDir()
	const text = "# Leave\n\nEmployees get 25 days of paid leave each year. Requests go to the office.\n"
	if err := os.WriteFile(filepath.Join(docs, "leave.md"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p := serveIngested(t, nil, docs, "--data", t.TempDir())
	return "http://" + p.addr
}

func TestCheck_FindsNothingInParley(t *testing.T) {
	t.Parallel()
	url := served(t)
	report, err := conformance.Run(t.Context(), conformance.Options{URL: url, Question: "How many days of paid leave are there?"})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range report.Protocols {
		if !p.Spoken {
			t.Errorf("%s is not spoken: %s", p.Name, p.Why)
		}
		for _, f := range p.Findings {
			if f.Outcome != conformance.Held {
				t.Errorf("%s, %s, %s is %s: %s; came %s", p.Name, f.Exchange, f.Rule, f.Outcome, f.Detail, f.Came)
			}
		}
	}
	var out, stderr bytes.Buffer
	if code := run(t.Context(), []string{"check", url, "--read-only", "--protocol", "openai"}, &out, &stderr, environment(nil)); code != exitOK || !strings.Contains(out.String(), "100 %") {
		t.Errorf("exit code %d: %s%s", code, out.String(), stderr.String())
	}
}

// spoilt is the reply of a faulty server, sent instead of Parley's own.
type spoilt struct {
	status int
	header http.Header
	body   string
}

// fault is a mistake of a server, and the rule that finds it.
type fault struct {
	name, protocol string
	path           string // the beginning of the method and path
	harm           func(r *spoilt)
	found          string // exchange and rule
}

func put(pattern, by string) func(*spoilt) {
	return func(r *spoilt) { r.body = regexp.MustCompile(pattern).ReplaceAllString(r.body, by) }
}

func putFirst(text, by string) func(*spoilt) {
	return func(r *spoilt) { r.body = strings.Replace(r.body, text, by, 1) }
}

func header(name, value string) func(*spoilt) { return func(r *spoilt) { r.header.Set(name, value) } }

func status(n int) func(*spoilt) { return func(r *spoilt) { r.status = n } }

// dropLine removes a line of a stream; -1 is the last one.
func dropLine(n int) func(*spoilt) {
	return func(r *spoilt) {
		lines := strings.SplitAfter(strings.TrimSuffix(r.body, "\n"), "\n")
		n := (n + len(lines)) % len(lines)
		r.body = strings.Join(slices.Delete(lines, n, n+1), "") + "\n"
	}
}

// dropEvent removes the first server-sent event with a text in it.
func dropEvent(with string) func(*spoilt) {
	return func(r *spoilt) {
		events := strings.SplitAfter(r.body, "\n\n")
		if i := slices.IndexFunc(events, func(e string) bool { return strings.Contains(e, with) }); i >= 0 {
			events = slices.Delete(events, i, i+1)
		}
		r.body = strings.Join(events, "")
	}
}

var faults = []fault{
	{"no message", "azure-0529", "POST /chat", put(`"message":`, `"massage":`), "reply/message"},
	{"a role in capitals", "azure-0529", "POST /chat", put(`"role":"assistant"`, `"role":"Assistant"`), "reply/message"},
	{"an empty answer", "azure-0529", "POST /chat", put(`"content":"[^"]*"`, `"content":" "`), "reply/content"},
	{"the members of another version", "azure-0529", "POST /chat", putFirst("{", `{"choices":[],`), "reply/no-choices"},
	{"an error that is null", "azure-0529", "POST /chat", putFirst("{", `{"error":null,`), "reply/no-error"},
	{"data points that are objects", "azure-0529", "POST /chat", put(`"text":\[`, `"text":[{},`), "reply/data-points"},
	{"text as media type", "azure-0529", "POST /chat", header("Content-Type", "text/plain"), "reply/media-type"},
	{"two JSON values", "azure-0529", "POST /chat", func(r *spoilt) { r.body += r.body }, "reply/framing"},
	{"a key twice", "azure-0529", "POST /chat", putFirst("{", `{"context":{},`), "reply/framing"},
	{"bad UTF-8", "azure-0529", "POST /chat", putFirst("days", "d\xffys"), "reply/framing"},
	{"a refusal with status 200", "azure-0529", "POST /chat", func(r *spoilt) {
		if r.status == 400 {
			r.status = 200
		}
	}, "no messages/status"},
	{"a refusal in HTML", "azure-0529", "POST /chat", func(r *spoilt) {
		if r.status == 400 {
			r.body = "<html>Bad Request</html>"
		}
	}, "no messages/framing"},
	{"a refusal with a stack", "azure-0529", "POST /chat", put(`"error":"`, `"error":"goroutine 1 [running]: `), "no messages/discreet"},
	{"an error that is an object", "azure-0529", "POST /chat/stream", func(r *spoilt) {
		if r.status == 400 {
			r.body = `{"error":{"message":"no"}}`
		}
	}, "no messages, streamed/error"},
	{"a last line without end", "azure-0529", "POST /chat/stream", func(r *spoilt) { r.body = strings.TrimSuffix(r.body, "\n") }, "stream/framing"},
	{"two objects in a line", "azure-0529", "POST /chat/stream", putFirst("}\n{", "}{"), "stream/framing"},
	{"carriage returns", "azure-0529", "POST /chat/stream", put("\n", "\r\n"), "stream/framing"},
	{"server-sent events in place of lines", "azure-0529", "POST /chat/stream", put(`(?m)^\{`, "data: {"), "stream/framing"},
	{"no first line", "azure-0529", "POST /chat/stream", dropLine(0), "stream/first-context"},
	{"text before the context", "azure-0529", "POST /chat/stream", putFirst(`"delta":{`, `"delta":{"content":"Yes",`), "stream/context-first"},
	{"a line without delta", "azure-0529", "POST /chat/stream", func(r *spoilt) { r.body += "{}\n" }, "stream/delta"},
	{"a stream that is buffered", "azure-0529", "POST /chat/stream", func(r *spoilt) { r.header.Set("Content-Length", strconv.Itoa(len(r.body))) }, "stream/chunked"},
	{"a number as content", "azure-0529", "POST /chat/stream", put(`"content":"[^"]*"`, `"content":5`), "stream/content"},
	{"an error in a good stream", "azure-0529", "POST /chat/stream", putFirst(`"delta":`, `"error":null,"delta":`), "stream/no-error"},
	{"the wrong object", "azure-0128", "POST /chat", put(`chat\.completion"`, `completion"`), "reply/object"},
	{"the context outside", "azure-0128", "POST /chat", putFirst("{", `{"context":{},`), "reply/context-inside"},
	{"a sum that is wrong", "azure-0128", "POST /chat", put(`"total_tokens":\d+`, `"total_tokens":1`), "reply/usage"},
	{"milliseconds", "azure-0128", "POST /chat", put(`"created":(\d+)`, `"created":${1}000`), "reply/created"},
	{"an id for each chunk", "azure-0128", "POST /chat", func(r *spoilt) {
		n := 0
		r.body = regexp.MustCompile(`"id":"chatcmpl`).ReplaceAllStringFunc(r.body, func(s string) string { n++; return s + strconv.Itoa(n) })
	}, "stream/ids"},
	{"the state of another version", "microsoft-sdk", "POST /api/chat/", put("sessionState", "session_state"), "completion/no-snake-state"},
	{"an error without code", "microsoft-sdk", "POST /api/chat/", put(`"code":"[^"]*",?`, ``), "no messages/error"},
	{"two answers", "ragchat", "POST /chat", put(`"response":"`, `"response":"Well, `), "stateless/answer"},
	{"reasoning counted twice", "ragchat", "POST /chat", put(`"tokens":\{([^{}]*)"total":(\d+)`, `"tokens":{$1"total":1$2`), "stateless/token-sum"},
	{"a rewrite of nine members", "ragchat", "POST /chat", put(`"ambiguous":(true|false),?`, ``), "stateless/rewrite"},
	{"a session for any id", "ragchat", "POST /chat/0000", status(200), "unknown session/status"},
	{"a history without its times", "ragchat", "GET /chat/", put(`"created_at":"[^"]*"`, `"created_at":"yesterday"`), "session history/times"},
	{"a history in the wrong order", "ragchat", "GET /chat/", put(`"role":"user"`, `"role":"assistant"`), "session history/messages"},
	{"no id of the message", "chatui", "POST /api/chat", put(`"messageId":"[^"]*",?`, ``), "standard/message"},
	{"a state of its own", "chatui", "POST /api/chat", put(`"status":"completed"`, `"status":"done"`), "standard/message"},
	{"an id for each event", "chatui", "POST /api/chat/sse", putFirst(`"messageId":"`, `"messageId":"x`), "events/one-message"},
	{"pieces in place of the whole", "chatui", "POST /api/chat/sse", func(r *spoilt) {
		r.body = `data: {"messageId":"a","status":"processing","role":"assistant","content":"The","contentType":"text","error":null,"createdAt":"2026-01-02T03:04:05Z"}` + "\n\n" +
			`data: {"messageId":"a","status":"completed","role":"assistant","content":" answer","contentType":"text","error":null,"createdAt":"2026-01-02T03:04:05Z"}` + "\n\n"
	}, "events/growing"},
	{"no last event", "chatui", "POST /api/chat/sse", put(`"status":"completed"`, `"status":"processing"`), "events/states"},
	{"the end of OpenAI", "chatui", "POST /api/chat/sse", func(r *spoilt) { r.body += "data: [DONE]\n\n" }, "events/no-done"},
	{"messages of one agent", "chatui", "POST /api/multi-agent-chat", put(`"agentName":"[^"]*",?`, ``), "multi-agent/messages"},
	{"a deletion that says nothing", "chatui", "DELETE /chat-history", func(r *spoilt) { r.body = "{}" }, "delete chat/success"},
	{"a chat that outlives its deletion", "chatui", "GET /chat-history/", func(r *spoilt) {
		if r.status == 404 {
			r.status, r.body = 200, "[]"
		}
	}, "read a deleted chat/status"},
	{"models without owner", "openai", "GET /v1/models", put(`"owned_by":"[^"]*"`, `"owned_by":null`), "models/models"},
	{"no [DONE]", "openai", "POST /v1/chat/completions", put(`data: \[DONE\]\n\n`, ``), "stream/done"},
	{"named events", "openai", "POST /v1/chat/completions", put(`(?m)^data: \{`, "event: chunk\ndata: {"), "stream/unnamed"},
	{"one newline between events", "openai", "POST /v1/chat/completions", put("\n\n", "\n"), "stream/framing"},
	{"no reason at the end", "openai", "POST /v1/chat/completions", put(`"finish_reason":"stop"`, `"finish_reason":null`), "stream/ended"},
	{"no usage", "openai", "POST /v1/chat/completions", put(`"usage":\{`, `"used":{`), "stream/usage"},
	{"any model will do", "openai", "POST /v1/chat/completions", func(r *spoilt) {
		if r.status == 404 {
			r.status = 200
		}
	}, "unknown model/status"},
	{"numbers with a gap", "responses", "POST /v1/responses", dropEvent(`"type":"response.in_progress"`), "stream/numbers"},
	{"an event that is missing", "responses", "POST /v1/responses", dropEvent(`"type":"response.content_part.added"`), "stream/order"},
	{"a delta that is lost", "responses", "POST /v1/responses", dropEvent(`"type":"response.output_text.delta"`), "stream/text"},
	{"a name that is not the type", "responses", "POST /v1/responses", putFirst("event: response.created", "event: created"), "stream/names"},
	{"no last event", "responses", "POST /v1/responses", dropEvent(`"type":"response.completed"`), "stream/last"},
	{"an error in a good response", "responses", "POST /v1/responses", put(`"error":null`, `"error":{}`), "response/error"},
	{"a search without results", "files", "POST /v1/vector_stores/", put(`"data":\[.*\],"has_more"`, `"data":[],"has_more"`), "search/results"},
	{"bytes that were changed", "files", "GET /v1/files/", put("1931", "1932"), "content/bytes"},
	{"a deletion that is not one", "files", "DELETE /v1/files/", put(`"deleted":true`, `"deleted":false`), "delete file/deleted"},
	{"another id", "mcp", "POST /mcp", put(`"id":1`, `"id":7`), "initialize/message"},
	{"a tool without schema", "mcp", "POST /mcp", put(`"inputSchema":\{`, `"schema":{`), "tools/tools"},
	{"a notification with an answer", "mcp", "POST /mcp", func(r *spoilt) {
		if r.status == 202 {
			r.body = "{}"
		}
	}, "initialized/no-body"},
	{"no scope", "mcp-2026-07", "POST /mcp", put(`"cacheScope":"private",("resources":)`, `"cacheScope":"",$1`), "resources list/scope"},
	{"a result that is not complete", "mcp-2026-07", "POST /mcp", put(`"resultType":"complete",?`, ``), "tools list/list"},
	{"no revisions", "mcp-2026-07", "POST /mcp", put(`"supportedVersions":\[[^]]*\]`, `"supportedVersions":[]`), "discover/versions"},
	{"time as text", "mcp-2026-07", "POST /mcp", put(`"ttlMs":(\d+)`, `"ttlMs":"$1"`), "prompts list/time"},
	{"headers that are ignored", "mcp-2026-07", "POST /mcp", put(`-32020`, `-32600`), "another method/error"},
	{"an unknown revision with status 200", "mcp-2026-07", "POST /mcp", func(r *spoilt) {
		if r.status == 400 {
			r.status = 200
		}
	}, "unknown revision/status"},
	{"no header", "ai-sdk", "POST /api/chat", func(r *spoilt) { r.header.Del("X-Vercel-Ai-Ui-Message-Stream") }, "stream/header"},
	{"no end", "ai-sdk", "POST /api/chat", dropEvent("[DONE]"), "stream/done"},
	{"no last part", "ai-sdk", "POST /api/chat", dropEvent(`"type":"finish"`), "stream/finish"},
	{"a text that is not begun", "ai-sdk", "POST /api/chat", dropEvent(`"text-start"`), "stream/texts"},
	{"a text that does not end", "ai-sdk", "POST /api/chat", dropEvent(`"text-end"`), "stream/texts"},
	{"a step that does not end", "ai-sdk", "POST /api/chat", dropEvent(`"finish-step"`), "stream/steps"},
	{"an unknown part", "ai-sdk", "POST /api/chat", put(`"data-stage"`, `"stage"`), "stream/known"},
	{"a source without address", "ai-sdk", "POST /api/chat", put(`"sourceId":"[^"]*",`, ``), "stream/source-url"},
	{"a refusal with status 200", "ai-sdk", "POST /api/chat", func(r *spoilt) { r.status = 200 }, "no question/status"},
	{"a file that is not read", "ai-sdk", "POST /api/chat", put("Zephyrion", "something"), "file/file-used"},
	{"a file that is forgotten", "ai-sdk", "POST /api/chat", put("Zephyrion", "something"), "file of an earlier message/file-used"},
	{"a stream that breaks off at a file", "ai-sdk", "POST /api/chat", func(r *spoilt) {
		if strings.Contains(r.body, "Zephyrion") {
			r.body, _, _ = strings.Cut(r.body, `data: {"type":"text-end"`)
		}
	}, "file/texts"},
	{"a file without a media type", "ai-sdk", "POST /api/chat", putFirst(`data: {"type":"finish-step"}`, `data: {"type":"file","url":"https://h/a.png"}`+"\n\n"+`data: {"type":"finish-step"}`), "stream/file"},
	{"a file at a path of the server", "ai-sdk", "POST /api/chat", putFirst(`data: {"type":"finish-step"}`, `data: {"type":"file","url":"/tmp/a.png","mediaType":"image/png"}`+"\n\n"+`data: {"type":"finish-step"}`), "stream/file"},
	{"a file without content that is taken", "ai-sdk", "POST /api/chat", status(200), "file without url/status"},
	{"an address that is a number and taken", "ai-sdk", "POST /api/chat", status(200), "url that is no text/status"},
	{"no RUN_STARTED", "ag-ui", "POST /ag-ui", dropEvent("RUN_STARTED"), "run/started"},
	{"no RUN_FINISHED", "ag-ui", "POST /ag-ui", dropEvent("RUN_FINISHED"), "run/finished"},
	{"another run", "ag-ui", "POST /ag-ui", put(`"runId":"r1"`, `"runId":"r2"`), "run/run"},
	{"a step that does not end", "ag-ui", "POST /ag-ui", dropEvent("STEP_FINISHED"), "run/order"},
	{"a message that is not begun", "ag-ui", "POST /ag-ui", dropEvent("TEXT_MESSAGE_START"), "run/order"},
	{"an empty piece", "ag-ui", "POST /ag-ui", put(`"delta":"[^"]*"`, `"delta":""`), "run/delta"},
	{"no context", "azure-2026-04", "POST /p/responses/chat/stream", dropLine(0), "stream/context-first"},
	{"lines of the other era", "azure-2026-04", "POST /p/responses/chat/stream", put(`"type":"response.output_text.delta","delta":("[^"]*")`, `"delta":{"content":$1}`), "stream/types"},
	{"no output_text", "azure-2026-04", "POST /p/responses/chat", put(`"output_text"`, `"text"`), "reply/answer"},
	{"the answer before the citations", "on-your-data", "POST /conversation", dropLine(0), "conversation/tool-first"},
	{"citations that are not JSON", "on-your-data", "POST /conversation", put(`"content":"\{`, `"content":"`), "conversation/citations"},
	{"a delta in place of messages", "on-your-data", "POST /conversation", put(`"messages":`, `"delta":`), "conversation/members"},
	{"no context of the message", "on-your-data", "POST /openai/", put(`"context":`, `"contexts":`), "service/citations"},
	{"records that are null", "dify", "POST /retrieval", put(`"records":\[.*\]`, `"records":null`), "retrieval/records"},
	{"a score in a string", "dify", "POST /retrieval", put(`"score":([0-9.]+)`, `"score":"$1"`), "retrieval/members"},
	{"metadata that is null", "dify", "POST /retrieval", put(`"metadata":\{[^}]*\}`, `"metadata":null`), "retrieval/metadata"},
	{"records below the threshold", "dify", "POST /retrieval", put(`"score":[0-9.]+`, `"score":0.1`), "threshold/least"},
	{"a condition that is ignored", "dify", "POST /retrieval", put(`"records":\[\]`, `"records":[{"content":"x","score":1,"title":"x"}]`), "condition/none"},
	{"an error with another code", "dify", "POST /retrieval", put(`"error_code":2001`, `"error_code":404`), "unknown knowledge/code"},
	{"an unknown knowledge base without an error", "dify", "POST /retrieval", func(r *spoilt) { r.status = 200 }, "unknown knowledge/status"},
	{"one vector for two texts", "embeddings", "POST /v1/embeddings", put(`\},\{"object":"embedding","index":1.*?\]\}`, "}"), "texts/list"},
	{"vectors without their places", "embeddings", "POST /v1/embeddings", put(`"index":1`, `"index":0`), "texts/vectors"},
	{"vectors of different lengths", "embeddings", "POST /v1/embeddings", putFirst(`"embedding":[`, `"embedding":[0.5,`), "texts/dimensions"},
	{"fewer tokens than texts", "embeddings", "POST /v1/embeddings", put(`"prompt_tokens":\d+`, `"prompt_tokens":1`), "texts/usage"},
	{"an encoding that is ignored", "embeddings", "POST /v1/embeddings", put(`"embedding":"[^"]*"`, `"embedding":[0.5]`), "base64/base64"},
	{"floats that are cut", "embeddings", "POST /v1/embeddings", put(`"embedding":"[^"]*"`, `"embedding":"AAAAPwA="`), "base64/base64"},
	{"an error that is a text", "embeddings", "POST /v1/embeddings", func(r *spoilt) {
		if r.status >= 400 {
			r.body = `{"error":"no"}`
		}
	}, "no texts/error"},
	{"the object of another API", "completions", "POST /v1/completions", put(`text_completion`, `chat.completion`), "completion/members"},
	{"a message in place of a text", "completions", "POST /v1/completions", put(`"text":("[^"]*")`, `"message":{"content":$1}`), "completion/choice"},
	{"a reason of its own", "completions", "POST /v1/completions", put(`"finish_reason":"stop"`, `"finish_reason":"done"`), "completion/reason"},
	{"all prompts at one place", "completions", "POST /v1/completions", put(`"index":1`, `"index":0`), "prompts/each"},
	{"no [DONE]", "completions", "POST /v1/completions", put(`data: \[DONE\]\n\n`, ``), "stream/done"},
	{"an id for each chunk", "completions", "POST /v1/completions", putFirst(`"id":"`, `"id":"x`), "stream/members"},
	{"no usage", "completions", "POST /v1/completions", put(`"usage":\{`, `"used":{`), "stream/usage"},
	{"ids that are objects", "librechat", "GET /p/librechat/ids", func(r *spoilt) { r.body = `[{"id":"a"}]` }, "ids/ids"},
	{"a status that is ok", "librechat", "GET /p/librechat/health", put("UP", "ok"), "health/up"},
	{"a file that is not known", "librechat", "POST /p/librechat/embed", put(`"known_type":true`, `"known_type":false`), "embed/done"},
	{"passages without distance", "librechat", "POST /p/librechat/query", put(`,[0-9.]+\]\]`, `]]`), "query/pairs"},
	{"passages without source", "librechat", "POST /p/librechat/query", put(`"source":`, `"name":`), "query/source"},
	{"nothing with status 200", "librechat", "POST /p/librechat/query_multiple", func(r *spoilt) {
		if r.status == 404 {
			r.status, r.body = 200, "[]"
		}
	}, "nothing found/status"},
	{"the text in an object", "librechat", "GET /p/librechat/documents/", func(r *spoilt) { r.body = `{"text":` + r.body + `}` }, "whole file/text"},
	{"errors without detail", "librechat", "POST /p/librechat/", put(`"detail":`, `"error":`), "no JSON/error"},
	{"a file that outlives its deletion", "librechat", "DELETE /p/librechat/documents", status(200), "delete again/status"},
	{"added files without path", "open-webui", "POST /api/v1/knowledge/", put(`,"path":"docs"`, ``), "first diff/added"},
	{"no map of directories", "open-webui", "POST /api/v1/knowledge/", put(`"directory_map":\{[^}]*\}`, `"directory_map":null`), "first diff/directories"},
	{"a directory without id", "open-webui", "POST /api/v1/knowledge/", put(`"id":"dir-[^"]*"`, `"id":""`), "directory/id"},
	{"files without number", "open-webui", "GET /api/v1/knowledge/", put(`,"total":\d+`, ``), "files/status"},
	{"every file is new", "open-webui", "POST /api/v1/knowledge/", put(`"unmodified_count":1`, `"unmodified_count":0`), "diff without a change/unchanged"},
	{"a stale file without id", "open-webui", "POST /api/v1/knowledge/", put(`,"stale_file_id":"[^"]*"`, ``), "diff with a change/modified"},
	{"deleted files by name only", "open-webui", "POST /api/v1/knowledge/", put(`"file_id":"[^"]*",`, ``), "diff without files/deleted"},
	{"any knowledge base will do", "open-webui", "POST /api/v1/knowledge/parley-check", status(200), "unknown knowledge/status"},
	{"the wrong code", "mcp", "POST /mcp", put(`-32601`, `-32000`), "unknown method/error"},
}

func TestCheck_FindsTheFaultsOfOtherServers(t *testing.T) {
	t.Parallel()
	target, err := url.Parse(served(t))
	if err != nil {
		t.Fatal(err)
	}
	protocols := map[string][]fault{}
	for _, f := range faults {
		protocols[f.protocol] = append(protocols[f.protocol], f)
	}
	for name, faults := range protocols {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // two checks of one protocol would store under the same ids
			for _, f := range faults {
				t.Run(f.name, func(t *testing.T) { f.check(t, target) })
			}
		})
	}
}

// check checks a server that has the fault and is Parley otherwise.
func (f fault) check(t *testing.T, target *url.URL) {
	proxy := &httputil.ReverseProxy{
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(target) },
		ModifyResponse: func(r *http.Response) error { return f.spoil(r) },
	}
	s := httptest.NewServer(proxy)
	defer s.Close()
	o := conformance.Options{URL: s.URL, Protocols: []string{f.protocol}, Question: "How many days of paid leave are there?"}
	if f.found == "directory/id" || f.found == "files/status" {
		o.Timeout = 10 * time.Second // the check waits for a state that does not come
	}
	report, err := conformance.Run(context.WithoutCancel(t.Context()), o)
	if err != nil {
		t.Fatal(err)
	}
	var broken []string
	for _, p := range report.Protocols {
		for _, found := range p.Findings {
			if found.Outcome == conformance.Broken {
				broken = append(broken, found.Exchange+"/"+found.Rule)
			}
		}
	}
	if !slices.Contains(broken, f.found) {
		t.Errorf("the rule %s is not broken; %q are", f.found, broken)
	}
}

// spoil puts the fault into the replies that it is about.
func (f fault) spoil(r *http.Response) error {
	if !strings.HasPrefix(r.Request.Method+" "+r.Request.URL.Path, f.path) {
		return nil
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	_ = r.Body.Close()
	stream := r.ContentLength < 0
	in := &spoilt{r.StatusCode, r.Header, string(body)}
	f.harm(in)
	r.StatusCode, r.Status, r.Body = in.status, "", io.NopCloser(strings.NewReader(in.body))
	if r.ContentLength = -1; !stream {
		r.Header.Set("Content-Length", strconv.Itoa(len(in.body)))
	}
	if given := r.Header.Get("Content-Length"); given != "" {
		r.ContentLength, err = strconv.ParseInt(given, 10, 64)
	}
	return err
}
