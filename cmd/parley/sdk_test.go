package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/test/needs"
)

// Faults of the upstream, which questions select by name.
const (
	faultRefuse = "FAULT-REFUSE" // 500 with a secret in its body
	faultCut    = "FAULT-CUT"    // two pieces of an answer, then the connection ends
)

// The upstream's answer in pieces, and a secret that no client may see.
var upstreamPieces = []string{"The lighthouse", " is 46 metres", " tall [lighthouse.md]."}

const upstreamSecret = "canary-7f3a"

// upstream is an OpenAI-compatible server that answers, or fails if the question says so.
type upstream struct {
	*httptest.Server
	mu   sync.Mutex
	seen []string // bodies of the requests
}

func startUpstream(t *testing.T) *upstream {
	u := &upstream{}
	u.Server = httptest.NewServer(http.HandlerFunc(u.serve))
	t.Cleanup(u.Close)
	return u
}

func (u *upstream) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	if r.Method == http.MethodGet { // the list of models, which this server does not have
		http.NotFound(w, r)
		return
	}
	u.mu.Lock()
	u.seen = append(u.seen, string(body))
	u.mu.Unlock()
	var request struct {
		Messages []struct{ Content string }
	}
	if err := json.Unmarshal(body, &request); err != nil || len(request.Messages) == 0 {
		http.Error(w, "no messages", http.StatusBadRequest)
		return
	}
	question := request.Messages[len(request.Messages)-1].Content
	if strings.Contains(question, faultRefuse) {
		http.Error(w, `{"error":{"message":"`+upstreamSecret+`"}}`, http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	pieces := upstreamPieces
	if strings.Contains(question, faultCut) {
		pieces = pieces[:2]
	}
	for _, piece := range pieces {
		writePiece(w, piece)
	}
	if strings.Contains(question, faultCut) {
		panic(http.ErrAbortHandler)
	}
	fmt.Fprint(w, `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
}

func writePiece(w http.ResponseWriter, piece string) {
	content, _ := json.Marshal(piece)
	fmt.Fprintf(w, `data: {"model":"test-model","choices":[{"index":0,"delta":{"content":%s}}]}`+"\n\n", content)
	_ = http.NewResponseController(w).Flush()
}

// last returns the body of the last request.
func (u *upstream) last() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.seen[len(u.seen)-1]
}

// sdkCall is the result of one call as a user of the SDK sees it; call.mjs prints it.
type sdkCall struct {
	Completion *struct {
		Message      sdkMessage
		Context      sdkContext
		SessionState json.RawMessage
	}
	Deltas []struct {
		Delta        sdkMessage
		Context      *sdkContext
		SessionState json.RawMessage
	}
	Thrown json.RawMessage
}

type sdkMessage struct{ Role, Content string }

type sdkContext struct {
	DataPoints struct{ Text []string } `json:"data_points"`
}

// text returns the received answer, streamed or not.
func (c sdkCall) text() string {
	if c.Completion != nil {
		return c.Completion.Message.Content
	}
	var b strings.Builder
	for _, d := range c.Deltas {
		b.WriteString(d.Delta.Content)
	}
	return b.String()
}

// state returns the received session state.
func (c sdkCall) state() string {
	if c.Completion != nil {
		return string(c.Completion.SessionState)
	}
	for _, d := range c.Deltas {
		if d.SessionState != nil {
			return string(d.SessionState)
		}
	}
	return ""
}

// requireSDK returns the folder of the scripts, or skips the test if the client's package is
// missing.
func requireSDK(t *testing.T, client string) string {
	t.Helper()
	dir, err := filepath.Abs("../../test/sdk")
	if err != nil {
		t.Fatal(err)
	}
	_, missing := exec.LookPath("node")
	if missing == nil {
		_, missing = os.Stat(filepath.Join(dir, "node_modules", filepath.FromSlash(client)))
	}
	if missing != nil {
		needs.Missing(t, fmt.Sprintf("node, and npm ci --prefix test/sdk: %v", missing))
	}
	return dir
}

// sdk calls one endpoint of a server through Microsoft's client.
type sdk struct {
	dir, endpoint, mode string
}

func (s sdk) ask(t *testing.T, question string, state string) sdkCall {
	t.Helper()
	messages, _ := json.Marshal([]map[string]string{{"role": "user", "content": question}})
	return s.call(t, fmt.Sprintf(`{"messages":%s,"sessionState":%s}`, messages, state))
}

func (s sdk) call(t *testing.T, request string) sdkCall {
	t.Helper()
	cmd := exec.Command("node", "call.mjs", s.endpoint, s.mode, request)
	cmd.Dir = s.dir
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("run call.mjs: %v: %s", err, stderr.String())
	}
	if strings.Contains(string(out), upstreamSecret) {
		t.Errorf("the client sees what the upstream said: %s", out)
	}
	var c sdkCall
	if err := json.Unmarshal(out, &c); err != nil {
		t.Fatalf("read %s: %v", out, err)
	}
	return c
}

func TestSDK_MicrosoftsClientUnderstandsEveryAnswer(t *testing.T) {
	needs.Long(t)
	t.Parallel()
	dir := requireSDK(t, "@microsoft/ai-chat-protocol")
	up := startUpstream(t)
	docs := t.TempDir()
	const text = "# The lighthouse\n\nThe lighthouse of Skagen is 46 metres tall.\n"
	if err := os.WriteFile(filepath.Join(docs, "lighthouse.md"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	env := []string{"OPENAI_API_KEY=sk-test", "OPENAI_BASE_URL=" + up.URL + "/v1"}
	p := serveIngested(t, env, docs, "--model", "openai:test-model")
	for _, path := range []string{"/chat", "/api/chat/"} {
		for _, mode := range []string{"complete", "stream"} {
			s := sdk{dir: dir, endpoint: "http://" + p.addr + path, mode: mode}
			t.Run(mode+path, func(t *testing.T) { testSDK(t, s, up) })
		}
	}
	if err := p.signal(t, os.Interrupt); err != nil {
		t.Errorf("the server ended with %v", err)
	}
	if strings.Contains(p.stdout.String()+p.stderr.String(), "sk-test") {
		t.Error("the server printed its key")
	}
}

func testSDK(t *testing.T, s sdk, up *upstream) {
	objects := strings.HasSuffix(s.endpoint, "/api/chat/") // errors have a code there

	t.Run("answers", func(t *testing.T) {
		c := s.ask(t, "How tall is the lighthouse?", `{"a":[1,null]}`)
		if diff := cmp.Diff(strings.Join(upstreamPieces, ""), c.text()); diff != "" || c.Thrown != nil {
			t.Errorf("the answer (-want +got):\n%s%s", diff, c.Thrown)
		}
		if c.state() != `{"a":[1,null]}` {
			t.Errorf("the session state came back as %s", c.state())
		}
		var sources []string
		if c.Completion != nil {
			sources = c.Completion.Context.DataPoints.Text
		} else if len(c.Deltas) > 0 && c.Deltas[0].Context != nil {
			sources = c.Deltas[0].Context.DataPoints.Text
		}
		if len(sources) == 0 || !strings.HasPrefix(sources[0], "lighthouse.md: ") {
			t.Errorf("the sources are %q", sources)
		}
	})
	t.Run("invalid request", func(t *testing.T) {
		wantThrown(t, s.call(t, `{"messages":[]}`), objects)
	})
	t.Run("the model refuses", func(t *testing.T) {
		c := s.ask(t, "How tall is the lighthouse? "+faultRefuse, "null")
		wantThrown(t, c, objects)
		if c.text() != "" {
			t.Errorf("there is text: %q", c.text())
		}
	})
	t.Run("the model breaks off", func(t *testing.T) {
		c := s.ask(t, "How tall is the lighthouse? "+faultCut, "null")
		wantThrown(t, c, objects)
		if want := "The lighthouse is 46 metres"; s.mode == "stream" && c.text() != want {
			t.Errorf("before the error came %q, want %q", c.text(), want)
		}
	})
	if objects {
		t.Run("stored conversation", func(t *testing.T) { testStoredConversation(t, s, up) })
	}
}

// testStoredConversation continues a conversation by sending its id and the new message only.
func testStoredConversation(t *testing.T, s sdk, up *upstream) {
	first := s.ask(t, "How tall is the lighthouse?", "null")
	var id string
	if err := json.Unmarshal([]byte(first.state()), &id); err != nil || id == "" {
		t.Fatalf("the session state is %s, want an id", first.state())
	}
	second := s.ask(t, "And how old is it?", first.state())
	if second.state() != first.state() {
		t.Errorf("the session state went from %s to %s", first.state(), second.state())
	}
	for _, said := range []string{"How tall is the lighthouse?", strings.Join(upstreamPieces, ""), "And how old is it?"} {
		if !strings.Contains(up.last(), said) {
			t.Errorf("the model was not told %q: %s", said, up.last())
		}
	}
}

// wantThrown checks that the client threw something useful: a sentence, or an object with a code
// and a message.
func wantThrown(t *testing.T, c sdkCall, object bool) {
	t.Helper()
	var sentence string
	var e struct{ Code, Message string }
	if object {
		if err := json.Unmarshal(c.Thrown, &e); err != nil || e.Code == "" || e.Message == "" {
			t.Errorf("the client threw %s, want an object with code and message", c.Thrown)
		}
		return
	}
	if err := json.Unmarshal(c.Thrown, &sentence); err != nil || sentence == "" {
		t.Errorf("the client threw %s, want a sentence", c.Thrown)
	}
}
