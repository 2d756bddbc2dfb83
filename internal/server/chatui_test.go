package server

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/internal/chat"
	"parley/internal/transcript"
	"parley/internal/transcript/transcripttest"
	"parley/internal/wire"
	"parley/internal/wire/azurechat"
	"parley/internal/wire/chatui"
)

// stored is the id of a chat in every history of the tests.
const (
	stored     = "01JCHAT0000000000000000001"
	storedLink = "01JLINK0000000000000000001"
)

// storeOf returns a store with one chat.
func storeOf(kind transcript.Kind, body string) transcript.Store {
	s := &transcripttest.Store{}
	_, err := s.Save(context.Background(), transcript.Scope{Kind: kind, Namespace: "default"}, stored,
		func(t *transcript.Transcript, _ bool) error {
			t.Mode, t.Title, t.UpdatedAt = "standard", "A chat", time.Now()
			t.Link = transcript.Link{ID: storedLink, Messages: 1, At: time.Now()}
			t.Messages = []transcript.Message{{ID: "m1", Body: json.RawMessage(body)}}
			return nil
		})
	if err != nil {
		panic(err)
	}
	return s
}

func chatUIOf(runner chat.Runner) wire.Protocol {
	return chatui.New(chatui.Config{
		Base:  wire.Base{Runner: runner},
		Store: storeOf(transcript.ChatUI, `{"messageId":"m1","role":"user","content":"Hello","id":"m1"}`),
	}).Protocol()
}

func azureOf(runner chat.Runner) wire.Protocol {
	return azurechat.New(azurechat.Config{Base: wire.Base{Runner: runner}, Store: storeOf(transcript.Azure, `["Hello?",{"message":{}}]`)}).Protocol()
}

// isChatUI reports whether a path is one of the Chat UI API.
func isChatUI(path string) bool {
	if path == "/api/chat" || strings.HasPrefix(path, "/p/chatui/") {
		return true
	}
	path = strings.TrimPrefix(path, "/api")
	return path == "/chat/sse" || path == "/chat/sse/" || strings.HasPrefix(path, "/multi-agent-chat") ||
		strings.HasPrefix(path, "/chat-history")
}

// failedOf returns the sentence of a failed message. It fails the test if the body is anything else.
func failedOf(t testing.TB, body []byte) string {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal(body, &m); err != nil {
		t.Fatalf("%v: %q", err, body)
	}
	cause, _ := m["error"].(map[string]any)
	sentence, _ := m["message"].(string)
	code, _ := cause["code"].(string)
	_, sources := m["sources"].([]any)
	if m["status"] != "failed" || m["role"] != "assistant" || m["content"] != "" || !sources || m["messageId"] == "" ||
		m["id"] != m["messageId"] || m["createdAt"] == "" || sentence == "" || cause["message"] != sentence ||
		code == "" || code != strings.ToUpper(code) {
		t.Fatalf("the body is not a failed message: %q", body)
	}
	return sentence
}

// chatUIPaths returns the paths of the API in the form that clients use, by method.
func chatUIPaths(s *Server) map[string][]string {
	all := map[string][]string{}
	for _, rt := range s.endpoints {
		path := clientPath(rt.path)
		if !isChatUI(path) {
			continue
		}
		for method := range rt.methods {
			all[method] = append(all[method], path)
		}
	}
	for _, paths := range all {
		slices.Sort(paths)
	}
	return all
}

// The paths are those of specs/README.md section 1 and the search, with and without a trailing slash.
// /api/chat/ belongs to the AI Chat Protocol.
func TestChatUI_HasTheRoutesOfTheTable(t *testing.T) {
	want := map[string][]string{http.MethodPost: {"/api/chat"}}
	add := func(method string, paths ...string) {
		for _, path := range paths {
			want[method] = append(want[method], path, path+"/")
		}
	}
	add(http.MethodPost, "/api/chat/sse", "/p/chatui/api/chat", "/p/chatui/api/chat/sse", "/p/chatui/api/chat/stream")
	for _, prefix := range []string{"/api", "/p/chatui/api"} {
		add(http.MethodPost, prefix+"/multi-agent-chat", prefix+"/multi-agent-chat/batch", prefix+"/multi-agent-chat/stream")
	}
	for _, prefix := range []string{"", "/api", "/p/chatui/api"} {
		path := prefix + "/chat-history"
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			add(method, path, path+"/"+stored, path+"/search", path+"/"+stored+"/messages")
		}
		add(http.MethodPost, path)
		add(http.MethodPut, path+"/"+stored, path+"/"+stored+"/messages")
		add(http.MethodDelete, path+"/"+stored)
	}
	got := chatUIPaths(newServer(t, options{}))
	for method, paths := range want {
		slices.Sort(paths)
		if !slices.Equal(paths, got[method]) {
			t.Errorf("%s: paths\n%s\nwant\n%s", method, strings.Join(got[method], "\n"), strings.Join(paths, "\n"))
		}
	}
	if len(got) != len(want) {
		t.Errorf("there are other methods: %v", got)
	}
}

// chatUIBody returns a body for a method and a path.
func chatUIBody(method, path string) string {
	switch {
	case method == http.MethodPut:
		return `{"messages":[{"id":"m2","role":"user","content":"x"}]}`
	case method == http.MethodPost && strings.HasSuffix(strings.TrimSuffix(path, "/"), "/chat-history"):
		return `{"mode":"standard"}`
	case method == http.MethodPost:
		return question
	}
	return ""
}

// Every route and method works for pages of another origin: the preflight, the answer and refusals have
// the CORS headers.
func TestChatUI_AnswersPagesOfAnotherOriginOnEveryRouteAndMethod(t *testing.T) {
	synctest.Test(t, answersPagesOfAnotherOrigin) // streams take their time
}

func answersPagesOfAnotherOrigin(t *testing.T) {
	const origin = "http://localhost:5173"
	for method, paths := range chatUIPaths(newServer(t, options{})) {
		for _, path := range paths {
			s := newServer(t, options{})
			w := do(s, http.MethodOptions, path, "", "Origin", origin, "Access-Control-Request-Method", method,
				"Access-Control-Request-Headers", "content-type")
			h := w.Header()
			if w.Code != http.StatusNoContent || h.Get("Access-Control-Allow-Origin") != origin ||
				!strings.Contains(h.Get("Access-Control-Allow-Headers"), "content-type") ||
				method != http.MethodHead && !slices.Contains(strings.Split(h.Get("Access-Control-Allow-Methods"), ", "), method) {
				t.Errorf("preflight of %s %s: %d %v", method, path, w.Code, h)
			}
			if w := do(s, method, path, chatUIBody(method, path), "Origin", origin); w.Code != http.StatusOK || w.Header().Get("Access-Control-Allow-Origin") != origin {
				t.Errorf("%s %s: %d %v %s", method, path, w.Code, w.Header(), w.Body)
			}
			if w := do(s, "PATCH", path, "", "Origin", origin); w.Code != http.StatusMethodNotAllowed || w.Header().Get("Access-Control-Allow-Origin") != origin {
				t.Errorf("PATCH %s: %d %v", path, w.Code, w.Header())
			}
		}
	}
}

// Clients can read the reason of every refusal.
func TestChatUI_EveryRefusalHasItsShape(t *testing.T) {
	s := newServer(t, options{})
	for method, paths := range chatUIPaths(s) {
		if method == http.MethodHead {
			continue
		}
		for _, path := range paths {
			refuse := func(status int, method, body string, headers ...string) {
				w := do(s, method, path, body, headers...)
				if w.Code != status {
					t.Errorf("%s %s (%.20s %v): status %d, want %d: %s", method, path, body, headers, w.Code, status, w.Body)
					return
				}
				failedOf(t, w.Body.Bytes())
			}
			refuse(405, "PATCH", "")
			if method != http.MethodGet { // the browser keeps the answer to a GET from the page
				refuse(403, method, chatUIBody(method, path), "Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example")
			}
			if method == http.MethodPost || method == http.MethodPut {
				refuse(400, method, `{`)
				refuse(413, method, strings.Repeat(" ", 1<<20+1))
				refuse(415, method, `x`, "Content-Type", "text/plain")
				refuse(415, method, `x`, "Content-Type", "multipart/form-data; boundary=b")
			}
		}
	}
}

func TestChatUI_RefusesHostileBodies(t *testing.T) {
	s := newServer(t, options{})
	for name, c := range hostileBodies() {
		if w := do(s, http.MethodPost, "/api/chat", c.body); w.Code != c.status {
			t.Errorf("%s: status %d, want %d: %.200s", name, w.Code, c.status, w.Body)
		}
	}
}

// The path with a trailing slash belongs to another protocol, whose clients read another reply.
func TestChatUI_LeavesThePathWithTheSlashToTheSDK(t *testing.T) {
	s := newServer(t, options{})
	for path, want := range map[string]string{
		"/api/chat": `{"messageId":"`, "/api/chat/": `{"message":{`, "/api/chat/stream": `{"delta":{`,
		"/p/chatui/api/chat/": `{"messageId":"`, "/p/chatui/api/chat/stream": `data: {"messageId":"`,
	} {
		if w := do(s, http.MethodPost, path, question); !strings.HasPrefix(w.Body.String(), want) {
			t.Errorf("POST %s: %.100s, want %s", path, w.Body, want)
		}
	}
}

func TestAzureHistory_IsServedInItsShape(t *testing.T) {
	s := newServer(t, options{})
	for _, c := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"POST", "/chat_history", `{"id":"x","answers":[["q",{}]]}`, 201, "{}\n"},
		{"POST", "/chat_history/", `{"id":"x","answers":[["q",{}]]}`, 201, "{}\n"},
		{"GET", "/chat_history/sessions/" + stored, "", 200, `{"id":"` + stored + `","entra_oid":"","answers":[["Hello?",{"message":{}}]]}` + "\n"},
		{"DELETE", "/chat_history/sessions/" + stored, "", 204, ""},
		{"GET", "/chat_history/sessions/" + stored, "", 404, `{"error":"There is no such chat."}` + "\n"},
		{"POST", "/chat_history", "x", 400, ""},
		{"PUT", "/chat_history", "x", 405, ""},
	} {
		w := do(s, c.method, c.path, c.body)
		if w.Code != c.status || c.want != "" && w.Body.String() != c.want {
			t.Errorf("%s %s: %d %s, want %d %s", c.method, c.path, w.Code, w.Body, c.status, c.want)
		}
		if c.status >= 400 {
			errorOf(t, w.Body.Bytes())
		}
	}
}
