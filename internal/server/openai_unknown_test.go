package server

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

func TestOpenAI_SaysWhatToUseInPlaceOfWhatIsNotThere(t *testing.T) {
	s := newServer(t, options{})
	for path, says := range map[string]string{
		"/v1/edits":                         "this server supports POST /v1/responses",
		"/v1/assistants":                    "POST /v1/responses",
		"/v1/threads/t/runs":                "POST /v1/conversations",
		"/v1/images/generations":            "this server supports POST /v1/responses",
		"/v1/moderations":                   "POST /v1/completions, POST /v1/embeddings, /v1/files, /v1/uploads, /v1/vector_stores",
		"/v1/":                              "this server supports POST /v1/responses",
		"/v1/chat/completions/chatcmpl-123": "this server supports POST /v1/responses",
	} {
		w := do(s, http.MethodPost, path, `{}`)
		var body struct {
			Error struct {
				Message, Type, Code string
				Param               *string
			}
		}
		if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
			t.Fatalf("%s: %v: %s", path, err, w.Body)
		}
		if e := body.Error; w.Code != http.StatusNotFound || !strings.Contains(e.Message, says) || e.Type != "invalid_request_error" || e.Code != "not_found" {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}
