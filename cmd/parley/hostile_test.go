package main

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"parley/internal/access"
	"parley/internal/auth/apikey"
	"parley/internal/retrieval"
	"parley/internal/server"
	"parley/internal/turn"
	"parley/internal/wire"
	"parley/test/needs"
)

// wholeServer is the HTTP side of `parley serve` with the built-in answerer and all routes. Its
// jobs wait for ever, so that no request reads files.
type wholeServer struct {
	http.Handler
	serving *serving
	admin   string // an administrator's key, which send uses where anonymous callers may do nothing
	api     apiDocument
	routes  []wire.Route
	log     *panics
	saved   *savedTurns
	embeds  time.Duration // see embedding
}

func newWholeServer(t testing.TB, changes ...func(*Config)) *wholeServer {
	t.Helper()
	log := &panics{}
	cfg := DefaultConfig()
	cfg.Data, cfg.UploadsEnabled, cfg.LimitsMaxConcurrent = t.TempDir(), settingOn, 1000
	for _, change := range changes {
		change(&cfg)
	}
	p := &program{config: cfg, stdout: io.Discard, stderr: log, log: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		lookupEnv: func(string) (string, bool) { return "", false }, given: map[string]bool{}}
	in, err := p.openAnswering(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = in.Close() })
	const words = "The deductible of the plan costs 500 dollars. Employees pay it each year."
	err = in.corpus.Apply(t.Context(), retrieval.Batch{Namespace: cfg.Namespace, Put: []retrieval.Put{{
		Document: retrieval.Document{ID: "plan", Name: "plan.txt", Title: "Plan", MediaType: "text/plain", Pages: 1, IndexedAt: time.Now()},
		Pages:    []retrieval.Page{{Number: 1, Text: words}},
		Chunks:   []retrieval.Chunk{{Text: words, Spans: []retrieval.Span{{Page: 1, End: len(words)}}, Tokens: 20}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	admin := newKey(t, in, apikey.Key{Role: access.Administrator})
	entry, err := p.newEntrance(t.Context(), in, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	saved := &savedTurns{}
	s := &serving{program: p, instance: in, url: "http://127.0.0.1", uploads: cfg.UploadsEnabled != settingOff, entry: entry,
		runner: in.newRunner(p.log, turn.Options{Keep: true, MaxTurns: cfg.LimitsMaxConcurrent, Saved: saved.add}), metrics: server.NewMetrics()}
	in.lacks.progress, in.lacks.uploads = s.reading, s.uploads
	srv := s.server()
	w := &wholeServer{Handler: srv.Handler(), routes: srv.Routes(), serving: s, admin: admin, log: log, saved: saved}
	reply := httptest.NewRecorder()
	w.ServeHTTP(reply, httptest.NewRequest(http.MethodGet, "/openapi.json", nil))
	if err := json.Unmarshal(reply.Body.Bytes(), &w.api); err != nil {
		t.Fatal(err)
	}
	return w
}

// newKey stores a key and returns its text.
func newKey(t testing.TB, in *instance, k apikey.Key) string {
	t.Helper()
	k, text, err := apikey.New(k, time.Now())
	if err == nil {
		err = in.db.APIKeys().AddKey(t.Context(), k)
	}
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// send makes a request and returns the reply, without waiting for a job that it starts.
func (s *wholeServer) send(t testing.TB, op operation, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(t.Context(), op.method, op.target, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Prefer", "respond-async")
	if slices.ContainsFunc([]string{"/api/keys", "/api/namespaces", "/api/users", "/api/budgets"}, func(path string) bool { return strings.HasPrefix(op.target, path) }) {
		r.Header.Set("Authorization", "Bearer "+s.admin)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	if op.method == http.MethodPut && op.target == "/api/budgets" && w.Code == http.StatusOK {
		s.send(t, operation{method: http.MethodDelete, target: op.target}, "") // or they would refuse all later turns
	}
	return w
}

// apiDocument is the part of openapi.json that describes requests.
type apiDocument struct {
	Paths      map[string]map[string]json.RawMessage
	Components struct {
		PathItems map[string]map[string]json.RawMessage
		Schemas   map[string]map[string]any
	}
}

// operation is a route with a JSON body, and valid bodies for it.
type operation struct {
	method, target string
	bodies         []string
}

// operations returns every operation with a JSON body. Unless all is set, it omits other paths of
// the same operation (a trailing slash, a prefix).
func (d *apiDocument) operations(t testing.TB, all bool) []operation {
	t.Helper()
	var ops []operation
	seen := map[string]bool{}
	for _, path := range slices.Sorted(maps.Keys(d.Paths)) {
		item := d.Paths[path]
		if ref, ok := item["$ref"]; ok {
			name := strings.Trim(strings.TrimPrefix(string(ref), `"#/components/pathItems/`), `"`)
			if seen[name] && !all {
				continue
			}
			seen[name], item = true, d.Components.PathItems[name]
		}
		for _, method := range []string{http.MethodPost, http.MethodPut} {
			if raw, ok := item[strings.ToLower(method)]; ok {
				if op, ok := d.operation(t, method, path, raw); ok {
					ops = append(ops, op)
				}
			}
		}
	}
	return append(ops, operation{http.MethodPost, "/mcp", messagesOfMCP})
}

// messagesOfMCP are listed here because openapi.json does not describe MCP.
var messagesOfMCP = []string{
	`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search","arguments":{"query":"deductible","limit":2,"namespace":"default"}}}`,
	`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask","arguments":{"question":"What is the deductible?"},"_meta":{"progressToken":"p"}}}`,
	`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"fetch","arguments":{"id":"parley://default/plan.txt#page=1"}}}`,
	`{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"summarize_document","arguments":{"document":"plan.txt"}}}`,
	`{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"summarize_document"},"argument":{"name":"document","value":"p"}}}`,
	`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask","arguments":{"question":"What is the deductible?"}}}`,
	`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"a","version":"1"}}}`,
	`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"parley://default/plan.txt"}}`,
}

func (d *apiDocument) operation(t testing.TB, method, path string, raw json.RawMessage) (operation, bool) {
	t.Helper()
	var o struct {
		Parameters  []struct{ Name, Example string }
		RequestBody struct {
			Content map[string]struct {
				Schema   map[string]any
				Examples map[string]struct{ Value json.RawMessage }
			}
		}
	}
	if err := json.Unmarshal(raw, &o); err != nil {
		t.Fatal(err)
	}
	content, ok := o.RequestBody.Content["application/json"]
	if !ok {
		return operation{}, false // a form
	}
	op := operation{method: method, target: path}
	for _, p := range o.Parameters {
		if p.Example != "" { // without one, the name in braces stands for what does not exist
			op.target = strings.ReplaceAll(op.target, "{"+p.Name+"}", p.Example)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(content.Examples)) {
		op.bodies = append(op.bodies, compact(t, content.Examples[name].Value))
	}
	if sample := d.sample(content.Schema, 0); sample != nil {
		full, err := json.Marshal(sample)
		if err != nil {
			t.Fatal(err)
		}
		op.bodies = append(op.bodies, string(full))
	}
	return op, true
}

// sample returns a value of a schema with all its named members.
func (d *apiDocument) sample(schema map[string]any, depth int) any {
	if depth > 8 {
		return nil
	}
	if ref, ok := schema["$ref"].(string); ok {
		return d.sample(d.Components.Schemas[ref[strings.LastIndexByte(ref, '/')+1:]], depth+1)
	}
	for _, key := range []string{"oneOf", "anyOf"} {
		if list, ok := schema[key].([]any); ok {
			return d.sample(list[0].(map[string]any), depth+1)
		}
	}
	if v, ok := schema["const"]; ok {
		return v
	}
	if list, ok := schema["enum"].([]any); ok {
		return list[0]
	}
	kind := schema["type"]
	if list, ok := kind.([]any); ok {
		kind = list[0]
	}
	switch properties, _ := schema["properties"].(map[string]any); {
	case properties != nil:
		object := map[string]any{}
		for key, s := range properties {
			object[key] = d.sample(s.(map[string]any), depth+1)
		}
		return object
	case kind == "array":
		element, _ := schema["items"].(map[string]any)
		return []any{d.sample(element, depth+1)}
	case kind == "string":
		return "user"
	case kind == "integer", kind == "number":
		return 1
	case kind == "boolean":
		return false
	case kind == "object":
		return map[string]any{"a": "b"}
	}
	return nil
}

// fixtures returns the requests of the protocols' own tests, which cover what openapi.json omits.
func fixtures(t testing.TB) []operation {
	t.Helper()
	files, err := filepath.Glob("../../internal/wire/*/testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no fixtures: %v", err)
	}
	var ops []operation
	for _, name := range files {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range archive.Files {
			head, body, ok := strings.Cut(string(f.Data), "\n\n")
			method, rest, _ := strings.Cut(head, " ")
			target, _, _ := strings.Cut(rest, "\n")
			var object map[string]any
			if ok && f.Name == "request" && (method == http.MethodPost || method == http.MethodPut) && json.Unmarshal([]byte(body), &object) == nil {
				ops = append(ops, operation{method, strings.TrimSpace(target), []string{compact(t, json.RawMessage(body))}})
			}
		}
	}
	return ops
}

// fieldsOf returns the path of each value in a body, in order.
func fieldsOf(v any, at string) []string {
	all := []string{at}
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			all = append(all, fieldsOf(v[key], at+"."+key)...)
		}
	case []any:
		for _, e := range v {
			all = append(all, fieldsOf(e, at+"[]")...)
		}
	}
	return all
}

func compact(t testing.TB, raw json.RawMessage) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil {
		t.Fatal(err)
	}
	// These addresses are refused at once, so nothing is looked up on the network.
	return strings.NewReplacer("https://", "http://127.0.0.1/", `"estimate":true`, `"estimate":false`).Replace(b.String())
}

// places returns the number of values in a JSON body. replaced returns the body with one value, by
// number, replaced by a literal.
func places(t testing.TB, body string) int {
	n := 0
	encodeWith(decodeAny(t, body), &n, -1, "")
	return n
}

func replaced(t testing.TB, body string, place int, literal string) string {
	n := 0
	return encodeWith(decodeAny(t, body), &n, place, literal)
}

func encodeWith(v any, n *int, place int, literal string) string {
	at := *n
	*n++
	var out string
	switch v := v.(type) {
	case map[string]any:
		var members []string
		for _, key := range slices.Sorted(maps.Keys(v)) {
			members = append(members, string(wire.AppendString(nil, key))+":"+encodeWith(v[key], n, place, literal))
		}
		out = "{" + strings.Join(members, ",") + "}"
	case []any:
		var elements []string
		for _, e := range v {
			elements = append(elements, encodeWith(e, n, place, literal))
		}
		out = "[" + strings.Join(elements, ",") + "]"
	default:
		raw, _ := json.Marshal(v)
		out = string(raw)
	}
	if at == place {
		return literal
	}
	return out
}

func decodeAny(t testing.TB, body string) any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(body))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	return v
}

// wrongTypes are values of every kind, most of them of a wrong type.
var wrongTypes = []string{
	"null", "true", "0", "1.0", "-1", "1e400", "-1e-400", "123456789012345678901234567890", `""`, `"x"`, `"1.0"`, `"NaN"`, `"\ud800"`, `"\u0000"`,
	"[]", "{}", "[null]", "[1.0]", `[[]]`, `[{}]`, `{"a":1.0}`, `{"type":1.0}`, `{"function":1.0}`, `{"":{"":[]}}`,
	strings.Repeat("[", 60) + strings.Repeat("]", 60), strings.Repeat(`{"a":`, 60) + "1" + strings.Repeat("}", 60), `{"a":1,"a":2}`,
}

// check fails the test unless a client can handle the reply.
func (s *wholeServer) check(t testing.TB, op operation, body string, w *httptest.ResponseRecorder) {
	t.Helper()
	reply := w.Body.String()
	if w.Code >= 500 || strings.Contains(reply, "The app encountered an error") || strings.Contains(s.log.String(), "panicked") {
		t.Errorf("%s %s %.300s\n%d %.300s", op.method, op.target, body, w.Code, reply)
		return
	}
	if w.Code < 400 {
		return
	}
	var object map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &object); err != nil || object[errorMember(op.target)] == nil {
		t.Errorf("%s %s %.300s: %d is in no protocol's shape: %.200s", op.method, op.target, body, w.Code, reply)
	}
}

// errorMember returns the member that every error of a path has.
func errorMember(target string) string {
	switch {
	case strings.HasPrefix(target, "/api/v1/"), strings.HasPrefix(target, "/p/librechat/"): // Open WebUI, rag_api
		return "detail"
	case strings.TrimSuffix(target, "/") == "/retrieval": // Dify
		return "error_msg"
	}
	return "error"
}

func TestRoutes_RefuseWrongTypesInEveryField(t *testing.T) {
	needs.Long(t)
	t.Parallel()
	s := newWholeServer(t)
	type request struct {
		op   operation
		body string
	}
	requests := make(chan request)
	var workers sync.WaitGroup
	for range 16 { // some streams take long without using the processor
		workers.Go(func() {
			for r := range requests {
				s.check(t, r.op, r.body, s.send(t, r.op, r.body))
			}
		})
	}
	sent, tried := 0, map[string]bool{}
	for _, op := range append(s.api.operations(t, false), fixtures(t)...) {
		for _, body := range op.bodies {
			for place, field := range fieldsOf(decodeAny(t, body), op.target) {
				if tried[field] {
					continue
				}
				tried[field] = true
				for i, literal := range wrongTypes {
					if needs.Race && (i+place)%4 != 0 {
						continue // the run without the race detector sends all
					}
					requests <- request{op, replaced(t, body, place, literal)}
					sent++
				}
			}
		}
	}
	close(requests)
	workers.Wait()
	t.Logf("%d requests for %d fields", sent, len(tried))
	for _, field := range []string{
		"/v1/chat/completions.tool_choice", "/v1/chat/completions.tools[].function.parameters", "/v1/chat/completions.response_format.json_schema",
		"/chat.context.overrides.top", "/chat.params.model_keys", "/mcp.params.arguments.query",
	} {
		if !tried[field] {
			t.Errorf("%s was not tried", field)
		}
	}
}

// hang is longer than any request takes, however busy the machine is.
const hang = 30 * time.Second

func FuzzRoutes_SurviveAnyValueInAnyField(f *testing.F) {
	s := newWholeServer(f)
	ops := s.api.operations(f, false)
	for i, literal := range wrongTypes {
		f.Add(uint16(i), uint16(i), literal)
	}
	f.Fuzz(func(t *testing.T, which, place uint16, literal string) {
		op := ops[int(which)%len(ops)]
		for _, body := range op.bodies {
			if n := places(t, body); n > 0 {
				body = replaced(t, body, int(place)%n, literal)
				stuck := time.AfterFunc(hang, func() { panic(op.method + " " + op.target + " hangs: " + body) })
				s.check(t, op, body, s.send(t, op, body))
				stuck.Stop()
			}
		}
	})
}

// panics keeps the lines of a log that tell of a panic.
type panics struct {
	output
	also atomic.Value // a text whose lines are kept too
}

func (p *panics) Write(b []byte) (int, error) {
	also, _ := p.also.Load().(string)
	if bytes.Contains(b, []byte("panic")) || also != "" && bytes.Contains(b, []byte(also)) {
		return p.output.Write(b)
	}
	return len(b), nil
}
