package azurechat

import (
	"net/http"

	"parley/internal/wire"
)

// Capabilities describes what the server can do besides text search, for GET /config.
type Capabilities struct {
	Vectors bool // an embedder is configured
	Rerank  bool // a reranker is configured
	Effort  bool // the answering model has a reasoning effort that can be set
	Uploads bool // everybody who can reach the server may upload documents
}

// SignIn configures how the front ends of the Azure versions sign users in with MSAL.js. They send the resulting
// access tokens to the server as bearer tokens.
type SignIn struct {
	ClientID  string   // of the front end, a public client (it has no secret)
	Authority string   // URL of the identity provider
	Plain     bool     // the authority is a plain OpenID provider, not Entra ID
	Scopes    []string // of the access token for this server
	Required  bool     // nobody may ask without signing in
}

// authSettings is the response to the first request of those front ends, GET /auth_setup: the settings of MSAL.js.
type authSettings struct {
	UseLogin                    bool         `json:"useLogin"`
	RequireAccessControl        bool         `json:"requireAccessControl"`
	EnableUnauthenticatedAccess bool         `json:"enableUnauthenticatedAccess"`
	MSALConfig                  msalConfig   `json:"msalConfig"`
	LoginRequest                scopeRequest `json:"loginRequest"`
	TokenRequest                scopeRequest `json:"tokenRequest"`
}

type msalConfig struct {
	Auth   msalAuth    `json:"auth"`
	Cache  msalCache   `json:"cache"`
	System *msalSystem `json:"system,omitempty"`
}

// msalSystem has the protocol mode for MSAL.js 5. Older versions read it from msalAuth.
type msalSystem struct {
	ProtocolMode string `json:"protocolMode"`
}

type msalAuth struct {
	ClientID                  string `json:"clientId"`
	Authority                 string `json:"authority"`
	RedirectURI               string `json:"redirectUri"`
	PostLogoutRedirectURI     string `json:"postLogoutRedirectUri"`
	NavigateToLoginRequestURL bool   `json:"navigateToLoginRequestUrl"`

	ProtocolMode     string   `json:"protocolMode,omitempty"`
	KnownAuthorities []string `json:"knownAuthorities,omitempty"`
}

type msalCache struct {
	CacheLocation          string `json:"cacheLocation"`
	StoreAuthStateInCookie bool   `json:"storeAuthStateInCookie"`
}

type scopeRequest struct {
	Scopes []string `json:"scopes"`
}

// authSetup answers GET /auth_setup.
func (h *Handler) authSetup(w http.ResponseWriter, _ *wire.Request) error {
	settings := authSettings{
		EnableUnauthenticatedAccess: true,
		MSALConfig: msalConfig{
			Auth:  msalAuth{RedirectURI: "/redirect", PostLogoutRedirectURI: "/"},
			Cache: msalCache{CacheLocation: "localStorage"},
		},
		LoginRequest: scopeRequest{Scopes: []string{".default"}},
		TokenRequest: scopeRequest{Scopes: []string{}},
	}
	if in := h.cfg.SignIn; in != nil {
		settings.UseLogin = true
		settings.RequireAccessControl, settings.EnableUnauthenticatedAccess = in.Required, !in.Required
		settings.MSALConfig.Auth.ClientID, settings.MSALConfig.Auth.Authority = in.ClientID, in.Authority
		settings.TokenRequest.Scopes = in.Scopes
		if in.Plain {
			const mode = "OIDC"
			settings.LoginRequest.Scopes = in.Scopes
			settings.MSALConfig.System = &msalSystem{ProtocolMode: mode}
			settings.MSALConfig.Auth.ProtocolMode = mode
			settings.MSALConfig.Auth.KnownAuthorities = []string{in.Authority}
		}
	}
	return wire.Reply(w, http.StatusOK, settings)
}

// speech responds to requests for speech output. The 400 tells front ends that the server has none.
func speech(http.ResponseWriter, *wire.Request) error {
	return wire.Invalidf("speech is not configured on this server")
}

// controls is the response of GET /config: which controls a front end shows. A control is on only if the
// server can do what it offers, so most are off.
type controls struct {
	ShowGPT4VOptions              bool     `json:"showGPT4VOptions"`
	ShowMultimodalOptions         bool     `json:"showMultimodalOptions"`
	ShowSemanticRankerOption      bool     `json:"showSemanticRankerOption"`
	ShowQueryRewritingOption      bool     `json:"showQueryRewritingOption"`
	ShowReasoningEffortOption     bool     `json:"showReasoningEffortOption"`
	ShowVectorOption              bool     `json:"showVectorOption"`
	ShowUserUpload                bool     `json:"showUserUpload"`
	ShowLanguagePicker            bool     `json:"showLanguagePicker"`
	ShowSpeechInput               bool     `json:"showSpeechInput"`
	ShowSpeechOutputBrowser       bool     `json:"showSpeechOutputBrowser"`
	ShowSpeechOutputAzure         bool     `json:"showSpeechOutputAzure"`
	ShowChatHistoryBrowser        bool     `json:"showChatHistoryBrowser"`
	ShowChatHistoryCosmos         bool     `json:"showChatHistoryCosmos"`
	ShowAgenticRetrievalOption    bool     `json:"showAgenticRetrievalOption"`
	StreamingEnabled              bool     `json:"streamingEnabled"`
	RAGSearchTextEmbeddings       bool     `json:"ragSearchTextEmbeddings"`
	RAGSearchImageEmbeddings      bool     `json:"ragSearchImageEmbeddings"`
	RAGSendTextSources            bool     `json:"ragSendTextSources"`
	RAGSendImageSources           bool     `json:"ragSendImageSources"`
	WebSourceEnabled              bool     `json:"webSourceEnabled"`
	SharepointSourceEnabled       bool     `json:"sharepointSourceEnabled"`
	ReasoningEffortOptions        []string `json:"reasoningEffortOptions"`
	DefaultReasoningEffort        string   `json:"defaultReasoningEffort"`
	DefaultRetrievalReasoningMode string   `json:"defaultRetrievalReasoningEffort"`

	// UploadsEnabled is an extension of Parley. ShowUserUpload must be false unless front ends sign users in:
	// without a sign-in, the component that it shows throws an exception that breaks the page.
	UploadsEnabled bool `json:"uploadsEnabled"`
}

func (h *Handler) config(w http.ResponseWriter, _ *wire.Request) error {
	can := h.cfg.Capabilities
	efforts := []string{}
	if can.Effort {
		efforts = wire.Effort.Choices[1:] // without "", the model's default
	}
	return wire.Reply(w, http.StatusOK, controls{
		ShowGPT4VOptions:          h.cfg.Vision,
		ShowMultimodalOptions:     h.cfg.Vision,
		ShowSemanticRankerOption:  can.Rerank,
		ShowReasoningEffortOption: can.Effort,
		ShowVectorOption:          can.Vectors,
		ShowUserUpload:            can.Uploads && h.cfg.SignIn != nil,
		ShowChatHistoryBrowser:    h.cfg.History,
		ShowChatHistoryCosmos:     true, // the routes of /chat_history; front ends use them only with a sign-in
		StreamingEnabled:          true,
		RAGSearchTextEmbeddings:   can.Vectors,
		RAGSendTextSources:        true,
		RAGSendImageSources:       h.cfg.Vision,
		ReasoningEffortOptions:    efforts,
		UploadsEnabled:            can.Uploads,
	})
}
