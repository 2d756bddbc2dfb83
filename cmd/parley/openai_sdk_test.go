package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// openAICall is the result of one call as a user of OpenAI's client sees it; openai.mjs prints it.
type openAICall struct {
	Models []string
	Result struct {
		ID, Object, Model string
		Choices           []openAIChoice
		Usage             *openAIUsage
		Fingerprint       string `json:"system_fingerprint"`
	}
	Ran    []string // cities with which the client's function was run
	Final  string
	Chunks []struct {
		ID, Object, Model string
		Choices           []openAIChoice
		Usage             *openAIUsage
	}
	Thrown *struct {
		Name, Type, Param, Code, Message, RequestID string
		Status                                      int
	}
}

type openAIChoice struct {
	Message, Delta openAIMessage
	FinishReason   string `json:"finish_reason"`
}

type openAIMessage struct {
	Role, Content string
	Parsed        json.RawMessage
	ToolCalls     []struct {
		Index    int
		ID, Type string
		Function struct{ Name, Arguments string }
	} `json:"tool_calls"`
	Annotations []struct {
		Type        string
		URLCitation struct {
			Start int `json:"start_index"`
			End   int `json:"end_index"`
			Title string
			URL   string
		} `json:"url_citation"`
	}
}

type openAIUsage struct {
	Total int `json:"total_tokens"`
}

// openAIClient calls one server through OpenAI's client.
type openAIClient struct{ dir, base string }

func (c openAIClient) call(t *testing.T, name, argument string) openAICall {
	t.Helper()
	cmd := exec.Command("node", "openai.mjs", c.base, name, argument)
	cmd.Dir = c.dir
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("run openai.mjs: %v: %s", err, stderr.String())
	}
	if strings.Contains(string(out), upstreamSecret) {
		t.Errorf("the client sees what the upstream said: %s", out)
	}
	var got openAICall
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("read %s: %v", out, err)
	}
	return got
}

func (c openAIClient) ask(t *testing.T, name, question, more string) openAICall {
	t.Helper()
	return c.call(t, name, request(question, more))
}

const howTall = "How tall is the lighthouse?"

func TestSDK_OpenAIsClientUnderstandsEveryAnswer(t *testing.T) {
	t.Parallel()
	dir := requireSDK(t, "openai")
	up := startUpstream(t)
	data, docs := t.TempDir(), t.TempDir()
	const text = "# The lighthouse\n\nThe lighthouse of Skagen is 46 metres tall.\n"
	if err := os.WriteFile(filepath.Join(docs, "lighthouse.md"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	ingest := exec.Command(binary(t), "ingest", "--data", data, "--namespace", "coast", docs)
	if out, err := ingest.CombinedOutput(); err != nil {
		t.Fatalf("ingest: %v: %s", err, out)
	}
	env := []string{"OPENAI_API_KEY=sk-test", "OPENAI_BASE_URL=" + up.URL + "/v1"}
	p := serveIngested(t, env, docs, "--data", data, "--model", "openai:test-model")
	c := openAIClient{dir: dir, base: "http://" + p.addr + "/v1"}
	t.Run("models", func(t *testing.T) { testOpenAIModels(t, c) })
	t.Run("complete", func(t *testing.T) { testOpenAIAnswer(t, c.ask(t, "complete", howTall, ""), p.addr) })
	t.Run("helper", func(t *testing.T) { testOpenAIAnswer(t, c.ask(t, "helper", howTall, ""), p.addr) })
	t.Run("stream", func(t *testing.T) { testOpenAIStream(t, c, p.addr) })
	t.Run("namespace", func(t *testing.T) { testOpenAINamespace(t, c) })
	t.Run("errors", func(t *testing.T) { testOpenAIErrors(t, c) })
	if err := p.signal(t, os.Interrupt); err != nil {
		t.Errorf("the server ended with %v", err)
	}
}

func testOpenAIModels(t *testing.T, c openAIClient) {
	if diff := cmp.Diff([]string{"parley", "parley/default", "parley/coast"}, c.call(t, "models", "").Models); diff != "" {
		t.Errorf("the models (-want +got):\n%s", diff)
	}
	if got := c.call(t, "model", "parley/coast"); got.Result.ID != "parley/coast" || got.Result.Object != "model" {
		t.Errorf("the model is %+v", got)
	}
}

func testOpenAIAnswer(t *testing.T, got openAICall, addr string) {
	t.Helper()
	if got.Thrown != nil || len(got.Result.Choices) != 1 {
		t.Fatalf("got %+v", got)
	}
	r := got.Result
	if !strings.HasPrefix(r.ID, "chatcmpl-") || r.Object != "chat.completion" || r.Model != "parley" {
		t.Errorf("the completion is %+v", r)
	}
	m := r.Choices[0].Message
	if m.Role != "assistant" || m.Content != strings.Join(upstreamPieces, "") || r.Choices[0].FinishReason != "stop" {
		t.Errorf("the message is %+v", m)
	}
	checkAnnotation(t, m, m.Content, "http://"+addr+"/content/lighthouse.md")
}

// checkAnnotation checks that the only annotation marks the citation in the text, and that its URL
// leads to the original.
func checkAnnotation(t *testing.T, m openAIMessage, content, want string) {
	t.Helper()
	if len(m.Annotations) != 1 || m.Annotations[0].Type != "url_citation" {
		t.Fatalf("the annotations are %+v", m.Annotations)
	}
	a := m.Annotations[0].URLCitation
	if mark := string([]rune(content)[a.Start:a.End]); mark != "[lighthouse.md]" || a.URL != want || a.Title == "" {
		t.Errorf("the annotation is %+v, on %q", a, mark)
	}
	status, body, err := call("GET", a.URL, "")
	if err != nil || status != 200 || !strings.Contains(body, "46 metres") {
		t.Errorf("GET %s: %d %s %v", a.URL, status, body, err)
	}
}

func testOpenAIStream(t *testing.T, c openAIClient, addr string) {
	got := c.ask(t, "stream", howTall, `,"stream_options":{"include_usage":true}`)
	if n := len(got.Chunks); got.Thrown != nil || n != len(upstreamPieces)+4 {
		t.Fatalf("got %+v", got)
	}
	var said strings.Builder
	for i, chunk := range got.Chunks {
		last := i == len(got.Chunks)-1
		if (chunk.Usage != nil) != last || (len(chunk.Choices) == 0) != last || chunk.ID != got.Chunks[0].ID {
			t.Errorf("chunk %d is %+v", i, chunk)
		}
		for _, choice := range chunk.Choices {
			said.WriteString(choice.Delta.Content)
			if (choice.Delta.Role == "assistant") != (i == 0) || (choice.FinishReason == "stop") != (i == len(got.Chunks)-2) {
				t.Errorf("chunk %d is %+v", i, chunk)
			}
		}
	}
	if said.String() != strings.Join(upstreamPieces, "") || got.Chunks[len(got.Chunks)-1].Usage.Total == 0 {
		t.Errorf("the chunks say %q and end with %+v", said.String(), got.Chunks[len(got.Chunks)-1])
	}
	checkAnnotation(t, got.Chunks[len(got.Chunks)-3].Choices[0].Delta, said.String(), "http://"+addr+"/content/lighthouse.md")
}

// testOpenAINamespace asks in another namespace than the server's; its links must name it.
func testOpenAINamespace(t *testing.T, c openAIClient) {
	got := c.call(t, "complete", `{"model":"parley/coast","messages":[{"role":"user","content":"`+howTall+`"}]}`)
	if got.Thrown != nil || len(got.Result.Choices) != 1 {
		t.Fatalf("got %+v", got)
	}
	m := got.Result.Choices[0].Message
	want := strings.TrimSuffix(c.base, "/v1") + "/content/lighthouse.md?namespace=coast"
	checkAnnotation(t, m, m.Content, want)
}

func testOpenAIErrors(t *testing.T, c openAIClient) {
	cases := []struct {
		name, call, argument string
		class, kind, code    string
		status               int
	}{
		{"unknown model", "model", "gpt-5", "NotFoundError", "invalid_request_error", "model_not_found", 404},
		{"two answers", "complete", request(howTall, `,"n":2`), "BadRequestError", "invalid_request_error", "unsupported_value", 400},
		{"a tool without a name", "complete", request(howTall, `,"tools":[{"type":"function","function":{}}]`), "BadRequestError", "invalid_request_error", "missing_required_parameter", 400},
		// This fault is first, because the breaker stops calls after five failures.
		{"the model breaks off in a stream", "stream", request(howTall+faultCut, ""), "APIError", "server_error", "unavailable", 0},
		{"the model breaks off", "complete", request(howTall+faultCut, ""), "InternalServerError", "server_error", "unavailable", 503},
		// This fault is last, because the breaker then stops all calls for a while.
		{"the model refuses", "complete", request(howTall+faultRefuse, ""), "InternalServerError", "server_error", "unavailable", 503},
		{"the model refuses a stream", "stream", request(howTall+faultRefuse, ""), "InternalServerError", "server_error", "unavailable", 503},
	}
	for _, e := range cases {
		got := c.call(t, e.call, e.argument)
		if got.Thrown == nil {
			t.Errorf("%s: nothing was thrown: %+v", e.name, got)
			continue
		}
		x := got.Thrown
		if x.Name != e.class || x.Type != e.kind || x.Code != e.code || x.Status != e.status || x.Message == "" || x.RequestID == "" {
			t.Errorf("%s: the client threw %+v", e.name, *x)
		}
		if e.status == 0 && len(got.Chunks) != 3 {
			t.Errorf("%s: before the error came %+v", e.name, got.Chunks)
		}
	}
}

func request(question, more string) string {
	content, _ := json.Marshal(question)
	return fmt.Sprintf(`{"model":"parley","messages":[{"role":"user","content":%s}]%s}`, content, more)
}
