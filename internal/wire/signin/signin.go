// Package signin signs users of the web page in, with an API key or at an OpenID Connect provider.
//
//	GET  /sign-in                      the page on which users choose how to sign in
//	POST /sign-in                      signs in with an API key, from that page's form
//	GET  /sign-in/{provider}           redirects to a provider (authorization code with PKCE)
//	GET  /sign-in/{provider}/callback  the provider redirects back to here
//	POST /sign-out                     ends the session; returns where to go next, which may be at the provider
//	GET  /api/me                       the caller
//	GET  /.auth/me                     the caller, in the format of Azure App Service
//
// During a sign-in at a provider, a cookie holds the state, the nonce and the PKCE verifier, and the page to return to.
// The cookie grants no rights, so it is neither signed nor encrypted: an attacker who could set it in another browser
// could just as well sign in and set the resulting session cookie there.
package signin

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
	"unicode"

	"parley/internal/auth/apikey"
	"parley/internal/auth/oidc"
	"parley/internal/auth/session"
	"parley/internal/chat"
	"parley/internal/lru"
	"parley/internal/wire"
)

// Config configures a Handler. Sessions and Keys are required. Providers is nil if there are no identity providers.
type Config struct {
	Sessions  *session.Book
	Keys      *apikey.Book
	Providers *oidc.Verifier
	Site      session.Site
	Lasts     time.Duration // how long a session lasts; must match Sessions
	Anonymous bool          // callers may ask without signing in

	// Note is called after each sign-in, failed sign-in and sign-out. Optional.
	Note func(r *wire.Request, what Event)
}

// Event is a sign-in, a failed sign-in or a sign-out.
type Event struct {
	Out     bool   // a sign-out
	Subject string // "" if it is unknown
	With    string // issuer, provider name, "key ID", or "a key" if it is unknown; "" for a sign-out
	Refused string // why the sign-in failed; "" if it succeeded
}

func (h *Handler) note(r *wire.Request, what Event) {
	if h.Note != nil {
		h.Note(r, what)
	}
}

// Handler handles the routes. It is safe for concurrent use.
type Handler struct {
	Config
	ways []oidc.Way

	mu   sync.Mutex
	used *lru.Cache[string, bool] // states that have come back in a callback
}

// rememberedStates is large enough that even a busy server remembers all states of the last ten minutes (attemptLasts).
const rememberedStates = 10_000

// New returns a Handler.
func New(cfg Config) *Handler {
	h := &Handler{Config: cfg, used: lru.New[string, bool](rememberedStates, nil)}
	if cfg.Providers != nil {
		h.ways = cfg.Providers.Ways()
	}
	return h
}

//go:embed openapi.json
var openAPI []byte

// Protocol returns the routes.
func (h *Handler) Protocol() wire.Protocol {
	rt := wire.Route{Right: wire.Anybody, Fail: wire.PlainError}
	me := rt
	me.Right = wire.Ask
	return wire.Protocol{OpenAPI: openAPI, Routes: []wire.Route{
		rt.At("GET /sign-in", h.page),
		rt.At("POST /sign-in", h.withKey),
		rt.At("GET /sign-in/{provider}", h.begin),
		rt.At("GET /sign-in/{provider}/callback", h.finish),
		rt.At("POST /sign-out", h.out),
		me.At("GET /api/me", h.me),
		me.At("GET /.auth/me", appService),
	}}
}

// page handles GET /sign-in.
func (h *Handler) page(w http.ResponseWriter, r *wire.Request) error {
	if text := h.Site.TextOf(r.Request); text != "" {
		if _, err := h.Sessions.Find(r.Context(), text); errors.Is(err, session.ErrEnded) {
			h.Site.SetText(w, r.Request, "", -1) // so that callers who may ask without signing in are not sent here again
		}
	}
	return h.show(w, r, http.StatusOK, shown{Back: localPath(r.URL.Query().Get("back")), Out: r.URL.Query().Has("signed_out")})
}

// Limits of a sign-in request.
const (
	maxForm = 16 << 10 // bytes
	maxBack = 1 << 10  // bytes
)

// withKey handles POST /sign-in.
func (h *Handler) withKey(w http.ResponseWriter, r *wire.Request) error {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || media != "application/x-www-form-urlencoded" {
		return wire.UnsupportedType("application/x-www-form-urlencoded, as the form of GET /sign-in sends it")
	}
	body, err := wire.ReadBody(w, r.Request, maxForm)
	if err != nil {
		return err
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return wire.Invalidf("the form is not encoded as application/x-www-form-urlencoded")
	}
	view := shown{Back: localPath(form.Get("back"))}
	if view.Failed = h.unsafe(r); view.Failed == "" && !session.IsFromBrowser(r.Request) {
		// Another site could make an old browser send the form, and so sign its user in as somebody else.
		view.Failed = "The browser did not say which page sent the form. Please use a newer browser; programs must send their key with each request."
	}
	if view.Failed != "" {
		return h.show(w, r, http.StatusForbidden, view)
	}
	k, err := h.Keys.Find(r.Context(), strings.TrimSpace(form.Get("key")))
	switch {
	case errors.Is(err, apikey.ErrWrong):
		view.Failed = "This key is not valid. Check that you have copied all of it."
	case errors.Is(err, apikey.ErrExpired):
		view.Failed = "This key has expired. Ask for a new one."
	case errors.Is(err, apikey.ErrRevoked):
		view.Failed = "This key has been revoked. Ask for another one."
	case err != nil:
		return fmt.Errorf("look up a key: %w", err)
	case !k.Reaches("/api/ui/config"):
		view.Failed = "This key is limited to certain paths of this server, so the page cannot use it. Ask for a key without this limit."
	}
	if view.Failed != "" {
		h.note(r, Event{With: "a key", Refused: view.Failed})
		return h.show(w, r, http.StatusForbidden, view)
	}
	who := k.Principal()
	return h.enter(w, r, session.Session{Subject: who.Subject, Name: who.Name, Key: k.ID}, "", view.Back)
}

// unsafe returns the reason why this request must not sign anybody in, as a sentence, or "" if it may.
func (h *Handler) unsafe(r *wire.Request) string {
	if r.Method != http.MethodGet && !h.Site.IsOwn(r.Request) {
		return "The form was not sent by this page. Please sign in here."
	}
	if !h.Site.IsSafe(r.Request) {
		return "Signing in requires an https address, so that nobody can intercept the connection. " +
			"The administrator of this server can set public_url (PARLEY_PUBLIC_URL) to one."
	}
	return ""
}

// enter begins a session, which replaces the browser's previous one, and redirects to back. token is the provider's ID token,
// or "".
func (h *Handler) enter(w http.ResponseWriter, r *wire.Request, s session.Session, token, back string) error {
	if old := h.Site.TextOf(r.Request); old != "" {
		if _, err := h.Sessions.End(r.Context(), old); err != nil && !errors.Is(err, session.ErrEnded) {
			return fmt.Errorf("end the session before: %w", err)
		}
	}
	_, text, err := h.Sessions.Begin(r.Context(), s, token)
	if err != nil {
		return fmt.Errorf("begin a session: %w", err)
	}
	h.note(r, Event{Subject: s.Subject, With: cmp.Or(s.Issuer, "key "+s.Key)})
	h.Site.SetText(w, r.Request, text, int(h.Lasts/time.Second))
	return seeOther(w, back)
}

func seeOther(w http.ResponseWriter, address string) error {
	w.Header().Set("Location", address)
	w.WriteHeader(http.StatusSeeOther)
	return nil
}

// attempt is an unfinished sign-in at a provider, as stored in the browser's cookie.
type attempt struct {
	oidc.Pending
	Provider string `json:"provider"`
	Back     string `json:"back"`
}

const (
	attemptCookie = "parley-sign-in"
	attemptLasts  = 10 * time.Minute
	maxAttempt    = 4 << 10 // bytes
)

// begin handles GET /sign-in/{provider}.
func (h *Handler) begin(w http.ResponseWriter, r *wire.Request) error {
	name, view := r.PathValue("provider"), shown{Back: localPath(r.URL.Query().Get("back"))}
	if !h.has(name) {
		return errNoProvider
	}
	if view.Failed = h.unsafe(r); view.Failed != "" {
		return h.show(w, r, http.StatusForbidden, view)
	}
	address, pending, err := h.Providers.Begin(r.Context(), name, h.callback(r, name))
	if err != nil {
		return h.failed(w, r, err, view)
	}
	kept, err := json.Marshal(attempt{pending, name, view.Back})
	if err != nil {
		return fmt.Errorf("keep a sign-in: %w", err)
	}
	h.Site.SetCookie(w, r.Request, attemptCookie, base64.RawURLEncoding.EncodeToString(kept), int(attemptLasts/time.Second))
	return seeOther(w, address)
}

var errNoProvider = wire.Refuse(http.StatusNotFound, "not_found", "There is no identity provider with this name. GET /sign-in shows how to sign in.")

func (h *Handler) has(provider string) bool {
	for _, way := range h.ways {
		if way.Name == provider {
			return true
		}
	}
	return false
}

// callback returns the redirect URI of a provider. Each provider has its own, so that none can answer for another
// (RFC 9700 section 4.4).
func (h *Handler) callback(r *wire.Request, provider string) string {
	return h.Site.Base(r.Request) + "/sign-in/" + provider + "/callback"
}

// finish handles GET /sign-in/{provider}/callback.
func (h *Handler) finish(w http.ResponseWriter, r *wire.Request) error {
	name := r.PathValue("provider")
	if !h.has(name) {
		return errNoProvider
	}
	a := h.attemptOf(r)
	h.Site.SetCookie(w, r.Request, attemptCookie, "", -1)
	view := shown{Back: localPath(a.Back)}
	if a.Provider != name || !h.first(a.State) {
		a.Pending = oidc.Pending{} // matches no answer of a provider
	}
	who, err := h.Providers.Finish(r.Context(), name, h.callback(r, name), a.Pending, r.URL.Query())
	if err != nil {
		return h.failed(w, r, err, view)
	}
	return h.enter(w, r, session.Session{Subject: who.Who.Subject, Name: who.Who.Name, Issuer: who.Issuer, Claims: who.Claims}, who.Token, view.Back)
}

// attemptOf returns the attempt in the request's cookie, or a zero attempt.
func (h *Handler) attemptOf(r *wire.Request) (a attempt) {
	value := h.Site.Cookie(r.Request, attemptCookie)
	if len(value) > maxAttempt {
		return attempt{}
	}
	raw, err := base64.RawURLEncoding.DecodeString(value)
	if err != nil || json.Unmarshal(raw, &a) != nil {
		return attempt{}
	}
	return a
}

// first reports whether a state comes back for the first time, and remembers it. It returns false for "".
func (h *Handler) first(state string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, again := h.used.Get(state); again || state == "" {
		return false
	}
	h.used.Put(state, true)
	return true
}

// failed shows why a sign-in at a provider failed. It returns the error for the log.
func (h *Handler) failed(w http.ResponseWriter, r *wire.Request, err error, view shown) error {
	status, kind := http.StatusServiceUnavailable, chat.Unavailable
	view.Failed = "The identity provider cannot be reached. Please try again in a minute."
	if refused, ok := errors.AsType[*oidc.Error](err); ok {
		status, kind, view.Failed = http.StatusForbidden, chat.Forbidden, refused.Msg
	}
	h.note(r, Event{With: r.PathValue("provider"), Refused: view.Failed})
	return cmp.Or(h.show(w, r, status, view), error(&chat.Error{Kind: kind, Msg: "sign-in at a provider failed", Err: err})) // the server logs it
}

// out handles POST /sign-out.
func (h *Handler) out(w http.ResponseWriter, r *wire.Request) error {
	if !h.Site.IsOwn(r.Request) {
		return wire.Refuse(http.StatusForbidden, "forbidden_origin", "Only this server's own page can sign a user out.")
	}
	location := "/sign-in?signed_out"
	if text := h.Site.TextOf(r.Request); text != "" {
		s, err := h.Sessions.End(r.Context(), text)
		if err != nil && !errors.Is(err, session.ErrEnded) {
			return fmt.Errorf("end a session: %w", err)
		}
		if err == nil {
			h.note(r, Event{Out: true, Subject: s.Subject})
		}
		if end := h.endAt(r.Context(), s, text, h.Site.Base(r.Request)+"/sign-in"); end != "" {
			location = end
		}
	}
	h.Site.SetText(w, r.Request, "", -1)
	w.Header().Set("Clear-Site-Data", `"storage"`) // drafts and settings, which the browser's next user should not see
	return wire.Reply(w, http.StatusOK, struct {
		Location string `json:"location"`
	}{location})
}

// endAt returns the URL at which the holder of a session signs out at the provider, or "". text is the session's cookie, and
// back is where the provider redirects afterwards.
func (h *Handler) endAt(ctx context.Context, s session.Session, text, back string) string {
	if s.Issuer == "" || h.Providers == nil {
		return ""
	}
	return h.Providers.End(ctx, s.Issuer, s.Open(text), back)
}

// me handles GET /api/me.
func (h *Handler) me(w http.ResponseWriter, r *wire.Request) error {
	role := string(r.Who.Role)
	return wire.Reply(w, http.StatusOK, struct {
		Subject   string  `json:"subject"`
		Name      string  `json:"name"`
		Role      *string `json:"role"`
		Session   bool    `json:"session"`     // the caller can sign out
		CanSignIn bool    `json:"can_sign_in"` // the caller can sign in and has not
	}{r.Who.Subject, r.Who.Name, unless(role, ""), r.Who.Subject != "" && h.Site.TextOf(r.Request) != "", r.Who.Subject == "" && h.offers(r.Context())})
}

// appService handles GET /.auth/me, where front ends for Azure App Service look up who has signed in. The response is a
// list of one identity, or of none. It contains no access token for front ends to send with their requests: the session
// cookie, or a token that they already have, suffices.
func appService(w http.ResponseWriter, r *wire.Request) error {
	type claim struct {
		Typ string `json:"typ"`
		Val string `json:"val"`
	}
	type identity struct {
		Provider string  `json:"provider_name"`
		User     string  `json:"user_id"`
		Claims   []claim `json:"user_claims"`
	}
	all := []identity{}
	if r.Who.Subject != "" {
		name := cmp.Or(r.Who.Name, r.Who.Subject)
		claims := []claim{{"name", name}, {"preferred_username", name},
			{"http://schemas.microsoft.com/identity/claims/objectidentifier", r.Who.Subject}, {"roles", string(r.Who.Role)}}
		all = append(all, identity{"parley", name, claims})
	}
	return wire.Reply(w, http.StatusOK, all)
}

func unless(text, empty string) *string {
	if text == empty {
		return nil
	}
	return &text
}

// offers reports whether the server offers a way to sign in.
func (h *Handler) offers(ctx context.Context) bool {
	some, err := h.Keys.Any(ctx)
	return len(h.ways) > 0 || err == nil && some
}

// localPath returns address if it is a path on this server other than a sign-in page, with query and fragment, and
// otherwise "/". Browsers treat backslashes as slashes and drop tabs and line breaks, so it rejects all of these.
func localPath(address string) string {
	if len(address) > maxBack || !strings.HasPrefix(address, "/") || strings.HasPrefix(address, "//") ||
		strings.ContainsFunc(address, func(r rune) bool {
			return r == '\\' || unicode.IsControl(r) || unicode.IsSpace(r) || r == unicode.ReplacementChar
		}) {
		return "/"
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || strings.HasPrefix(u.Path, "//") ||
		u.Path == "/sign-in" || strings.HasPrefix(u.Path, "/sign-in/") {
		return "/"
	}
	return u.String()
}
