package server

import (
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The expected text is that of specs/README.md section 2.
func TestAuthSetup_IsWhatFrontEndsExpect(t *testing.T) {
	w := do(newServer(t, options{}), http.MethodGet, "/auth_setup", "")
	const want = `{"useLogin":false,"requireAccessControl":false,"enableUnauthenticatedAccess":true,` +
		`"msalConfig":{"auth":{"clientId":"","authority":"","redirectUri":"/redirect","postLogoutRedirectUri":"/",` +
		`"navigateToLoginRequestUrl":false},"cache":{"cacheLocation":"localStorage","storeAuthStateInCookie":false}},` +
		`"loginRequest":{"scopes":[".default"]},"tokenRequest":{"scopes":[]}}` + "\n"
	if w.Code != http.StatusOK || w.Body.String() != want {
		t.Errorf("status %d, body\n%s\nwant\n%s", w.Code, w.Body, want)
	}
}

// specs/README.md section 2: 400 where speech is not configured, which front ends take for "off".
func TestSpeech_IsRefusedAsNotConfigured(t *testing.T) {
	s := newServer(t, options{})
	for _, path := range slashed("/speech") {
		w := do(s, http.MethodPost, path, `{"text":"Everything is covered."}`, "Content-Type", "application/json")
		if w.Code != http.StatusBadRequest || w.Body.String() != `{"error":"speech is not configured on this server"}`+"\n" {
			t.Errorf("POST %s: status %d, body %s", path, w.Code, w.Body)
		}
	}
}

func TestFrontEndConfig_ShowsOnlyWhatTheServerCanDo(t *testing.T) {
	keys := "showGPT4VOptions, showMultimodalOptions, showSemanticRankerOption, showQueryRewritingOption, " +
		"showReasoningEffortOption, showVectorOption, showUserUpload, showLanguagePicker, showSpeechInput, " +
		"showSpeechOutputBrowser, showSpeechOutputAzure, showChatHistoryBrowser, showChatHistoryCosmos, " +
		"showAgenticRetrievalOption, streamingEnabled, ragSearchTextEmbeddings, ragSearchImageEmbeddings, " +
		"ragSendTextSources, ragSendImageSources, webSourceEnabled, sharepointSourceEnabled, uploadsEnabled"
	cases := []struct {
		can Capabilities
		on  []string
	}{
		{Capabilities{}, []string{"streamingEnabled", "showChatHistoryCosmos", "ragSendTextSources"}},
		{Capabilities{Vectors: true}, []string{"streamingEnabled", "showChatHistoryCosmos", "ragSendTextSources", "showVectorOption", "ragSearchTextEmbeddings"}},
		{Capabilities{Rerank: true}, []string{"streamingEnabled", "showChatHistoryCosmos", "ragSendTextSources", "showSemanticRankerOption"}},
		{Capabilities{Vision: true}, []string{"streamingEnabled", "showChatHistoryCosmos", "ragSendTextSources", "showGPT4VOptions", "showMultimodalOptions", "ragSendImageSources"}},
		{Capabilities{Effort: true}, []string{"streamingEnabled", "showChatHistoryCosmos", "ragSendTextSources", "showReasoningEffortOption"}},
		{Capabilities{History: true}, []string{"streamingEnabled", "showChatHistoryCosmos", "ragSendTextSources", "showChatHistoryBrowser"}},
	}
	for _, c := range cases {
		efforts := []any{}
		if c.can.Effort {
			efforts = []any{"minimal", "low", "medium", "high"}
		}
		want := map[string]any{
			"reasoningEffortOptions": efforts, "defaultReasoningEffort": "", "defaultRetrievalReasoningEffort": "",
		}
		for _, key := range strings.Split(keys, ", ") {
			want[key] = false
		}
		for _, key := range c.on {
			want[key] = true
		}
		w := do(newServer(t, options{cfg: Config{Capabilities: c.can}}), http.MethodGet, "/config", "")
		var got map[string]any
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%+v (-want +got)\n%s", c.can, diff)
		}
	}
}

func TestIndex_PointsToTheRoutes(t *testing.T) {
	w := do(newServer(t, options{cfg: Config{Version: "1.2.3"}}), http.MethodGet, "/", "")
	body := w.Body.String()
	if w.Code != http.StatusOK || !strings.Contains(body, "Parley 1.2.3 ") || !strings.Contains(body, "curl http://localhost:8000/chat ") {
		t.Errorf("status %d, body %s", w.Code, body)
	}
}

func TestReadyz_SaysWhetherQuestionsCanBeAnsweredAndHowIngestionGoes(t *testing.T) {
	st := &state{ready: errors.New("the store at /var/secret opens"), ingestion: Ingestion{Running: true, Files: 9, Done: 4, Indexed: 3, Failed: 1}}
	s := newServer(t, options{state: st})
	w := do(s, http.MethodGet, "/readyz", "")
	const ingestion = `"ingestion":{"running":true,"files":9,"done":4,"indexed":3,"unchanged":0,"skipped":0,"failed":1,"documents":0,"pages":0,"chunks":0,"partly":0,"embedding":false,"unembedded":0}}` + "\n"
	if want := `{"status":"starting",` + ingestion; w.Code != http.StatusServiceUnavailable || w.Body.String() != want {
		t.Errorf("before: status %d, body %s, want %s", w.Code, w.Body, want)
	}
	st.ready = nil
	w = do(s, http.MethodGet, "/readyz", "")
	if want := `{"status":"ready",` + ingestion; w.Code != http.StatusOK || w.Body.String() != want {
		t.Errorf("after: status %d, body %s, want %s", w.Code, w.Body, want)
	}
	if w := do(s, http.MethodGet, "/healthz", ""); w.Body.String() != `{"status":"ok"}`+"\n" {
		t.Errorf("/healthz says %s", w.Body)
	}
}

func TestConfig_FillsEveryZeroFieldThatHasADefault(t *testing.T) {
	cfg := reflect.ValueOf(Config{}.withDefaults())
	mayBeZero := map[string]bool{"PublicURL": true, "Origins": true, "Capabilities": true}
	for i := range cfg.NumField() {
		if name := cfg.Type().Field(i).Name; cfg.Field(i).IsZero() && !mayBeZero[name] {
			t.Errorf("%s has no default", name)
		}
	}
	if got := (Config{Drain: -1}).withDefaults().Drain; got != 0 {
		t.Errorf("a negative drain window is %v", got)
	}
}
