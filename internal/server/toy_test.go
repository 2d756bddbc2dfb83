package server

import (
	"net/http"
	"strings"
	"testing"

	"parley/internal/access"
	"parley/internal/chat"
	"parley/internal/llm"
	"parley/internal/wire"
)

// toy is a whole protocol: POST /toy takes {"say": text} and answers with the text of the answer.
type toy struct{ runner chat.Runner }

func (p toy) Protocol() wire.Protocol {
	return wire.Protocol{OpenAPI: []byte(toyOpenAPI), Routes: []wire.Route{{
		Pattern: "POST /toy", Right: wire.Ask, Turn: true, Body: wire.JSON, Limit: 100, Fail: p.fail, Handle: p.handle,
	}}}
}

const toyOpenAPI = `{"tag": "Toy", "errors": "ToyError", "schemas": {"ToyError": {"type": "string"}}, "paths": {"/toy": {"post": {
	"operationId": "toy", "summary": "Ask a toy",
	"requestBody": {"content": {"application/json": {"schema": {"type": "object", "required": ["say"]}}}},
	"responses": {"200": {"description": "The answer.", "content": {"application/json": {"schema": {"type": "string"}}}}}
}}}}`

func (p toy) handle(w http.ResponseWriter, r *wire.Request) error {
	object, err := r.Object()
	if err != nil {
		return err
	}
	v, _ := object.Get("say")
	said, ok := v.Text()
	if !ok {
		return wire.Invalidf(`"say" must be a string`)
	}
	t, err := chat.Collect(p.runner.Run(r.Context(), &chat.Request{
		TurnID: "toy", Principal: r.Who, Messages: []chat.Message{chat.TextMessage(llm.User, said)},
	}))
	if err != nil {
		return err
	}
	m, err := wire.AnswerOf(t)
	if err != nil {
		return err
	}
	return wire.Reply(w, http.StatusOK, m.Text)
}

func (p toy) fail(w http.ResponseWriter, _ *wire.Request, err error) {
	f := wire.FailureOf(err)
	f.Write(w, wire.AppendString(nil, "toy: "+f.Code))
}

// A protocol that mounts itself gets guards, limits, identity, keys and metrics.
func TestMount_GivesAProtocolAllThatTheServerHas(t *testing.T) {
	var asked []access.Principal
	metrics := NewMetrics()
	runner := observed(metrics, &script{words: []string{"Every", "thing."}, seen: func(r chat.Request) { asked = append(asked, r.Principal) }}, 0)
	keys := &claims{}
	s := newServer(t, options{who: access.Principal{Subject: "ann"}, keys: keys, more: []wire.Protocol{toy{runner}.Protocol()}})
	for _, c := range []struct {
		method, body string
		headers      []string
		status       int
		want         string
	}{
		{"POST", `{"say":"What is covered?"}`, nil, 200, `"Everything."`},
		{"POST", `{"say":"What is covered?"}`, []string{"Idempotency-Key", "k"}, 200, `"Everything."`},
		{"POST", `{"say":1}`, nil, 400, `"toy: invalid_request"`},
		{"POST", `{"say":"` + strings.Repeat("x", 100) + `"}`, nil, 413, `"toy: too_large"`},
		{"POST", `{}`, []string{"Content-Type", "text/plain"}, 415, `"toy: unsupported_media_type"`},
		{"POST", `{}`, []string{"X-On-Disconnect", "stay"}, 400, `"toy: invalid_request"`},
		{"POST", `{}`, []string{"Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"}, 403, `"toy: forbidden_origin"`},
		{"GET", ``, nil, 405, `"toy: method_not_allowed"`},
		{"OPTIONS", ``, nil, 204, ``},
	} {
		w := do(s, c.method, "/toy", c.body, c.headers...)
		if got := strings.TrimSpace(w.Body.String()); w.Code != c.status || got != c.want || w.Header().Get("X-Request-Id") == "" {
			t.Errorf("%s %.30s %v: %d %s, want %d %s", c.method, c.body, c.headers, w.Code, got, c.status, c.want)
		}
	}
	if len(asked) != 2 || asked[0].Subject != "ann" {
		t.Errorf("asked by %+v", asked)
	}
	if len(keys.keys) != 1 || keys.keys[0].Owner != "ann" || keys.keys[0].Route != "/toy" {
		t.Errorf("claimed %+v", keys.keys)
	}
	page := do(s, http.MethodGet, "/metrics", "").Body.String()
	if !strings.Contains(page, `parley_http_requests_total{route="/toy",status="200"} 2`) {
		t.Error("the metrics do not count the route")
	}
	op := readDocument(t, s).Find("POST", "/toy")
	for _, status := range []string{"200", "400", "401", "403", "413", "415", "422", "429", "500"} {
		if _, ok := op.Responses[status]; !ok {
			t.Errorf("the status %s is not described", status)
		}
	}
}

func TestMount_RefusesARouteThatIsNotComplete(t *testing.T) {
	whole := toy{}.Protocol().Routes[0]
	for name, change := range map[string]func(*wire.Route){
		"no right":      func(rt *wire.Route) { rt.Right = 0 },
		"no errors":     func(rt *wire.Route) { rt.Fail = nil },
		"no handler":    func(rt *wire.Route) { rt.Handle = nil },
		"no method":     func(rt *wire.Route) { rt.Pattern = "/toy" },
		"of another":    func(rt *wire.Route) { rt.Pattern = "GET /healthz" },
		"twice by name": func(rt *wire.Route) { rt.Pattern, rt.Speaks = "POST /chat", azure0529 },
	} {
		rt := whole
		change(&rt)
		panicked := func() (v any) {
			defer func() { v = recover() }()
			newServer(t, options{more: []wire.Protocol{{Routes: []wire.Route{rt}}}})
			return nil
		}()
		if panicked == nil {
			t.Errorf("%s: the server starts", name)
		}
	}
}
