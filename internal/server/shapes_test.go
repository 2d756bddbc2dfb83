package server

import (
	"bytes"
	"encoding/json"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"

	"parley/internal/turn"
	"parley/test/needs"
)

// shapeOf names the shape of an error by its members.
func shapeOf(t *testing.T, body []byte) string {
	t.Helper()
	var object map[string]json.RawMessage
	if err := json.Unmarshal(body, &object); err != nil {
		t.Fatalf("%q: %v", body, err)
	}
	plain := strings.HasPrefix(string(object["error"]), `"`)
	has := func(keys ...string) bool {
		for _, key := range keys {
			if len(object[key]) == 0 {
				return false
			}
		}
		return len(object) == len(keys)
	}
	switch {
	case has("error") && plain:
		return "plain"
	case has("error", "statusCode", "message") && plain:
		return "web component"
	case has("error") && strings.Contains(string(object["error"]), `"code"`):
		return "object"
	case has("detail", "error") && !plain:
		return "ragchat"
	}
	return string(body)
}

// sdkForm is a multipart body as Microsoft's SDK sends it.
func sdkForm(t *testing.T) (body, contentType string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	if err := w.WriteField("json", question); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String(), w.FormDataContentType()
}

// Once the protocol of a request is known, every refusal has the shape of its errors, whatever the path.
func TestDispatch_RefusesInTheShapeOfTheProtocolThatABodySpeaks(t *testing.T) {
	const (
		rag       = `{"message":"q"}`
		streamed  = `{"messages":[{"role":"user","content":"q"}],"stream":true}`
		component = `{"messages":[{"role":"user","content":"q"}],"stream":true,"context":{"approach":"rrr"}}`
	)
	form, formType := sdkForm(t)
	for _, c := range []struct {
		name, path, body, shape string
		headers                 []string
	}{
		{"ragchat", "/chat", rag, "ragchat", nil},
		{"ragchat, never streamed", "/ask", rag, "ragchat", nil},
		{"ragchat by its mount", "/p/ragchat/chat", rag, "ragchat", nil},
		{"ragchat by the header", "/chat", `{"messages":[]}`, "ragchat", []string{"X-Chat-Protocol", "ragchat"}},
		{"2024-05-29", "/chat", question, "plain", nil},
		{"2024-05-29 by the header", "/chat", rag, "plain", []string{"X-Chat-Protocol", "azure-0529"}},
		{"2024-01-28", "/chat", streamed, "plain", nil},
		{"the web component", "/chat", component, "web component", nil},
		{"the web component by the header", "/ask", component, "web component", []string{"X-Chat-Protocol", "azure-0128"}},
		{"the web component by its mount", "/p/azure-0128/chat", component, "web component", nil},
		{"its body on another mount", "/p/azure-0529/chat", component, "plain", nil},
		{"the SDK's form", "/chat", form, "object", []string{"Content-Type", formType}},
		{"the SDK's form on a stream", "/chat/stream", form, "object", []string{"Content-Type", formType}},
		{"the SDK's endpoint", "/api/chat/", question, "object", nil},
		{"the SDK's endpoint, streamed", "/api/chat/stream", question, "object", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			for want, wrong := range map[int][]string{
				http.StatusUnprocessableEntity: {"Idempotency-Key", "k1"},
				http.StatusBadRequest:          {"X-On-Disconnect", "explode"},
			} {
				s := newServer(t, options{keys: &claims{err: turn.ErrKeyReused}})
				w := do(s, http.MethodPost, c.path, c.body, append(wrong, c.headers...)...)
				if got := shapeOf(t, w.Body.Bytes()); w.Code != want || got != c.shape {
					t.Errorf("%s: status %d, shape %s, want %d, %s: %s", wrong[0], w.Code, got, want, c.shape, w.Body)
				}
			}
		})
	}
}

func TestDispatch_TheHeaderAloneDecidesOnTheShape(t *testing.T) {
	s := newServer(t, options{})
	for _, c := range []struct {
		name, body, shape string
		status            int
		headers           []string
	}{
		{"no JSON", "x", "ragchat", 400, []string{"X-Chat-Protocol", "ragchat"}},
		{"too large", strings.Repeat(" ", 1<<20+1), "ragchat", 413, []string{"X-Chat-Protocol", "ragchat"}},
		{"another content type", "x", "ragchat", 415, []string{"X-Chat-Protocol", "ragchat", "Content-Type", "text/plain"}},
		{"a form", "x", "ragchat", 415, []string{"X-Chat-Protocol", "ragchat", "Content-Type", "multipart/form-data; boundary=x"}},
		{"no JSON for another protocol", "x", "plain", 400, []string{"X-Chat-Protocol", "azure-0128"}},
		{"no such protocol", `{"message":"q"}`, "plain", 400, []string{"X-Chat-Protocol", "smtp"}},
		{"both kinds of body", `{"message":"q","messages":[]}`, "plain", 400, nil},
		{"neither", `{}`, "plain", 400, nil},
	} {
		w := do(s, http.MethodPost, "/chat", c.body, c.headers...)
		if got := shapeOf(t, w.Body.Bytes()); w.Code != c.status || got != c.shape {
			t.Errorf("%s: status %d, shape %s, want %d, %s", c.name, w.Code, got, c.status, c.shape)
		}
	}
}

// If a question is refused, a client that watches its steps receives the end of them.
func TestDispatch_ARefusedQuestionEndsItsSteps(t *testing.T) {
	needs.Long(t)
	for _, path := range []string{"/chat", "/p/ragchat/chat", "/chat/" + knownSession} {
		s := newServer(t, options{keys: &claims{err: turn.ErrKeyReused}})
		do(s, http.MethodPost, path, `{"message":"q","params":{"query_id":"x"}}`, "Idempotency-Key", "k1")
		steps := do(s, http.MethodGet, "/chat/stream/stages?query_id=x", "").Body.String()
		if !strings.Contains(steps, `"stage":"Final Answer"`) || !strings.Contains(steps, "was used with another request") ||
			!strings.Contains(steps, `"stage":"Done"`) {
			t.Errorf("%s: the steps are %q", path, steps)
		}
	}
}
