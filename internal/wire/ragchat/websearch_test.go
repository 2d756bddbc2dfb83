package ragchat

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/chat"
)

func TestUseWebSearch_LetsTheModelSearchTheWebInThisTurn(t *testing.T) {
	here := func(namespace string) bool { return namespace == "default" }
	for name, c := range map[string]struct {
		params, status, note string
		offered              []string
	}{
		"asked for":              {params: `{"use_web_search":true}`, offered: []string{"calculator", webSearchTool}},
		"not asked for":          {params: `{}`, offered: []string{"calculator"}},
		"refused":                {params: `{"use_web_search":false}`, offered: []string{"calculator"}},
		"without other tools":    {params: `{"use_web_search":true,"use_tools":false}`, offered: []string{webSearchTool}},
		"not in this namespace":  {params: `{"use_web_search":true,"namespace":"hr"}`, offered: []string{"calculator"}, status: "not_configured", note: "not configured"},
		"of a model without any": {params: `{"use_web_search":true,"model_keys":{"inference":"builtin:extractive"}}`, status: "not_available", note: "calls no tools"},
	} {
		t.Run(name, func(t *testing.T) {
			var params map[string]json.RawMessage
			if err := json.Unmarshal([]byte(c.params), &params); err != nil {
				t.Fatal(err)
			}
			e := served(t, params, func(cfg *Config) { cfg.WebSearch = here })
			if c.status == "not_available" {
				// The kitchen has no such model, so the test checks what the engine was told.
				if ran := e.ran[0].Options; ran.MoreTools != nil {
					t.Errorf("offered %v", ran.MoreTools)
				}
				return
			}
			var offered []string
			for _, call := range e.calls {
				if call.stage == string(chat.StageGenerate) && len(offered) == 0 {
					for _, tool := range call.Tools {
						offered = append(offered, tool.Name)
					}
				}
			}
			if !slices.Equal(offered, c.offered) {
				t.Errorf("offered %v, want %v", offered, c.offered)
			}
			asked := strings.Contains(c.params, `"use_web_search":true`)
			if strings.Contains(e.steps, stepWeb) != asked || strings.Contains(e.steps, `"status":`) != (c.status != "") || !strings.Contains(e.steps, c.status) {
				t.Errorf("steps:\n%s", e.steps)
			}
			if strings.Contains(e.body, "Web search was asked for") != (c.note != "") || !strings.Contains(e.body, c.note) {
				t.Errorf("body: %s", e.body)
			}
		})
	}
}

func TestHistory_HasTheToolsThatWereUsed(t *testing.T) {
	h := realHandler(t)
	var session struct {
		ID string `json:"session_id"`
	}
	if err := json.Unmarshal([]byte(send(t, h, "/chat/session", nil)), &session); err != nil {
		t.Fatal(err)
	}
	send(t, h, "/chat/"+session.ID, map[string]any{"message": "What is 4420 plus one?"})
	send(t, h, "/chat/"+session.ID, map[string]any{"message": "And without help?", "params": map[string]any{"use_tools": false}})
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/chat/"+session.ID+"/history", nil))
	var got struct {
		Messages []struct {
			Role  string   `json:"role"`
			Tools []string `json:"tools_used"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	var used [][]string
	for _, m := range got.Messages {
		used = append(used, m.Tools)
	}
	if diff := cmp.Diff([][]string{nil, {"calculator"}, nil, nil}, used); diff != "" {
		t.Errorf("%s\n%s", diff, w.Body)
	}
}
