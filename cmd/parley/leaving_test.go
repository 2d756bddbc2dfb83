package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"parley/internal/wire"
	"parley/test/needs"
)

// heldServer is a whole server whose model calls can be held until the caller leaves.
type heldServer struct {
	*wholeServer
	addr    string
	busy    atomic.Int64 // requests in progress
	held    atomic.Value // string: the calls to hold, one of the constants below
	calls   atomic.Int64 // calls held so far
	active  atomic.Int64 // calls held at present
	others  []net.Conn   // clients that stay, each with a turn in progress
	slowest map[string]time.Duration
}

// When clients leave. Each value holds other calls.
const (
	inBody   = "in the middle of the body"
	inSearch = "while the question is embedded"
	inWait   = "before the first token"
	inStream = "in the middle of the stream"
)

func newHeldServer(t *testing.T) *heldServer {
	h := &heldServer{slowest: map[string]time.Duration{}}
	h.held.Store("")
	models := httptest.NewServer(http.HandlerFunc(h.model))
	t.Cleanup(models.Close)
	h.wholeServer = newWholeServer(t, func(c *Config) {
		c.Model, c.Embedding, c.OpenAIAPIKey, c.OpenAIBaseURL = "openai:m", "openai:e", "key-of-a-test", models.URL+"/v1"
	})
	if err := h.serving.embed(t.Context(), io.Discard, newDisplay(io.Discard, time.Now), func(embedProgress) {}); err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.busy.Add(1)
		defer h.busy.Add(-1)
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	h.addr = strings.TrimPrefix(front.URL, "http://")
	return h
}

// model answers like OpenAI's API, unless the call is held.
func (h *heldServer) model(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 4<<20))
	if err != nil || r.Method == http.MethodGet { // the list of models, which belongs to no request
		http.NotFound(w, r)
		return
	}
	if embeds := strings.HasSuffix(r.URL.Path, "/embeddings"); h.held.Load() == inSearch && embeds || !embeds && h.held.Load() != "" {
		h.active.Add(1)
		defer h.active.Add(-1)
		h.calls.Add(1)
		w.Header().Set("Content-Type", "text/event-stream")
		for h.held.Load() == inStream && r.Context().Err() == nil {
			fmt.Fprint(w, "data: {\"id\":\"x\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"word \"}}]}\n\n")
			_ = http.NewResponseController(w).Flush()
			time.Sleep(10 * time.Millisecond)
		}
		<-r.Context().Done()
		return
	}
	var asked struct{ Input []string }
	_ = json.Unmarshal(body, &asked)
	reply := map[string]any{"model": "e", "usage": map[string]int{"prompt_tokens": 1}}
	var vectors []any
	for i := range asked.Input {
		vectors = append(vectors, map[string]any{"index": i, "embedding": []float64{1, 0, 0}})
	}
	reply["data"] = vectors
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(reply)
}

// wildcard is a wildcard of a route's pattern.
var wildcard = regexp.MustCompile(`\{([a-z_]+)(\.\.\.)?\}`)

// target returns a path that a route serves, with existing ids.
func (h *heldServer) target(t *testing.T, path string) string {
	t.Helper()
	path = strings.TrimSuffix(path, "{$}")
	return wildcard.ReplaceAllStringFunc(path, func(part string) string {
		name := strings.Trim(part, "{}.")
		switch before, _, _ := strings.Cut(path, part); {
		case strings.HasSuffix(before, "/turns/"):
			return h.turnInProgress(t)
		case strings.HasSuffix(before, "/jobs/"):
			return h.made(t, "/index", `{"urls":["http://127.0.0.1/a"]}`, "job_id")
		case name == "session_id":
			return h.made(t, "/chat/session", `{}`, "session_id")
		case strings.Contains(before, "chat-history") || strings.Contains(before, "chat_history"):
			return h.made(t, "/api/chat-history", `{"title":"t"}`, "id")
		}
		return "plan.txt"
	})
}

// made returns the id of the resource that a request creates.
func (h *heldServer) made(t *testing.T, path, body, member string) string {
	t.Helper()
	w := h.send(t, operation{method: http.MethodPost, target: path}, body)
	var reply map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &reply); err != nil || reply[member] == nil {
		t.Fatalf("POST %s: %d %s", path, w.Code, w.Body)
	}
	return fmt.Sprint(reply[member])
}

// turnInProgress returns the id of a turn whose client stays until another client has left.
func (h *heldServer) turnInProgress(t *testing.T) string {
	t.Helper()
	held := h.held.Swap(inWait)
	defer h.held.Store(held)
	body := `{"messages":[{"role":"user","content":"What is the deductible?"}]}`
	conn := h.dial(t, http.MethodPost, "/chat/stream", "application/json", body, len(body))
	h.others = append(h.others, conn)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	return resp.Header.Get("X-Turn-Id")
}

// dial sends a request with only a part of its body, and returns its connection.
func (h *heldServer) dial(t *testing.T, method, target, kind, body string, part int) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", h.addr)
	if err != nil {
		t.Fatal(err)
	}
	_, err = fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n"+
		"X-On-Disconnect: cancel\r\nAccept: application/json, text/event-stream\r\n\r\n%s", method, target, h.addr, kind, len(body), body[:part])
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

const uploadForm = "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n\r\nWords.\r\n--b--\r\n"

// bodies returns valid bodies for a route, with their content type.
func (h *heldServer) bodies(t *testing.T, rt *wire.Route, method, path string) (kind string, bodies []string) {
	t.Helper()
	switch rt.Body {
	case wire.NoBody:
		return "application/json", []string{""}
	case wire.Ignored:
		return "application/json", []string{"{}"}
	case wire.Unread:
		return "multipart/form-data; boundary=b", []string{uploadForm}
	}
	path = strings.TrimSuffix(strings.TrimSuffix(path, "{$}"), "/")
	if path == "/mcp" {
		return "application/json", messagesOfMCP
	}
	for _, p := range []string{"/p/" + rt.Speaks + path, path, path + "/"} {
		item := h.api.Paths[p]
		if ref, ok := item["$ref"]; ok {
			item = h.api.Components.PathItems[strings.Trim(strings.TrimPrefix(string(ref), `"#/components/pathItems/`), `"`)]
		}
		if raw, ok := item[strings.ToLower(method)]; ok {
			if op, ok := h.api.operation(t, method, p, raw); ok {
				bodies = append(bodies, op.bodies...)
			}
		}
	}
	return "application/json", bodies
}

// leave sends a request, leaves at the point that the mode says, and checks that the server stops
// working on it. It reports whether a model was called.
func (h *heldServer) leave(t *testing.T, rt *wire.Route, mode, method, target, kind, body string) (asked bool) {
	t.Helper()
	h.held.Store(mode)
	calls, part := h.calls.Load(), len(body)
	if mode == inBody {
		part /= 2
	}
	conn := h.dial(t, method, target, kind, body, part)
	came := make(chan struct{})
	go func() { // ends with the connection
		defer close(came)
		_, _ = conn.Read(make([]byte, 1))
	}()
	begun, longest := time.Now(), time.Second
	if !rt.Turn && !rt.Events {
		longest = 100 * time.Millisecond // no model is awaited: it reads an address, for example
	}
	for there := false; !there && time.Since(begun) < longest; time.Sleep(time.Millisecond) {
		asked = h.calls.Load() > calls
		working := h.busy.Load() > int64(len(h.others))
		switch {
		case mode == inBody:
			there = working || isClosed(came)
		case rt.Events:
			there = isClosed(came)
		default:
			there = asked || isClosed(came) && !working
		}
	}
	if mode == inStream && asked {
		time.Sleep(20 * time.Millisecond) // some words
	}
	left := time.Now()
	_ = conn.Close()
	<-came
	h.settle(t, fmt.Sprintf("%s %s, left %s (%.200s)", method, target, mode, body))
	h.slowest[mode] = max(h.slowest[mode], time.Since(left))
	for _, conn := range h.others {
		_ = conn.Close()
	}
	h.others = nil
	h.settle(t, "the turn beside "+target)
	return asked
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// settle waits until no request is handled and no model is called, except for the others.
func (h *heldServer) settle(t *testing.T, what string) {
	t.Helper()
	most := int64(len(h.others))
	for begun := time.Now(); h.busy.Load() > most || h.active.Load() > most; time.Sleep(time.Millisecond) {
		if time.Since(begun) > hang {
			t.Fatalf("%s: %d requests and %d calls of a model go on", what, h.busy.Load(), h.active.Load())
		}
	}
}

// Every route stops its work when its client leaves, including model calls. The test covers every
// mounted route that does more than read.
func TestRoutes_EndWithTheirClients(t *testing.T) {
	needs.Long(t)
	h := newHeldServer(t)
	running := goleak.IgnoreCurrent()
	tried, asking := 0, map[string]int{}
	for _, p := range h.serving.protocols() {
		for _, rt := range p.Routes {
			method, path, _ := strings.Cut(rt.Pattern, " ")
			if method == http.MethodGet && !rt.Events {
				continue // it only reads
			}
			if strings.HasSuffix(path, "/{$}") && !needs.All() {
				continue // an alias of a route that is tested
			}
			kind, bodies := h.bodies(t, &rt, method, path)
			if len(bodies) == 0 {
				t.Errorf("%s has no example of a body in openapi.json, so that it was not tried", rt.Pattern)
			}
			asked, few := false, bodies
			if !needs.All() || needs.Race { // all take a minute, two under the race detector
				few = bodies[:min(len(bodies), 2)]
			}
			for _, body := range few {
				for _, mode := range []string{inBody, inSearch, inWait, inStream} {
					if mode == inBody && rt.Body == wire.NoBody {
						continue
					}
					if h.leave(t, &rt, mode, method, h.target(t, path), kind, body) {
						asked = true
						asking[mode]++
					}
					tried++
				}
			}
			if rt.Turn && !asked {
				t.Errorf("%s: no request came to a model", rt.Pattern)
			}
		}
	}
	t.Logf("%d requests, of which %v asked a model", tried, asking)
	for _, mode := range slices.Sorted(maps.Keys(h.slowest)) {
		t.Logf("left %s: all had ended after %v", mode, h.slowest[mode])
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	known := []goleak.Option{
		running, goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"),
		goleak.IgnoreAnyFunction("net/http.(*conn).serve"),
	}
	if err := poll("the end of all goroutines", func() bool { return goleak.Find(known...) == nil }); err != nil {
		t.Error(err, goleak.Find(known...))
	}
}
