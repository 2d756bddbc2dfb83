package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"parley/internal/llm/llmtest"
	"parley/test/needs"
)

// specification is the document of the Chat-with-RAG API, whose examples the tests run.
const specification = "../../../shared/specs/chat-with-rag-api.txt"

// ragChatServer is the program with stubs for all models named in the document.
type ragChatServer struct {
	*process
	openai, gemini *llmtest.Upstream
	data           string
}

func startRAGChat(t *testing.T, args ...string) *ragChatServer {
	t.Helper()
	return startRAGChatOn(t, filepath.Join(t.TempDir(), "data"), args...)
}

func startRAGChatOn(t *testing.T, data string, args ...string) *ragChatServer {
	t.Helper()
	s := &ragChatServer{openai: llmtest.NewUpstream(t), gemini: llmtest.NewUpstreamFor(t, llmtest.Gemini), data: data}
	docs := t.TempDir()
	const text = "# Peaks\n\nMount Everest is 8,848 metres high. Kilimanjaro is 5,895 metres high.\n\n# Pipeline\n\nThe RAG chat pipeline searches and answers.\n"
	if err := os.WriteFile(filepath.Join(docs, "peaks.md"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	const prices = "openai:\n  models:\n    gpt-4o-mini: {input: 3, cached: 1, output: 7}\n    stub-1: {input: 3, cached: 1, output: 7}\n"
	if err := os.WriteFile(s.prices(), []byte(prices), 0o600); err != nil {
		t.Fatal(err)
	}
	s.process = s.start(t, append([]string{docs}, args...)...)
	if err := awaitIngested(s.addr); err != nil {
		t.Fatal(err)
	}
	return s
}

// start runs the program on the data folder of s, at its previous address if it ran before.
func (s *ragChatServer) start(t *testing.T, args ...string) *process {
	t.Helper()
	env := []string{"OPENAI_API_KEY=sk-test", "OPENAI_BASE_URL=" + s.openai.URL, "GEMINI_API_KEY=g-test", "PARLEY_GEMINI_BASE_URL=" + s.gemini.URL}
	return startServe(t, env, append(args, "--data", s.data, "--prices", s.prices(), "--public-url", "https://parley.example")...)
}

// prices is a file with prices of the stub models.
func (s *ragChatServer) prices() string { return s.data + ".yaml" }

// post sends JSON and returns the status and the body.
func (s *ragChatServer) post(t *testing.T, path, body string) (int, string) {
	t.Helper()
	status, text, err := call(http.MethodPost, "http://"+s.addr+path, body)
	if err != nil {
		t.Fatal(err)
	}
	return status, text
}

func (s *ragChatServer) session(t *testing.T) string {
	t.Helper()
	status, text := s.post(t, "/chat/session", "")
	var session struct {
		ID string `json:"session_id"`
	}
	if err := json.Unmarshal([]byte(text), &session); status != http.StatusOK || err != nil || session.ID == "" {
		t.Fatalf("status %d: %s", status, text)
	}
	return session.ID
}

// documentExamples returns the curl commands and the Python program of the document.
func documentExamples(t *testing.T) (curls []string, python string) {
	t.Helper()
	raw, err := os.ReadFile(specification)
	if err != nil {
		needs.Missing(t, "the folder shared")
	}
	lines := strings.Split(string(raw), "\n")
	for i := 0; i < len(lines); i++ {
		switch {
		case strings.HasPrefix(lines[i], "curl "):
			command := lines[i]
			for strings.HasSuffix(command, `\`) || strings.Count(command, "'")%2 == 1 {
				i++
				command += "\n" + lines[i]
			}
			curls = append(curls, command)
		case strings.HasPrefix(lines[i], "import uuid") || strings.HasPrefix(lines[i], "import requests") && python == "":
			python, i = pythonExample(lines, i)
		}
	}
	return curls, python
}

// pythonExample returns the program that begins at a line. It restores the indentation of two
// blocks, which the text version of the document lacks.
func pythonExample(lines []string, i int) (program string, end int) {
	indent := ""
	for ; i < len(lines); i++ {
		line := lines[i]
		block := strings.HasPrefix(line, "def ") || strings.HasPrefix(line, "if __name__")
		if block {
			indent = ""
		}
		program += indent + line + "\n"
		if block {
			indent = "    "
		}
		if strings.HasPrefix(line, "call_chat(") {
			break
		}
	}
	return program, i
}

var sessionInExample = regexp.MustCompile(`/chat/([0-9a-f]{8}-[0-9a-f-]{27}|session-id)\b`)

func TestRAGChat_TheExamplesOfTheDocumentWork(t *testing.T) {
	t.Parallel()
	curls, python := documentExamples(t)
	if len(curls) < 8 || python == "" {
		t.Fatalf("found %d commands, and a program of %d bytes", len(curls), len(python))
	}
	s := startRAGChat(t, "--model", "openai:gpt-4o-mini")
	session := s.session(t)
	local := func(text string) string {
		return sessionInExample.ReplaceAllString(strings.ReplaceAll(text, "localhost:8000", s.addr), "/chat/"+session)
	}
	for i, command := range curls {
		t.Run(fmt.Sprint("curl ", i), func(t *testing.T) {
			if _, err := exec.LookPath("curl"); err != nil {
				needs.Missing(t, "curl: apt-get install curl")
			}
			out, err := exec.CommandContext(t.Context(), "sh", "-c", local(command)+" -sS").Output()
			if err != nil {
				t.Fatalf("%v\n%s", err, command)
			}
			checkExample(t, command, out)
		})
	}
	if _, err := exec.LookPath("curl"); err == nil && s.gemini.Calls() == 0 {
		t.Error("no example reached Gemini")
	}
	t.Run("python", func(t *testing.T) {
		if err := exec.CommandContext(t.Context(), "python3", "-c", "import requests").Run(); err != nil {
			needs.Missing(t, "python3 with requests: apt-get install python3-requests")
		}
		out, err := exec.CommandContext(t.Context(), "python3", "-c", local(python)).CombinedOutput()
		if err != nil || !strings.Contains(string(out), "Answer: tok0 tok1") || !strings.Contains(string(out), "Rewrite display: {'enabled': True") {
			t.Errorf("%v\n%s", err, out)
		}
	})
}

// checkExample checks the reply to an example of the document.
func checkExample(t *testing.T, command string, out []byte) {
	t.Helper()
	var got struct {
		Answer, Response string
		ID               string                 `json:"session_id"`
		HTML             *string                `json:"answer_html"`
		Messages         []json.RawMessage      `json:"messages"`
		Totals           struct{ Messages int } `json:"conversation_totals"`
		Detail           any
	}
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	switch {
	case strings.Contains(command, "# Optional"):
		if got.Detail == nil || got.Answer != "" {
			t.Errorf("a body with a comment, which is no JSON, got %s", out)
		}
	case strings.HasSuffix(strings.TrimSpace(command), "/chat/session"):
		if got.ID == "" {
			t.Errorf("no session: %s", out)
		}
	case strings.Contains(command, "/history"):
		if len(got.Messages) != 4 {
			t.Errorf("%d messages, want those of two turns: %s", len(got.Messages), out)
		}
	default:
		if !strings.HasPrefix(got.Answer, "tok0 ") || got.Answer != got.Response || got.Totals.Messages == 0 {
			t.Errorf("answer %s", out)
		}
		if asked := strings.Contains(command, `"render_html": true`); asked != (got.HTML != nil) {
			t.Errorf("render_html %v, answer_html %v", asked, got.HTML)
		}
	}
}
