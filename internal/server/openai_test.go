package server

import (
	"context"
	"encoding/json"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"parley/internal/access"
	"parley/internal/chat"
	"parley/internal/llm"
	"parley/internal/transcript"
	"parley/internal/transcript/transcripttest"
	"parley/internal/wire"
	"parley/internal/wire/openai"
	"parley/internal/wire/responses"
)

const completionPath = "/v1/chat/completions"

func openAIOf(runner chat.Runner) wire.Protocol {
	return openai.New(openai.Config{Base: wire.Base{Runner: runner, Namespaces: namespaces}, Embedding: openai.Embedding{Model: "builtin:test", Embed: embed}}).Protocol()
}

// responsesOf returns the Responses API with one response and one conversation, each of one item.
func responsesOf(runner chat.Runner) wire.Protocol {
	const response = `{"id":"` + stored + `","object":"response","created_at":1,"completed_at":1,"status":"completed","background":false,` +
		`"error":null,"incomplete_details":null,"instructions":null,"max_output_tokens":null,"max_tool_calls":null,"model":"parley",` +
		`"output":[],"parallel_tool_calls":true,"previous_response_id":null,"presence_penalty":0,"frequency_penalty":0,` +
		`"prompt_cache_key":null,"reasoning":{"effort":null,"summary":null},"safety_identifier":null,"service_tier":"default","store":true,` +
		`"temperature":0.3,"text":{"format":{"type":"text"}},"tool_choice":"auto","tools":[],"top_logprobs":0,"top_p":1,` +
		`"truncation":"auto","usage":null,"metadata":{}}`
	s := &transcripttest.Store{}
	for kind, first := range map[transcript.Kind]transcript.Message{
		transcript.Responses:     {ID: "response", Body: json.RawMessage(response)},
		transcript.Conversations: {ID: "metadata", Body: json.RawMessage(`{}`)},
	} {
		_, err := s.Save(context.Background(), transcript.Scope{Kind: kind, Namespace: "default"}, stored,
			func(t *transcript.Transcript, _ bool) error {
				item := `{"id":"m1","type":"message","status":"completed","role":"user","content":[]}`
				t.Messages = []transcript.Message{first, {ID: "m1", Body: json.RawMessage(item)}}
				return nil
			})
		if err != nil {
			panic(err)
		}
	}
	return responses.New(responses.Config{Base: wire.Base{Runner: runner, Namespaces: namespaces}, Store: s}).Protocol()
}

func embed(_ context.Context, req llm.EmbedRequest) (llm.Embeddings, error) {
	return llm.Embeddings{Vectors: make([][]float32, len(req.Texts))}, nil
}

func namespaces(context.Context, access.Principal) ([]string, error) { return []string{"hr"}, nil }

// Clients can read the reason of every refusal below /v1/.
func TestOpenAI_EveryRefusalHasItsShape(t *testing.T) {
	s := newServer(t, options{})
	question := `{"model":"parley",` + question[1:]
	cases := []struct {
		method, target, body string
		headers              []string
		status               int
		code                 string
	}{
		{"POST", completionPath, `{}`, nil, 400, "missing_required_parameter"},
		{"POST", completionPath, `{`, nil, 400, ""},
		{"POST", completionPath, strings.Repeat(" ", 1<<20+1), nil, 413, "too_large"},
		{"POST", completionPath, question, []string{"Content-Type", "text/plain"}, 415, "unsupported_media_type"},
		{"POST", completionPath, question, []string{"Content-Type", "multipart/form-data; boundary=b"}, 415, "unsupported_media_type"},
		{"POST", completionPath, question, []string{"Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example"}, 403, "forbidden_origin"},
		{"POST", completionPath + "/", `{}`, nil, 400, "missing_required_parameter"},
		{"PUT", completionPath, "", nil, 405, "method_not_allowed"},
		{"DELETE", "/v1/models/parley", "", nil, 405, "method_not_allowed"},
		{"GET", "/v1/models/gpt-5", "", nil, 404, "model_not_found"},
		{"GET", "/v1/models/", "", nil, 404, "model_not_found"},
		{"POST", "/v1/embeddings", `{"model":"parley"}`, nil, 400, "missing_required_parameter"},
		{"POST", "/v1/embeddings", strings.Repeat(" ", 1<<20+1), nil, 413, "too_large"},
		{"POST", "/v1/embeddings", question, []string{"Content-Type", "text/plain"}, 415, "unsupported_media_type"},
		{"GET", "/v1/embeddings", "", nil, 405, "method_not_allowed"},
		{"POST", "/v1/responses", question, nil, 400, "missing_required_parameter"},
		{"POST", "/v1/responses", strings.Repeat(" ", 1<<20+1), nil, 413, "too_large"},
		{"POST", "/v1/responses", question, []string{"Content-Type", "text/plain"}, 415, "unsupported_media_type"},
		{"POST", "/v1/responses", question, []string{"Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example"}, 403, "forbidden_origin"},
		{"GET", "/v1/responses", "", nil, 426, "upgrade_required"},
		{"PUT", "/v1/responses/resp_1", "", nil, 405, "method_not_allowed"},
		{"GET", "/v1/responses/resp_1", "", nil, 404, "not_found"},
		{"POST", "/v1/images/generations", question, nil, 404, "not_found"},
	}
	for _, c := range cases {
		w := do(s, c.method, c.target, c.body, c.headers...)
		var got struct {
			Error struct{ Message, Type, Code string }
		}
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
			t.Errorf("%s %s: %v: %s", c.method, c.target, err, w.Body)
		}
		e := got.Error
		if w.Code != c.status || e.Code != c.code || e.Type == "" || e.Message == "" {
			t.Errorf("%s %s: %d %s, want %d and the code %q", c.method, c.target, w.Code, w.Body, c.status, c.code)
		}
	}
}

func TestOpenAI_RefusesHostileBodies(t *testing.T) {
	s := newServer(t, options{})
	for name, c := range hostileBodies() {
		status := c.status
		if status == http.StatusOK {
			status = http.StatusBadRequest // it names no model
		}
		if w := do(s, http.MethodPost, completionPath, c.body); w.Code != status {
			t.Errorf("%s: status %d, want %d: %.200s", name, w.Code, status, w.Body)
		}
	}
}

func TestOpenAI_ModelsAreFoundWithAndWithoutAnEscapedSlash(t *testing.T) {
	s := newServer(t, options{})
	for _, target := range []string{"/v1/models/parley", "/v1/models/parley/hr", "/v1/models/parley%2Fhr"} {
		if w := do(s, http.MethodGet, target, ""); w.Code != http.StatusOK {
			t.Errorf("%s: %d %s", target, w.Code, w.Body)
		}
	}
}

func TestOpenAI_ABrowserMaySendTheClientsHeaders(t *testing.T) {
	w := do(newServer(t, options{}), http.MethodOptions, completionPath, "",
		"Origin", "http://localhost:5173", "Access-Control-Request-Method", "POST")
	allowed := w.Header().Get("Access-Control-Allow-Headers")
	for _, name := range []string{"authorization", "x-stainless-os", "x-stainless-retry-count", "openai-organization"} {
		if !strings.Contains(allowed, name) {
			t.Errorf("%s is not among %s", name, allowed)
		}
	}
}

func TestContent_ServesTheNamespaceThatTheLinkNames(t *testing.T) {
	l := newLibrary()
	l.add("hr.txt", "text/plain", []byte("Salaries."))
	doc := l.docs["hr.txt"]
	doc.Namespace = "hr"
	l.docs["hr.txt"] = doc
	doc.Namespace = "closed"
	l.docs["closed.txt"] = doc
	s := newServer(t, options{library: l})
	for target, status := range map[string]int{
		"/content/hr.txt":                             404,
		"/content/hr.txt?namespace=hr":                200,
		"/content/hr.txt?namespace=default":           404,
		"/content/closed.txt?namespace=closed":        404,
		"/content/handbook.txt?namespace=hr":          404,
		"/content/handbook.txt?namespace=":            200,
		"/content/handbook.txt?namespace=default&x=y": 200,
	} {
		if w := do(s, http.MethodGet, target, ""); w.Code != status {
			t.Errorf("%s: status %d, want %d", target, w.Code, status)
		}
	}
}

// The rules of R13 for bodies also hold for those of responses.
func TestResponses_RefuseHostileBodies(t *testing.T) {
	s := newServer(t, options{})
	for name, c := range hostileBodies() {
		if name == "1 MiB" {
			continue // too long with a model
		}
		body := strings.Replace(strings.ReplaceAll(c.body, `"messages":`, `"input":`), `{"input"`, `{"model":"parley","input"`, 1)
		for _, path := range []string{"/v1/responses", "/v1/responses/compact"} {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			w := do(s, http.MethodPost, path, body)
			runtime.ReadMemStats(&after)
			if w.Code != c.status || !strings.HasPrefix(w.Body.String(), `{"error":{"type":"invalid_request",`) {
				t.Errorf("%s: POST %s: %d %.200s", name, path, w.Code, w.Body)
			}
			const fixed = 64 << 10 // overhead of any request
			if got, most := after.TotalAlloc-before.TotalAlloc, uint64(10*len(body)+fixed); got > most {
				t.Errorf("%s: %d bytes for a body of %d", name, got, len(body))
			}
		}
	}
}
