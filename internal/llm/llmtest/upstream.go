package llmtest

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// Key is put into every error text of an Upstream, as careless upstreams do: it may never be seen
// in a log or in a response.
const Key = "sk-canary-0123456789abcdef"

// Faults are the names of what an Upstream can do wrong, or rightly but oddly. "huge" is one
// event of 2 MiB, "never" a stream without an end.
var Faults = []string{
	"400", "401", "404", "429", "500", "503", "filter", "redirect", "html", "badjson", "jsonerror",
	"hang", "reset", "empty", "cut", "eof", "nodone", "nofinish", "garbage", "errchunk", "stall",
	"never", "huge", "odd", "split", "usage", "nousage", "controls", "filtered",
}

// Upstream is an OpenAI-compatible server on loopback. The name of the model that a request asks
// for says how to answer: the name of a fault, or anything else for a proper answer. The answer
// is "tok0 tok1 … tok9 ", a chunk a word; faults within the stream strike at tok5.
type Upstream struct {
	URL string // the base URL: up to and with /v1

	mu      sync.Mutex
	last    []byte
	header  http.Header
	peer    string
	calls   int
	aborted chan struct{}
}

// NewUpstream starts a server that ends with the test.
func NewUpstream(t testing.TB) *Upstream {
	u := &Upstream{aborted: make(chan struct{}, 1000)}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", u.serve)
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	u.URL = s.URL + "/v1"
	return u
}

// Last returns the body and the header of the last request.
func (u *Upstream) Last() ([]byte, http.Header) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.last, u.header
}

// Peer returns the address from which the last request came, to tell connections apart.
func (u *Upstream) Peer() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.peer
}

// Calls returns the number of requests.
func (u *Upstream) Calls() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.calls
}

// Aborted receives a value for each request that the client gave up.
func (u *Upstream) Aborted() <-chan struct{} { return u.aborted }

func (u *Upstream) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 16<<20))
	var req struct {
		Model string `json:"model"`
	}
	if err != nil || json.Unmarshal(body, &req) != nil {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	u.mu.Lock()
	u.last, u.header, u.peer = body, r.Header.Clone(), r.RemoteAddr
	u.calls++
	u.mu.Unlock()
	if refuse(w, req.Model) {
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	answer(&events{w: w, r: r}, req.Model)
	if r.Context().Err() != nil {
		u.aborted <- struct{}{}
	}
}

// refuse plays the faults that come instead of a stream.
func refuse(w http.ResponseWriter, fault string) bool {
	switch fault {
	case "429", "503":
		w.Header().Set("Retry-After", "7")
		failure(w, fault, "busy")
	case "400", "401", "404", "500":
		failure(w, fault, "stub")
	case "filter":
		failure(w, "400", "content_filter")
	case "redirect":
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(http.StatusTemporaryRedirect)
	case "html":
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<html>captive portal</html>")
	case "badjson":
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id":"x","choices":[{"index":0,"mess`)
	case "jsonerror":
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"error":{"message":"quota `+Key+`","code":"rate_limit_exceeded"}}`)
	case "reset":
		reset(w)
	default:
		return false
	}
	return true
}

func failure(w http.ResponseWriter, status, code string) {
	w.Header().Set("Content-Type", "application/json")
	n, _ := strconv.Atoi(status)
	w.WriteHeader(n)
	fmt.Fprintf(w, `{"error":{"message":"fault %s for key %s","type":"x","code":%q}}`, status, Key, code)
}

// reset ends the connection with a TCP reset.
func reset(w http.ResponseWriter) {
	c, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	if t, ok := c.(*net.TCPConn); ok {
		_ = t.SetLinger(0)
	}
	_ = c.Close()
}

// events writes a stream; after the client has left it does nothing.
type events struct {
	w http.ResponseWriter
	r *http.Request
}

const head = `{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"stub-1",` +
	`"system_fingerprint":"fp_1","choices":[{"index":0,"delta":`

func (e *events) raw(s string) bool {
	if e.r.Context().Err() != nil {
		return false
	}
	_, err := io.WriteString(e.w, s)
	return err == nil && http.NewResponseController(e.w).Flush() == nil
}

func (e *events) event(data string) bool { return e.raw("data: " + data + "\n\n") }

func (e *events) delta(text string) bool { return e.event(chunk(text)) }

func chunk(text string) string {
	b, _ := json.Marshal(text)
	return head + `{"content":` + string(b) + `},"finish_reason":null}]}`
}

func answer(e *events, fault string) {
	switch fault {
	case "hang":
		<-e.r.Context().Done()
		return
	case "empty":
		e.raw("")
		return
	case "controls":
		e.event(strings.Replace(chunk(""), "stub-1", `st\nub\u001b-1`, 1))
	}
	e.event(head + `{"role":"assistant","content":""},"finish_reason":null}]}`)
	for i := 0; i < 10 || fault == "never"; i++ {
		if i == 5 {
			if ended := strike(e, fault); ended {
				return
			}
		}
		if !e.delta(fmt.Sprintf("tok%d ", i)) {
			return
		}
	}
	end(e, fault)
}

// strike plays the faults within a stream, and reports whether it is over.
func strike(e *events, fault string) bool {
	switch fault {
	case "cut":
		reset(e.w)
	case "eof":
	case "stall":
		<-e.r.Context().Done()
	case "errchunk":
		e.event(`{"error":{"message":"server error ` + Key + `","type":"server_error","code":null}}`)
	case "garbage":
		e.raw("data: {\"choices\":[{\"del\x00\xff\n\nbogus line\n\n")
		return false
	case "huge":
		e.delta(strings.Repeat("x", 2<<20))
		return false
	case "odd":
		e.raw(": comment\r\n\r\nevent: message\r\nid: 7\r\nretry: 10\r\ndata:" + chunk("odd ") +
			"\r\n\r\ndata: {\"choices\":[]}\n\n")
		return false
	case "split":
		data := chunk("split ")
		e.raw("da")
		e.raw("ta: " + data[:20])
		e.raw(data[20:] + "\n\n")
		return false
	default:
		return false
	}
	return true
}

func end(e *events, fault string) {
	reason := "stop"
	if fault == "filtered" {
		reason = "content_filter"
	}
	if fault != "nofinish" {
		e.event(head + `{},"finish_reason":"` + reason + `"}]}`)
	}
	usage := `{"prompt_tokens":12,"completion_tokens":10,"total_tokens":22,` +
		`"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":1}}`
	if fault == "usage" {
		usage = `{"prompt_tokens":-5,"completion_tokens":1e18}`
	}
	if fault != "nousage" {
		e.event(`{"id":"","model":"stub-1","choices":[],"usage":` + usage + `}`)
	}
	if fault != "nodone" {
		e.event("[DONE]")
	}
}
