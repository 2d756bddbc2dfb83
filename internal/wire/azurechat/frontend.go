package azurechat

import (
	"net/http"

	"parley/internal/wire"
)

// Capabilities says what the server can do beyond text search, for GET /config.
type Capabilities struct {
	Vectors bool // an embedder is configured
	Rerank  bool // a reranker is configured
	Effort  bool // the model that answers can be told how long to reason
	Uploads bool // anybody who can reach the server may upload documents
}

// SignIn is how the front ends of the Azure versions sign people in by themselves, with MSAL.js, to bring the
// tokens that they get as bearer tokens.
type SignIn struct {
	ClientID  string   // of the front end, an application without a secret
	Authority string   // where people sign in
	Plain     bool     // the authority is not Entra ID; MSAL.js must know
	Scopes    []string // of the token for this server
	Required  bool     // nobody may ask without
}

// authSettings is the reply to the first request of those front ends: how to sign in, as settings of MSAL.js.
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

// msalSystem has what MSAL.js 5 reads there, and older versions in msalAuth.
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

// speech answers requests to speak a text: 400 tells front ends that the server cannot.
func speech(http.ResponseWriter, *wire.Request) error {
	return wire.Invalidf("speech is not configured on this server")
}

// controls says which controls a front end shows. A control appears only where the server
// can really do what it promises, so most are off.
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

	// UploadsEnabled is Parley's own. ShowUserUpload is false unless front ends sign people in: the
	// component that it shows throws without, and takes the page with it.
	UploadsEnabled bool `json:"uploadsEnabled"`
}

func (h *Handler) config(w http.ResponseWriter, _ *wire.Request) error {
	can := h.cfg.Capabilities
	efforts := []string{}
	if can.Effort {
		efforts = wire.Effort.Choices[1:] // without the model's own
	}
	return wire.Reply(w, http.StatusOK, controls{
		ShowGPT4VOptions:          h.cfg.Vision,
		ShowMultimodalOptions:     h.cfg.Vision,
		ShowSemanticRankerOption:  can.Rerank,
		ShowReasoningEffortOption: can.Effort,
		ShowVectorOption:          can.Vectors,
		ShowUserUpload:            can.Uploads && h.cfg.SignIn != nil,
		ShowChatHistoryBrowser:    h.cfg.History,
		ShowChatHistoryCosmos:     true, // the routes of that name; front ends use them only with a sign-in
		StreamingEnabled:          true,
		RAGSearchTextEmbeddings:   can.Vectors,
		RAGSendTextSources:        true,
		RAGSendImageSources:       h.cfg.Vision,
		ReasoningEffortOptions:    efforts,
		UploadsEnabled:            can.Uploads,
	})
}
