package server

import (
	"fmt"
	"net/http"

	"parley/internal/wire"
	"parley/internal/wire/azurechat"
)

// authSettings is what the front ends of both Azure versions ask for before anything else: how to
// sign in, as settings of MSAL.js (specs/README.md section 2). There is no sign-in.
type authSettings struct {
	UseLogin                    bool         `json:"useLogin"`
	RequireAccessControl        bool         `json:"requireAccessControl"`
	EnableUnauthenticatedAccess bool         `json:"enableUnauthenticatedAccess"`
	MSALConfig                  msalConfig   `json:"msalConfig"`
	LoginRequest                scopeRequest `json:"loginRequest"`
	TokenRequest                scopeRequest `json:"tokenRequest"`
}

type msalConfig struct {
	Auth  msalAuth  `json:"auth"`
	Cache msalCache `json:"cache"`
}

type msalAuth struct {
	ClientID                  string `json:"clientId"`
	Authority                 string `json:"authority"`
	RedirectURI               string `json:"redirectUri"`
	PostLogoutRedirectURI     string `json:"postLogoutRedirectUri"`
	NavigateToLoginRequestURL bool   `json:"navigateToLoginRequestUrl"`
}

type msalCache struct {
	CacheLocation          string `json:"cacheLocation"`
	StoreAuthStateInCookie bool   `json:"storeAuthStateInCookie"`
}

type scopeRequest struct {
	Scopes []string `json:"scopes"`
}

func (s *Server) authSetup(w http.ResponseWriter, _ *http.Request) error {
	return writeJSON(w, http.StatusOK, authSettings{
		EnableUnauthenticatedAccess: true,
		MSALConfig: msalConfig{
			Auth:  msalAuth{RedirectURI: "/redirect", PostLogoutRedirectURI: "/"},
			Cache: msalCache{CacheLocation: "localStorage"},
		},
		LoginRequest: scopeRequest{Scopes: []string{".default"}},
		TokenRequest: scopeRequest{Scopes: []string{}},
	})
}

// speech answers the front ends that would have a text spoken: 400 tells them that nobody can.
func (s *Server) speech(w http.ResponseWriter, r *http.Request) error {
	if _, err := s.jsonBody(w, r); err != nil {
		return err
	}
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

	// UploadsEnabled is Parley's own. ShowUserUpload stays false while there is no sign-in: the
	// component that it shows in the Azure front ends throws without, and takes the page with it.
	UploadsEnabled bool `json:"uploadsEnabled"`
}

func (s *Server) frontEndConfig(w http.ResponseWriter, _ *http.Request) error {
	can := s.cfg.Capabilities
	efforts := []string{}
	if can.Effort {
		efforts = azurechat.Efforts
	}
	return writeJSON(w, http.StatusOK, controls{
		ShowGPT4VOptions:          can.Vision,
		ShowMultimodalOptions:     can.Vision,
		ShowSemanticRankerOption:  can.Rerank,
		ShowReasoningEffortOption: can.Effort,
		ShowVectorOption:          can.Vectors,
		ShowChatHistoryBrowser:    can.History,
		ShowChatHistoryCosmos:     true, // the routes of that name; front ends use them only with a sign-in
		StreamingEnabled:          true,
		RAGSearchTextEmbeddings:   can.Vectors,
		RAGSendTextSources:        true,
		RAGSendImageSources:       can.Vision,
		ReasoningEffortOptions:    efforts,
		UploadsEnabled:            can.Uploads,
	})
}

// indexText tells people what they found at the address.
func (s *Server) indexText(w http.ResponseWriter, r *http.Request) error {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	// Only a client that is gone makes writing fail.
	_, _ = fmt.Fprintf(w, indexPage, s.cfg.Version, wire.BaseURL(r, s.cfg.PublicURL, false))
	return nil
}

const indexPage = `Parley %[1]s answers questions about your documents.

This address speaks the AI Chat Protocol, versions 2024-05-29 and 2024-01-28, the Chat UI API, the
Chat-with-RAG API, and OpenAI's Chat Completions API:

  POST /chat           one answer as JSON
  POST /chat/stream    the answer as it is written, one JSON object a line
  POST /api/chat and POST /api/multi-agent-chat, for the Chat UI, and its /chat-history
  POST /chat/session and /chat/SESSION, for the Chat-with-RAG API
  POST /v1/chat/completions and GET /v1/models, for clients of OpenAI's API
  GET  / in a browser  a page to ask and to read the sources
  GET  /content/NAME   the original of a document that an answer cites
  GET  /openapi.json   every route, with examples
  GET  /readyz         whether questions can be answered, and how ingestion is going
  GET  /metrics        figures for Prometheus

Try:

  curl %[2]s/chat -H 'Content-Type: application/json' \
    -d '{"messages":[{"role":"user","content":"What is this about?"}]}'
`
