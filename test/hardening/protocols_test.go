package hardening

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// protocol is one way to ask.
type protocol struct {
	name, path, kind, body string
	stream                 framing
	done                   string // contained in the last line of a streamed success
	text                   func(reply map[string]any) string
	after                  string // the line after an error; "" if there is none
	// failed reports whether an object is a documented error object.
	failed func(object map[string]any) bool
}

type framing int

const (
	whole framing = iota // one JSON object
	lines                // NDJSON
	sse
)

const (
	question = `"messages":[{"role":"user","content":"What is covered?"}]`
	boundary = "--b\r\nContent-Disposition: form-data; name=\"json\"\r\nContent-Type: application/json\r\n\r\n{" + question + "}\r\n--b--\r\n"
)

// protocols are all protocols of the server, streamed and not.
var protocols = []protocol{
	{name: "azure-0529", path: "/p/azure-0529/chat", body: "{" + question + "}", text: at("message", "content"), failed: sentence},
	{name: "azure-0529 stream", path: "/chat/stream", body: "{" + question + "}", stream: lines, text: at("delta", "content"), failed: sentence},
	{name: "azure-0128", path: "/chat", body: "{" + question + `,"stream":false}`, text: at("choices", "message", "content"), failed: sentence},
	{name: "azure-0128 stream", path: "/chat", body: "{" + question + `,"stream":true}`, stream: lines, done: `"finish_reason":"`,
		text: at("choices", "delta", "content"), failed: sentence},
	{name: "ask", path: "/ask", body: "{" + question + "}", text: at("message", "content"), failed: sentence},
	{name: "later sample", path: "/chat", body: `{"input":"What is covered?"}`, text: at("output_text"), failed: sentence},
	{name: "later sample stream", path: "/p/responses/chat/stream", body: "{" + question + "}", stream: lines, text: at("delta"), failed: sentence},
	{name: "sample of either era stream", path: "/chat/stream", body: "{" + question + `,"context":{"overrides":{"send_text_sources":true}}}`, stream: lines,
		text: at("delta"), failed: sentence},
	{name: "SDK", path: "/api/chat/", body: "{" + question + "}", text: at("message", "content"), failed: coded},
	{name: "SDK stream", path: "/api/chat/stream", body: "{" + question + "}", stream: lines, text: at("delta", "content"), failed: coded},
	{name: "multipart", path: "/chat", kind: "multipart/form-data; boundary=b", body: boundary, text: at("message", "content"), failed: coded},
	{name: "OpenAI", path: "/v1/chat/completions", body: `{"model":"parley",` + question + "}", text: at("choices", "message", "content"), failed: typed},
	{name: "ragchat", path: "/p/ragchat/chat", body: `{"message":"What is covered?"}`, text: at("response"), failed: detailed},
	{name: "ragchat stream", path: "/p/ragchat/chat", body: `{"message":"What is covered?","params":{"stream":true}}`, stream: sse,
		done: `"type":"final"`, text: at("response"), failed: detailed},
	{name: "chatui team", path: "/api/multi-agent-chat/stream", body: "{" + question + "}", stream: sse, done: `"status":"completed"`,
		text: at("content"), failed: messaged},
	{name: "chatui team, whole", path: "/api/multi-agent-chat?format=messages", body: "{" + question + "}", text: at("messages", "content"), failed: messaged},
	{name: "chatui team, batch", path: "/api/multi-agent-chat/batch?format=messages", body: "{" + question + "}", text: at("messages", "content"), failed: messaged},
	{name: "chatui", path: "/api/chat", body: "{" + question + "}", text: at("content"), failed: messaged},
	{name: "chatui stream", path: "/api/chat/sse", body: "{" + question + "}", stream: sse, done: `"status":"completed"`,
		text: at("content"), failed: messaged},
	{name: "OpenAI stream", path: "/v1/chat/completions", body: `{"model":"parley",` + question + `,"stream":true}`, stream: sse, done: "[DONE]",
		text: at("choices", "delta", "content"), failed: typed},
	{name: "OpenAI prompt", path: "/v1/completions", body: `{"model":"parley","prompt":"What is covered?"}`, text: at("choices", "text"), failed: typed},
	{name: "OpenAI prompt stream", path: "/v1/completions", body: `{"model":"parley","prompt":"What is covered?","stream":true}`, stream: sse, done: "[DONE]",
		text: at("choices", "text"), failed: typed},
	{name: "Responses", path: "/v1/responses", body: `{"model":"parley","input":"What is covered?"}`, text: at("output", "content", "text"), failed: typed},
	{name: "Responses stream", path: "/v1/responses", body: `{"model":"parley","input":"What is covered?","stream":true}`, stream: sse, done: "[DONE]",
		after: `"type":"response.failed"`, text: delta("response.output_text.delta"), failed: typed},
	{name: "AI SDK", path: "/api/chat", body: `{"trigger":"submit-message","messages":[{"role":"user","parts":[{"type":"text","text":"What is covered?"}]}]}`,
		stream: sse, done: "[DONE]", text: delta("text-delta"), failed: erring},
	{name: "AG-UI", path: "/ag-ui", body: `{"messages":[{"role":"user","content":"What is covered?"}]}`,
		stream: sse, done: "RUN_FINISHED", text: delta("TEXT_MESSAGE_CONTENT"), failed: erring},
	{name: "On Your Data", path: "/history/generate", body: "{" + question + `,"stream":false}`, text: atAssistant, failed: sentence},
	{name: "On Your Data stream", path: "/conversation", body: "{" + question + "}", stream: lines, text: atAssistant, failed: sentence},
	{name: "data sources", path: "/openai/deployments/x/chat/completions", body: "{" + question + sources + "}", text: at("choices", "message", "content"), failed: typed},
	{name: "data sources, older", path: "/openai/deployments/x/extensions/chat/completions", body: "{" + question + sources + "}", text: at("choices", "message", "content"),
		failed: typed},
	{name: "data sources stream", path: "/openai/deployments/x/chat/completions", body: "{" + question + sources + `,"stream":true}`, stream: sse, done: "[DONE]",
		text: at("choices", "delta", "content"), failed: typed},
}

// Each route that runs a turn is asked by the rows of protocols or of indirect: a new one must be added there. A path with a prefix
// (/p/NAME, /api, /openai) or a slash at its end leads where the path without it does.
func TestProtocols_AreAskedOnEveryRouteThatRunsATurn(t *testing.T) {
	asked := []string{"/mcp", "/chat/{session_id}"} // of a session: the turns of ragchat, with a conversation
	for _, p := range protocols {
		asked = append(asked, bare(p.path))
	}
	for _, protocol := range newStack(t, options{}).mounted {
		for _, rt := range protocol.Routes {
			_, path, _ := strings.Cut(rt.Pattern, " ")
			if rt.Turn && !slices.Contains(asked, bare(path)) {
				t.Errorf("no row asks %s", rt.Pattern)
			}
		}
	}
}

var prefixes = regexp.MustCompile(`^(/p/[a-z0-9-]+)?(/api|/openai)?`)

// bare returns a path without prefixes, query and the slash at its end.
func bare(path string) string {
	path, _, _ = strings.Cut(strings.Replace(path, "{name}", "x", 1), "?")
	return strings.TrimSuffix(prefixes.ReplaceAllString(strings.TrimSuffix(path, "{$}"), ""), "/")
}

const sources = `,"data_sources":[{"type":"azure_search","parameters":{}}]`

// atAssistant returns the text of the last message of a choice if the assistant has said it.
func atAssistant(object map[string]any) string {
	choices, _ := object["choices"].([]any)
	for _, choice := range choices {
		messages, _ := choice.(map[string]any)["messages"].([]any)
		for _, m := range messages {
			if m, _ := m.(map[string]any); m["role"] == "assistant" {
				text, _ := m["content"].(string)
				return text
			}
		}
	}
	return ""
}

// at returns the string at a path of members; in a list it takes the first element.
func at(path ...string) func(map[string]any) string {
	return func(object map[string]any) string {
		var v any = object
		for _, key := range path {
			if list, ok := v.([]any); ok && len(list) > 0 {
				v = list[0]
			}
			m, _ := v.(map[string]any)
			v = m[key]
			if list, ok := v.([]any); ok && len(list) > 0 {
				v = list[0]
			}
		}
		text, _ := v.(string)
		return text
	}
}

// delta returns the piece that an event of this type adds.
func delta(kind string) func(map[string]any) string {
	return func(object map[string]any) string {
		if object["type"] != kind {
			return ""
		}
		text, _ := object["delta"].(string)
		return text
	}
}

func sentence(o map[string]any) bool {
	s, ok := o["error"].(string)
	return ok && s != "" && len(o) == 1
}

func coded(o map[string]any) bool {
	e, ok := o["error"].(map[string]any)
	return ok && e["code"] != "" && e["message"] != "" && len(e) == 2
}

func detailed(o map[string]any) bool {
	e, ok := o["error"].(map[string]any)
	return ok && o["detail"] != nil && e["kind"] != "" && e["message"] != ""
}

func messaged(o map[string]any) bool {
	e, ok := o["error"].(map[string]any)
	return ok && o["status"] == "failed" && e["message"] != "" && e["code"] != ""
}

func typed(o map[string]any) bool {
	e, ok := o["error"].(map[string]any)
	return ok && e["message"] != "" && e["type"] != ""
}

// erring also takes the error of a request that was refused.
func erring(o map[string]any) bool {
	text, _ := o["errorText"].(string)
	message, _ := o["message"].(string)
	return text+message != "" || sentence(o)
}

// outcome is the result of a request.
type outcome struct {
	status    int
	turn      string // id of the turn
	raw       string // header and body
	body      string
	text      string
	completed bool
	failed    bool // with a documented error object
}

// ask makes a request and reads the whole response.
func (s *stack) ask(ctx context.Context, p protocol) (outcome, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+p.path, strings.NewReader(p.body))
	if err != nil {
		return outcome{}, err
	}
	r.Header.Set("Content-Type", "application/json")
	if p.kind != "" {
		r.Header.Set("Content-Type", p.kind)
	}
	resp, err := s.client.Do(r)
	if err != nil {
		return outcome{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 64<<20))
	if err != nil {
		return outcome{}, err
	}
	out := outcome{status: resp.StatusCode, turn: resp.Header.Get("X-Turn-Id"), raw: fmt.Sprint(resp.Header, string(body)), body: string(body)}
	return out, p.read(&out, resp.Header.Get("Content-Type"), body)
}

// read determines how a response ended. An error says that it violates the protocol.
func (p *protocol) read(out *outcome, kind string, body []byte) error {
	if out.status != http.StatusOK || p.stream == whole {
		var object map[string]any
		if err := json.Unmarshal(body, &object); err != nil {
			return fmt.Errorf("status %d is not JSON: %w: %.200s", out.status, err, body)
		}
		out.failed, out.text = p.failed(object), p.text(object)
		out.completed = out.status == http.StatusOK && object["error"] == nil
		return nil
	}
	last, after := "", p.after
	for line := range bytes.Lines(body) {
		event := strings.TrimSpace(string(line))
		if p.stream == sse {
			event = strings.TrimPrefix(event, "data: ")
		}
		if event == "" || strings.HasPrefix(event, ":") || strings.HasPrefix(event, "event: ") {
			continue
		}
		if last = event; event == "[DONE]" {
			continue
		}
		var object map[string]any
		if err := json.Unmarshal([]byte(event), &object); err != nil {
			return fmt.Errorf("a line of %s is not JSON: %w: %.200s", kind, err, event)
		}
		if out.failed && after != "" && strings.Contains(event, after) {
			after = ""
			continue
		}
		if out.failed {
			return fmt.Errorf("a line follows the error: %.200s", event)
		}
		if object["error"] != nil || object["type"] == "error" || object["type"] == "RUN_ERROR" {
			if out.failed = p.failed(object); !out.failed {
				return fmt.Errorf("an error of another shape: %.200s", event)
			}
		}
		out.text += p.text(object)
	}
	out.completed = !out.failed && last != "" && strings.Contains(last, p.done)
	return nil
}
