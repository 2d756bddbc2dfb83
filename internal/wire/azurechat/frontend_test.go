package azurechat

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"parley/internal/wire"

	"github.com/google/go-cmp/cmp"
)

// ask sends a request to a handler of the configuration.
func ask(change func(*Config), method, path, body string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	serve(handlerOf(nil, change)).ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader(body)))
	return w
}

// The expected text is what front ends of both versions were seen to need.
func TestAuthSetup_IsWhatFrontEndsExpect(t *testing.T) {
	w := ask(nil, http.MethodGet, "/auth_setup", "")
	const want = `{"useLogin":false,"requireAccessControl":false,"enableUnauthenticatedAccess":true,` +
		`"msalConfig":{"auth":{"clientId":"","authority":"","redirectUri":"/redirect","postLogoutRedirectUri":"/",` +
		`"navigateToLoginRequestUrl":false},"cache":{"cacheLocation":"localStorage","storeAuthStateInCookie":false}},` +
		`"loginRequest":{"scopes":[".default"]},"tokenRequest":{"scopes":[]}}` + "\n"
	if w.Code != http.StatusOK || w.Body.String() != want {
		t.Errorf("status %d, body\n%s\nwant\n%s", w.Code, w.Body, want)
	}
}

func TestAuthSetup_LetsFrontEndsSignPeopleIn(t *testing.T) {
	for want, in := range map[string]SignIn{
		`{"useLogin":true,"requireAccessControl":true,"enableUnauthenticatedAccess":false,` +
			`"msalConfig":{"auth":{"clientId":"spa","authority":"https://login.microsoftonline.com/t","redirectUri":"/redirect","postLogoutRedirectUri":"/",` +
			`"navigateToLoginRequestUrl":false},"cache":{"cacheLocation":"localStorage","storeAuthStateInCookie":false}},` +
			`"loginRequest":{"scopes":[".default"]},"tokenRequest":{"scopes":["api://parley/access_as_user"]}}` + "\n": {
			ClientID: "spa", Authority: "https://login.microsoftonline.com/t", Scopes: []string{"api://parley/access_as_user"}, Required: true},
		`{"useLogin":true,"requireAccessControl":false,"enableUnauthenticatedAccess":true,` +
			`"msalConfig":{"auth":{"clientId":"spa","authority":"https://login.example.com","redirectUri":"/redirect","postLogoutRedirectUri":"/",` +
			`"navigateToLoginRequestUrl":false,"protocolMode":"OIDC","knownAuthorities":["https://login.example.com"]},` +
			`"cache":{"cacheLocation":"localStorage","storeAuthStateInCookie":false},"system":{"protocolMode":"OIDC"}},` +
			`"loginRequest":{"scopes":["openid"]},"tokenRequest":{"scopes":["openid"]}}` + "\n": {
			ClientID: "spa", Authority: "https://login.example.com", Plain: true, Scopes: []string{"openid"}},
	} {
		w := ask(func(c *Config) { c.SignIn = &in }, http.MethodGet, "/auth_setup", "")
		if diff := cmp.Diff(want, w.Body.String()); diff != "" || w.Code != http.StatusOK {
			t.Errorf("%d (-want +got)\n%s", w.Code, diff)
		}
	}
	for _, uploads := range []bool{true, false} {
		w := ask(func(c *Config) { c.SignIn, c.Capabilities.Uploads = &SignIn{}, uploads }, http.MethodGet, "/config", "")
		if shown := strings.Contains(w.Body.String(), `"showUserUpload":true`); shown != uploads {
			t.Errorf("with uploads %v: %s", uploads, w.Body)
		}
	}
}

// It is 400 where speech is not configured, which front ends take for "off".
func TestSpeech_IsRefusedAsNotConfigured(t *testing.T) {
	for _, path := range []string{"/speech", "/speech/"} {
		w := ask(nil, http.MethodPost, path, `{"text":"Everything is covered."}`)
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
		can Config
		on  []string
	}{
		{Config{}, []string{"streamingEnabled", "showChatHistoryCosmos", "ragSendTextSources"}},
		{Config{Capabilities: Capabilities{Vectors: true}}, []string{"streamingEnabled", "showChatHistoryCosmos", "ragSendTextSources", "showVectorOption", "ragSearchTextEmbeddings"}},
		{Config{Capabilities: Capabilities{Rerank: true}}, []string{"streamingEnabled", "showChatHistoryCosmos", "ragSendTextSources", "showSemanticRankerOption"}},
		{Config{Base: wire.Base{Vision: true}}, []string{"streamingEnabled", "showChatHistoryCosmos", "ragSendTextSources", "showGPT4VOptions", "showMultimodalOptions", "ragSendImageSources"}},
		{Config{Capabilities: Capabilities{Effort: true}}, []string{"streamingEnabled", "showChatHistoryCosmos", "ragSendTextSources", "showReasoningEffortOption"}},
		{Config{History: true}, []string{"streamingEnabled", "showChatHistoryCosmos", "ragSendTextSources", "showChatHistoryBrowser"}},
	}
	for _, c := range cases {
		efforts := []any{}
		if c.can.Capabilities.Effort {
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
		w := ask(func(cfg *Config) { *cfg = c.can }, http.MethodGet, "/config", "")
		var got map[string]any
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%+v (-want +got)\n%s", c.can, diff)
		}
	}
}

func TestFrontEndConfig_SaysWhereDocumentsMayComeIn(t *testing.T) {
	for uploads, want := range map[bool]string{true: `"uploadsEnabled":true`, false: `"uploadsEnabled":false`} {
		w := ask(func(cfg *Config) { cfg.Capabilities.Uploads = uploads }, http.MethodGet, "/config", "")
		if body := w.Body.String(); !strings.Contains(body, want) || !strings.Contains(body, `"showUserUpload":false`) {
			t.Errorf("uploads %v: %s", uploads, body)
		}
	}
}
