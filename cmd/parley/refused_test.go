package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
)

// refusal is a provider's refusal and what clients learn of it.
type refusal struct {
	status int
	header string // value of Retry-After
	body   string // contains providerWords, which no client may see
	code   string
	text   string
	told   map[string]int // status by protocol; "" is the status for all others
}

const providerWords = "canary-51c9"

var refusals = map[string]refusal{
	"key": {
		status: 401, body: `{"error":{"message":"Incorrect API key provided: canary-51c9","code":"invalid_api_key"}}`,
		code: "provider_key_refused", text: "The model provider refused the server's key. The administrator of this server must check it.",
		told: map[string]int{"azure": 500, "": 502},
	},
	"limit": {
		status: 429, header: "60", body: `{"error":{"message":"Rate limit canary-51c9","type":"tokens","code":"rate_limit_exceeded"}}`,
		code: "provider_rate_limited", text: "The model provider is limiting requests. Try again in 60 s.",
		told: map[string]int{"": 429},
	},
	"credit": {
		status: 429, body: `{"error":{"message":"You exceeded your current quota canary-51c9","type":"insufficient_quota","code":"insufficient_quota"}}`,
		code: "provider_no_credit", text: "The server's account with the model provider has no credit left.",
		told: map[string]int{"azure": 500, "": 502},
	},
	"length": {
		status: 400, body: `{"error":{"message":"maximum context length canary-51c9","code":"context_length_exceeded"}}`,
		code: "context_length_exceeded", text: "The conversation is too long for the model.",
		told: map[string]int{"openai": 400, "": 413},
	},
	"model": {
		status: 404, body: `{"error":{"message":"no such model canary-51c9","code":"model_not_found"}}`,
		code: "provider_model_not_found", text: "The model provider does not know the model.",
		told: map[string]int{"azure": 500, "": 502},
	},
	"filter": {
		status: 400, body: `{"error":{"message":"canary-51c9","code":"content_filter"}}`,
		code: "content_filter", text: "Your message contains content that was flagged by the OpenAI content filter.",
		told: map[string]int{"": 400},
	},
}

// The test asks through every protocol. Where a specification fixes the sentence, only the error's
// code can differ.
func TestServe_TellsWhyTheProviderRefuses(t *testing.T) {
	t.Parallel()
	var now atomic.Pointer[refusal]
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		r := now.Load()
		if r.header != "" {
			w.Header().Set("Retry-After", r.header)
		}
		w.WriteHeader(r.status)
		_, _ = io.WriteString(w, r.body)
	}))
	defer upstream.Close()
	docs := folderOf(t, map[string]string{"leave.md": "Employees have 30 days of annual leave."})
	p := startServe(t, []string{"OPENAI_API_KEY=sk-test", "OPENAI_BASE_URL=" + upstream.URL},
		docs, "--data", filepath.Join(t.TempDir(), "data"), "--model", "openai:gpt-4o-mini")
	if err := awaitIngested(p.addr); err != nil {
		t.Fatal(err)
	}
	const messages = `{"messages":[{"role":"user","content":"How many days of leave?"}]`
	protocols := []struct {
		name, path, body string
		code             bool // the shape has a code
	}{
		{"azure", "/chat", messages + `}`, false},
		{"azure", "/chat/stream", messages + `}`, false},
		{"azure", "/api/chat/", messages + `}`, true},
		{"chatui", "/api/chat", messages + `}`, true},
		{"chatui", "/api/chat/sse", messages + `}`, true},
		{"openai", "/v1/chat/completions", `{"model":"parley",` + messages[1:] + `}`, true},
		{"openai", "/v1/chat/completions", `{"model":"parley","stream":true,` + messages[1:] + `}`, true},
		{"openai", "/v1/responses", `{"model":"parley","input":"How many days of leave?"}`, true},
		{"openai", "/v1/responses", `{"model":"parley","input":"How many days of leave?","stream":true}`, true},
		{"ai-sdk", "/api/chat", `{"trigger":"submit-message","messages":[{"role":"user","parts":[{"type":"text","text":"How many days of leave?"}]}]}`, false},
		{"ag-ui", "/ag-ui", messages + `}`, true},
		{"ragchat", "/chat", `{"message":"How many days of leave?"}`, true},
		{"mcp", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask","arguments":{"question":"How many days of leave?"}}}`, false},
	}
	for name, r := range refusals {
		now.Store(&r)
		for _, c := range protocols {
			status, header, body := postRefused(t, p.addr, c.path, c.body)
			if strings.Contains(body, providerWords) {
				t.Errorf("%s at %s: the provider's words reach the client: %s", name, c.path, body)
			}
			if c.name == "mcp" {
				if !strings.Contains(body, r.text) {
					t.Errorf("%s at %s: %s", name, c.path, body)
				}
				continue
			}
			want, own := r.told[c.name]
			if !own {
				want = r.told[""]
			}
			streamed := strings.Contains(c.path, "stream") || strings.Contains(c.body, "stream") || c.name == "ai-sdk" || c.name == "ag-ui"
			if status != want && (!streamed || status != http.StatusOK) {
				t.Errorf("%s at %s: status %d, want %d: %s", name, c.path, status, want, body)
			}
			if r.header != "" && status == http.StatusTooManyRequests && header.Get("Retry-After") != r.header {
				t.Errorf("%s at %s: Retry-After %q", name, c.path, header.Get("Retry-After"))
			}
			text := r.text
			if c.name == "azure" && want == http.StatusInternalServerError {
				text = "The app encountered an error processing your request."
			}
			if !strings.Contains(body, strings.TrimSuffix(text, ".")) {
				t.Errorf("%s at %s: the sentence is missing: %s", name, c.path, body)
			}
			code := r.code
			if c.name == "openai" && name == "limit" {
				code = "rate_limit_exceeded"
			}
			if c.code && !strings.Contains(strings.ToLower(body), `"code":"`+code+`"`) {
				t.Errorf("%s at %s: the code is not %s: %s", name, c.path, code, body)
			}
		}
	}
}

func postRefused(t *testing.T, addr, path, body string) (int, http.Header, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+addr+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if path == "/mcp" {
		req.Header.Set("Accept", "application/json, text/event-stream")
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, res.Header, string(answer)
}

// Row S10: whatever a route answers, neither the log, at its finest level, nor an answer, nor the metrics, nor the audit log has
// a credential that a request brought.
func TestRights_NoRouteTellsTheCredentialsOfItsCallers(t *testing.T) {
	t.Parallel()
	m := newMatrix(t)
	const word = "credentialcanary"
	m.log.also.Store(word)
	if m.serving.log.Debug("tried", "word", word); !strings.Contains(m.log.String(), word) {
		t.Fatal("the log is not looked at")
	}
	before := len(m.log.String())
	wrong := "prl_aaaaaaaaaaaaa_" + word
	headers := []map[string]string{
		{"Authorization": "Bearer " + wrong}, {"Authorization": "Bearer e30." + word + ".e30"}, {"Authorization": "Basic " + word}, {"X-API-Key": wrong},
		{"api-key": wrong}, {"Cookie": "parley-session=" + word + "; __Host-parley-session=" + word}, {"Authorization": "Bearer " + m.admin, "X-API-Key": wrong},
		{"Authorization": "Bearer " + m.admin, "Cookie": "parley-session=" + word + "; parley-sign-in=" + word},
	}
	told := func(what, text string) {
		for _, secret := range []string{word, m.admin} {
			if at := strings.Index(text, secret); at >= 0 {
				t.Errorf("%s tells a credential: %.200s", what, text[max(0, at-100):])
			}
		}
	}
	requests := 0
	var sending errgroup.Group // some protocols pace their answers
	sending.SetLimit(16)
	for _, rt := range m.routes {
		if rt.Events {
			continue // streams wait
		}
		method, _, _ := strings.Cut(rt.Pattern, " ")
		target, _ := m.target(rt, true)
		requests += len(headers)
		send := func(h map[string]string) {
			r := httptest.NewRequest(method, target, strings.NewReader(m.bodies[rt.Pattern]))
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Prefer", "respond-async")
			for name, value := range h {
				r.Header.Set(name, value)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			w := httptest.NewRecorder()
			m.ServeHTTP(w, r.WithContext(ctx))
			cancel()
			told(rt.Pattern, fmt.Sprint(w.Header(), w.Body))
		}
		sending.Go(func() error {
			for _, h := range headers {
				send(h)
			}
			return nil
		})
	}
	_ = sending.Wait() // returns what the functions return
	if requests < 2000 {
		t.Errorf("only %d requests", requests)
	}
	m.log.also.Store("")
	told("the log", m.log.String()[before:])
	for _, target := range []string{"/metrics", "/api/audit?limit=10000", "/api/usage", "/api/doctor"} {
		told(target, m.as(m.admin, http.MethodGet, target, "", "").Body.String())
	}
}
