package main

import (
	"net/http"
	"strings"
	"testing"

	"parley/internal/store"
)

func TestModelsAllow_HoldsForWhatRequestsName(t *testing.T) {
	t.Parallel()
	s := startRAGChat(t, "--model", "openai:gpt-4o-mini", "--models-allow", "openai:small*", "--stages-summary", "openai:with-tools")
	for key, want := range map[string]int{
		"openai:gpt-4o-mini":  http.StatusOK, // the default
		"openai:small-1":      http.StatusOK,
		"openai:big":          http.StatusBadRequest,
		"openai:with-tools":   http.StatusBadRequest, // the default of another stage
		"gemini:gemini-flash": http.StatusBadRequest,
	} {
		calls := s.openai.Calls() + s.gemini.Calls()
		status, body := s.post(t, "/chat", `{"message":"How high is Everest?","params":{"model_keys":{"inference":"`+key+`"}}}`)
		if status != want || (status != http.StatusOK) != strings.Contains(body, `"detail":"The model \"`+key+`\" may not be used`) {
			t.Errorf("%s: status %d: %s", key, status, body)
		}
		if called := s.openai.Calls() + s.gemini.Calls() - calls; (called > 0) != (want == http.StatusOK) {
			t.Errorf("%s: %d calls of a provider", key, called)
		}
	}
	_, listed, err := call(http.MethodGet, "http://"+s.addr+"/api/models", "")
	if err != nil || !strings.Contains(listed, `"openai:gpt-4o-mini":`) || strings.Contains(listed, `"gemini:`) {
		t.Errorf("models: %v\n%s", err, listed)
	}
	_, published, err := call(http.MethodGet, "http://"+s.addr+"/api/config", "")
	if err != nil || !strings.Contains(published, `"summarizer_model_key":"openai:with-tools"`) || !strings.Contains(published, `"embedding_model":null`) {
		t.Errorf("config: %v\n%s", err, published)
	}
}

func TestWebSearch_IsThereOnRequestWhereAnEngineIsSet(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		engine, enabled string
		onRequest       int
		namespace       string
		searches        bool
	}{
		{engine: "", enabled: noTools, namespace: "default"},
		{engine: "http://127.0.0.1:1", enabled: noTools, onRequest: 1, namespace: "default", searches: true},
		{engine: "http://127.0.0.1:1", enabled: "calculator", onRequest: 1, namespace: "default", searches: true},
		{engine: "http://127.0.0.1:1", enabled: webSearchTool, namespace: "default", searches: true},
		{engine: "http://127.0.0.1:1", enabled: "calculator", onRequest: 1, namespace: "hr"},
	} {
		cfg := DefaultConfig()
		cfg.WebSearchEngine, cfg.Tools = c.engine, []string{c.enabled}
		if c.namespace == "hr" {
			if err := cfg.ToolsNamespaces.UnmarshalText([]byte("{hr: [calculator]}")); err != nil {
				t.Fatal(err)
			}
		}
		if invalid := cfg.validate(); invalid != nil {
			t.Fatal(invalid)
		}
		in := &instance{cfg: cfg, tools: &toolbox{}, db: &store.DB{}} // no MCP server keeps a grant there
		if err := (&program{lookupEnv: environment(nil)}).openTools(t.Context(), in); err != nil {
			t.Fatal(err)
		}
		if got := in.tools.searchesWeb(c.namespace); got != c.searches || len(cfg.onRequest()) != c.onRequest {
			t.Errorf("%+v: searches %v, on request %v", c, got, cfg.onRequest())
		}
		in.tools.Close()
	}
	if (&toolbox{}).searchesWeb("default") {
		t.Error("a toolbox without tools searches")
	}
}
