package llmtest

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Key is in every error text of an Upstream, as with careless upstreams. It must never appear in a log
// or a response.
const Key = "sk-canary-0123456789abcdef"

// Faults are the names of the ways in which an Upstream answers wrongly, or correctly but oddly. "huge"
// is one event of 2 MiB, "never" a stream without an end.
var Faults = []string{
	"400", "401", "404", "429", "500", "503", "filter", "redirect", "html", "badjson", "jsonerror",
	"hang", "reset", "empty", "cut", "eof", "nodone", "nofinish", "garbage", "errchunk", "stall",
	"never", "huge", "odd", "split", "usage", "nousage", "controls", "filtered",
}

// Upstream is a model server on loopback. The name of the model in a request tells how to answer: with
// the fault of that name, or correctly for any other name. The answer is "tok0 tok1 … tok9 ", one word a
// chunk. Faults within the stream occur at tok5.
type Upstream struct {
	URL string // the base URL: for OpenAI up to and with /v1, for others without a path

	dialect Dialect
	// Fault, if set before the first call, returns the fault of the n-th call (from 0) and overrides the
	// model's name.
	Fault func(n int) string

	mu      sync.Mutex
	last    []byte
	header  http.Header
	peer    string
	calls   int
	aborted chan struct{}
}

// NewUpstream starts an OpenAI-compatible server that ends with the test.
func NewUpstream(t testing.TB) *Upstream {
	u := NewUpstreamFor(t, OpenAI)
	u.URL += "/v1"
	return u
}

// NewUpstreamFor starts a server that speaks a dialect, and ends with the test.
func NewUpstreamFor(t testing.TB, d Dialect) *Upstream {
	u := &Upstream{dialect: d, aborted: make(chan struct{}, 1000)}
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+d.path, u.serve)
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	u.URL = s.URL
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

// Aborted receives a value for each request that the client abandoned.
func (u *Upstream) Aborted() <-chan struct{} { return u.aborted }

func (u *Upstream) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 16<<20))
	fault, ok := u.dialect.model(r, body)
	if err != nil || !ok {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	u.mu.Lock()
	u.last, u.header, u.peer = body, r.Header.Clone(), r.RemoteAddr
	n := u.calls
	u.calls++
	u.mu.Unlock()
	if u.Fault != nil {
		fault = u.Fault(n)
	}
	if u.refuse(w, fault) {
		return
	}
	if u.dialect.document != nil {
		u.answerDocument(w, r, fault, body)
	} else {
		w.Header().Set("Content-Type", u.dialect.mediaType)
		e := &events{w: w, r: r, d: &u.dialect}
		e.answer(fault)
	}
	if r.Context().Err() != nil {
		u.aborted <- struct{}{}
	}
}

// refuse plays the faults that have no stream.
func (u *Upstream) refuse(w http.ResponseWriter, fault string) bool {
	switch fault {
	case "429", "503":
		w.Header().Set("Retry-After", "7")
		u.failure(w, fault, "busy")
	case "400", "401", "404", "500":
		u.failure(w, fault, "stub")
	case "filter":
		if u.dialect.blocked != "" {
			return false
		}
		u.failure(w, "400", "content_filter")
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
		_, _ = io.WriteString(w, u.dialect.failure(http.StatusTooManyRequests, "rate_limit_exceeded", "quota "+Key))
	case "reset":
		reset(w)
	default:
		return false
	}
	return true
}

func (u *Upstream) failure(w http.ResponseWriter, status, code string) {
	w.Header().Set("Content-Type", "application/json")
	n, _ := strconv.Atoi(status)
	w.WriteHeader(n)
	_, _ = io.WriteString(w, u.dialect.failure(n, code, "fault "+status+" for key "+Key))
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

// events writes a stream. After the client has left it does nothing.
type events struct {
	w http.ResponseWriter
	r *http.Request
	d *Dialect
}

func (e *events) raw(s string) bool {
	if e.r.Context().Err() != nil {
		return false
	}
	_, err := io.WriteString(e.w, s)
	return err == nil && http.NewResponseController(e.w).Flush() == nil
}

func (e *events) event(data string) bool { return e.raw(e.d.frame(data)) }

func (e *events) delta(text string) bool { return e.event(e.d.delta(text)) }

func (e *events) answer(fault string) {
	switch fault {
	case "hang":
		<-e.r.Context().Done()
		return
	case "empty":
		e.raw("")
		return
	case "mutefirst":
		e.mute("mute")
		return
	case "filter":
		e.event(e.d.blocked)
		return
	}
	for _, data := range e.d.begin {
		if fault == "controls" {
			data = strings.Replace(data, "stub-1", `st\nub\u001b-1`, 1)
		}
		e.event(data)
	}
	for i := 0; i < 10 || fault == "never"; i++ {
		if i == 5 {
			if ended := e.strike(fault); ended {
				return
			}
		}
		if !e.delta(fmt.Sprintf("tok%d ", i)) {
			return
		}
		if fault == "never" {
			time.Sleep(pace) // so that a client can leave before a limit is reached
		}
	}
	end := e.d.end(fault)
	if whole := e.d.end("nodone"); fault == "muteend" && len(whole) > 0 {
		end = whole
	}
	for _, data := range end {
		e.event(data)
	}
	if fault == "muteend" {
		e.mute("mute")
	}
}

// pace is the least time between two tokens of a stream without an end.
const pace = 50 * time.Microsecond

// strike plays the faults within a stream. It reports whether the stream is over.
func (e *events) strike(fault string) bool {
	if over, ok := e.mute(fault); ok {
		return over
	}
	switch fault {
	case "cut":
		reset(e.w)
	case "eof":
	case "stall":
		<-e.r.Context().Done()
	case "errchunk":
		e.event(e.d.broken)
	case "garbage":
		e.raw(e.d.frame("{\"choices\":[{\"del\x00\xff"))
		return false
	case "huge":
		e.delta(strings.Repeat("x", 2<<20))
		return false
	case "odd":
		e.raw(e.d.odd)
		return false
	case "split":
		data := e.d.frame(e.d.delta("split "))
		e.raw(data[:2])
		e.raw(data[2:20])
		e.raw(data[20:])
		return false
	default:
		return false
	}
	return true
}
