package mcp

import (
	"net/http"
	"slices"
	"strings"

	"parley/internal/chat"
	"parley/internal/lazyregexp"
	"parley/internal/wire"
)

// SignIn says where clients get tokens that this server accepts.
type SignIn struct {
	Issuers []string // authorization servers, by their issuer identifiers
	Scopes  []string // that clients request there; nil leaves the choice to them
}

// wellKnown is the path of a protected resource's metadata. The path of the resource follows it (RFC 9728 section 3.1).
const wellKnown = "/.well-known/oauth-protected-resource"

// metadataRoutes returns the routes of the metadata: one for /mcp, and one without a path, for clients that ignore the path
// of the resource.
func (h *Handler) metadataRoutes() []wire.Route {
	rt := wire.Route{Right: wire.Anybody, Fail: wire.PlainError}
	return append(wire.Slashed(rt.At("GET "+wellKnown+"/mcp", h.metadata)), rt.At("GET "+wellKnown, h.metadata))
}

// metadata describes the resource whose path follows wellKnown (RFC 9728 section 3.2). Clients check that the member
// resource is the URL that they want to use.
func (h *Handler) metadata(w http.ResponseWriter, r *wire.Request) error {
	if len(h.cfg.SignIn.Issuers) == 0 {
		return &chat.Error{Kind: chat.NotFound, Msg: "This server does not accept tokens from an authorization server. You may need a key: ask its administrator."}
	}
	w.Header().Set("Cache-Control", "no-store") // it depends on the header Host
	return wire.Reply(w, http.StatusOK, struct {
		Resource string   `json:"resource"`
		Servers  []string `json:"authorization_servers"`
		Scopes   []string `json:"scopes_supported,omitempty"`
		Methods  []string `json:"bearer_methods_supported"`
		Name     string   `json:"resource_name"`
	}{
		h.baseOf(r) + strings.TrimPrefix(r.URL.Path, wellKnown), h.cfg.SignIn.Issuers, h.cfg.SignIn.Scopes, []string{"header"}, "Parley",
	})
}

func (h *Handler) baseOf(r *wire.Request) string {
	return wire.BaseURL(r.Request, h.cfg.PublicURL, false)
}

// scopeToken matches the tokens that the syntax of a challenge allows (RFC 6749 section 3.3).
var scopeToken = lazyregexp.New(`^[!#-\[\]-~]+$`)

// refuse responds to requests that were not admitted. To a challenge it adds the URL of the metadata (RFC 9728 section 5.1)
// and the scopes (RFC 6750 section 3), from which clients learn how to sign in.
func (h *Handler) refuse(w http.ResponseWriter, r *wire.Request, err error) {
	if challenge := w.Header().Get("WWW-Authenticate"); challenge != "" && len(h.cfg.SignIn.Issuers) > 0 {
		separator := " "
		if strings.Contains(challenge, "=") {
			separator = ", "
		}
		challenge += separator + `resource_metadata="` + h.baseOf(r) + wellKnown + r.URL.Path + `"`
		if s := h.cfg.SignIn.Scopes; len(s) > 0 && !slices.ContainsFunc(s, func(one string) bool { return !scopeToken.MatchString(one) }) {
			challenge += `, scope="` + strings.Join(s, " ") + `"`
		}
		w.Header().Set("WWW-Authenticate", challenge)
	}
	failAs(invalidRequest, nil)(w, r, err)
}
