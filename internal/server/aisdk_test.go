package server

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"parley/internal/chat"
	"parley/internal/wire"
	"parley/internal/wire/agui"
	"parley/internal/wire/aisdk"
	"parley/internal/wire/webapi"
)

func aiSDKOf(runner chat.Runner, turns webapi.Turns) wire.Protocol {
	return aisdk.New(aisdk.Config{Base: wire.Base{Runner: runner, Namespaces: namespaces}, Turns: turns}).Protocol()
}

func agUIOf(runner chat.Runner) wire.Protocol {
	return agui.New(agui.Config{Base: wire.Base{Runner: runner, Namespaces: namespaces}}).Protocol()
}

const uiQuestion = `{"id":"c1","messages":[{"role":"user","parts":[{"type":"text","text":"What is covered?"}]}],"trigger":"submit-message"}`

// Both APIs have this path. Requests of the AI SDK are answered in its protocol, errors included, and
// all others in that of the Chat UI API.
func TestAISDK_SharesAPathWithTheChatUI(t *testing.T) {
	s := newServer(t, options{})
	chunks := func(w *httptest.ResponseRecorder) bool {
		return w.Header().Get("X-Vercel-Ai-Ui-Message-Stream") == "v1"
	}
	for _, path := range []string{"/api/chat", "/p/ai-sdk/api/chat"} {
		if w := do(s, http.MethodPost, path, uiQuestion); w.Code != http.StatusOK || !chunks(w) {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	w := do(s, http.MethodPost, "/api/chat", `{"trigger":"submit-message","messages":5}`)
	if text := errorOf(t, w.Body.Bytes()); w.Code != http.StatusBadRequest || !strings.Contains(text, `"parts"`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	w = do(s, http.MethodPost, "/api/chat", `{"messages":[{"role":"user","content":"What?"}]}`, wire.ProtocolHeader, aisdk.Speaks)
	if w.Code != http.StatusOK || !chunks(w) {
		t.Errorf("with the header: %d %s", w.Code, w.Body)
	}
	w = do(s, http.MethodPost, "/api/chat", `{"messages":[{"role":"user","content":"What?"}]}`, wire.ProtocolHeader, "something")
	if w.Code != http.StatusOK || chunks(w) {
		t.Errorf("with another header: %d %s", w.Code, w.Body)
	}
}

func TestAISDK_ClaimsNoRequestOfTheChatUI(t *testing.T) {
	paths, err := filepath.Glob("../wire/chatui/testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no fixtures: %v", err)
	}
	s, tried := newServer(t, options{}), 0
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range archive.Files {
			head, body, _ := strings.Cut(string(f.Data), "\n\n")
			if !strings.HasPrefix(f.Name, "request") || !strings.HasPrefix(head, "POST /api/chat") {
				continue
			}
			tried++
			if w := do(s, http.MethodPost, "/api/chat?stream_partials=false", body); w.Header().Get("X-Vercel-Ai-Ui-Message-Stream") != "" {
				t.Errorf("%s is taken for the AI SDK's", path)
			}
		}
	}
	if tried < 10 {
		t.Errorf("only %d requests", tried)
	}
}
