// Package signin signs people in on the web page, with an API key or at an OpenID Connect provider.
//
//	GET  /sign-in                      the page on which people choose how to sign in
//	POST /sign-in                      signs in with an API key, from that page's form
//	GET  /sign-in/{provider}           sends the browser to a provider (authorization code with PKCE)
//	GET  /sign-in/{provider}/callback  where the provider sends it back
//	POST /sign-out                     ends the session, and says where to go, which may be the provider
//	GET  /api/me                       who asks
//	GET  /.auth/me                     who asks, as Azure App Service has it
//
// Until the provider answers, the browser keeps its secrets in a cookie: the state, the nonce, the PKCE verifier,
// and also the page it was on. That cookie gives no rights, so it needs no seal: an attacker who could set it in
// another browser could just as well sign in and set the resulting session cookie there.
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

// Config says who can sign in how. Providers may be nil.
type Config struct {
	Sessions  *session.Book
	Keys      *apikey.Book
	Providers *oidc.Verifier
	Site      session.Site
	Lasts     time.Duration // how long a session goes on
	Anonymous bool          // one may ask without signing in

	// Note is called when somebody signs in, in vain or not, and when they sign out. Optional.
	Note func(r *wire.Request, what Event)
}

// Event is a sign-in or a sign-out.
type Event struct {
	Out     bool
	Subject string // "" where it is not known
	With    string // the provider, or the id of the key
	Refused string // why the sign-in failed; "" if it succeeded
}

func (h *Handler) note(r *wire.Request, what Event) {
	if h.Note != nil {
		h.Note(r, what)
	}
}

// Handler answers the routes.
type Handler struct {
	Config
	ways []oidc.Way

	mu   sync.Mutex
	used *lru.Cache[string, bool] // states that a provider has answered
}

// rememberedStates are enough that none of the last ten minutes is dropped on a busy server.
const rememberedStates = 10_000

// New returns a handler.
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

// page answers GET /sign-in.
func (h *Handler) page(w http.ResponseWriter, r *wire.Request) error {
	if text := h.Site.TextOf(r.Request); text != "" {
		if _, err := h.Sessions.Find(r.Context(), text); errors.Is(err, session.ErrEnded) {
			h.Site.SetText(w, r.Request, "", -1) // so that who may ask without signing in is not asked again
		}
	}
	return h.show(w, r, http.StatusOK, shown{Back: localPath(r.URL.Query().Get("back")), Out: r.URL.Query().Has("signed_out")})
}

// Limits of the request of a sign-in.
const (
	maxForm = 16 << 10 // bytes
	maxBack = 1 << 10
)

// withKey answers POST /sign-in.
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
		// Another site could make an old browser send the form, and so sign somebody in as somebody else.
		view.Failed = "The browser did not say which page sent the form. Please use a newer browser; programs send their key with each request."
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
		view.Failed = "This key may call some paths of this server only, so the page cannot use it."
	}
	if view.Failed != "" {
		h.note(r, Event{With: "a key", Refused: view.Failed})
		return h.show(w, r, http.StatusForbidden, view)
	}
	who := k.Principal()
	return h.enter(w, r, session.Session{Subject: who.Subject, Name: who.Name, Key: k.ID}, "", view.Back)
}

// unsafe returns why nobody may sign in by this request, or "".
func (h *Handler) unsafe(r *wire.Request) string {
	if r.Method != http.MethodGet && !h.Site.IsOwn(r.Request) {
		return "The form was not sent by this page. Please sign in here."
	}
	if !h.Site.IsSafe(r.Request) {
		return "Signing in needs an https address, so that nobody on the way can read along. " +
			"Whoever runs this server can set public_url (PARLEY_PUBLIC_URL) to it."
	}
	return ""
}

// enter begins a session, which takes the place of the one that the browser had, and goes on to where somebody was.
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

// attempt is a sign-in at a provider that has begun, as the browser keeps it.
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

// begin answers GET /sign-in/{provider}.
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

var errNoProvider = wire.Refuse(http.StatusNotFound, "not_found", "There is no identity provider of this name. GET /sign-in shows how to sign in.")

func (h *Handler) has(provider string) bool {
	for _, way := range h.ways {
		if way.Name == provider {
			return true
		}
	}
	return false
}

// callback returns the address at which a provider sends the browser back. Each provider has its own, so that none can
// answer for another (RFC 9700 section 4.4).
func (h *Handler) callback(r *wire.Request, provider string) string {
	return h.Site.Base(r.Request) + "/sign-in/" + provider + "/callback"
}

// finish answers GET /sign-in/{provider}/callback.
func (h *Handler) finish(w http.ResponseWriter, r *wire.Request) error {
	name := r.PathValue("provider")
	if !h.has(name) {
		return errNoProvider
	}
	a := h.attemptOf(r)
	h.Site.SetCookie(w, r.Request, attemptCookie, "", -1)
	view := shown{Back: localPath(a.Back)}
	if a.Provider != name || !h.first(a.State) {
		a.Pending = oidc.Pending{} // which no answer fits
	}
	who, err := h.Providers.Finish(r.Context(), name, h.callback(r, name), a.Pending, r.URL.Query())
	if err != nil {
		return h.failed(w, r, err, view)
	}
	return h.enter(w, r, session.Session{Subject: who.Who.Subject, Name: who.Who.Name, Issuer: who.Issuer, Claims: who.Claims}, who.Token, view.Back)
}

// attemptOf returns the sign-in that the browser has begun, a zero one if there is none.
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

// first reports whether a state is answered for the first time.
func (h *Handler) first(state string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, again := h.used.Get(state); again || state == "" {
		return false
	}
	h.used.Put(state, true)
	return true
}

// failed shows why a sign-in at a provider did not succeed.
func (h *Handler) failed(w http.ResponseWriter, r *wire.Request, err error, view shown) error {
	status, kind := http.StatusServiceUnavailable, chat.Unavailable
	view.Failed = "The identity provider cannot be reached. Please try again in a minute."
	if refused, ok := errors.AsType[*oidc.Error](err); ok {
		status, kind, view.Failed = http.StatusForbidden, chat.Forbidden, refused.Msg
	}
	h.note(r, Event{With: r.PathValue("provider"), Refused: view.Failed})
	return cmp.Or(h.show(w, r, status, view), error(&chat.Error{Kind: kind, Msg: "sign-in at a provider failed", Err: err})) // which the server logs
}

// out answers POST /sign-out.
func (h *Handler) out(w http.ResponseWriter, r *wire.Request) error {
	if !h.Site.IsOwn(r.Request) {
		return wire.Refuse(http.StatusForbidden, "forbidden_origin", "Only this server's own page can sign somebody out.")
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
	w.Header().Set("Clear-Site-Data", `"storage"`) // drafts and settings, which the next user of the browser need not see
	return wire.Reply(w, http.StatusOK, struct {
		Location string `json:"location"`
	}{location})
}

// endAt returns the address at which the holder of a session signs out at their provider, or "".
func (h *Handler) endAt(ctx context.Context, s session.Session, text, back string) string {
	if s.Issuer == "" || h.Providers == nil {
		return ""
	}
	return h.Providers.End(ctx, s.Issuer, s.Open(text), back)
}

// me answers GET /api/me.
func (h *Handler) me(w http.ResponseWriter, r *wire.Request) error {
	role := string(r.Who.Role)
	return wire.Reply(w, http.StatusOK, struct {
		Subject   string  `json:"subject"`
		Name      string  `json:"name"`
		Role      *string `json:"role"`
		Session   bool    `json:"session"`     // one can sign out
		CanSignIn bool    `json:"can_sign_in"` // and has not
	}{r.Who.Subject, r.Who.Name, unless(role, ""), r.Who.Subject != "" && h.Site.TextOf(r.Request) != "", r.Who.Subject == "" && h.offers(r.Context())})
}

// appService answers GET /.auth/me, which front ends of Azure ask for who has signed in: a list of one, or of none.
// They send a token that they find there; the cookie, or the token that they have, does as well.
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

// offers reports whether anybody can sign in.
func (h *Handler) offers(ctx context.Context) bool {
	some, err := h.Keys.Any(ctx)
	return len(h.ways) > 0 || err == nil && some
}

// localPath returns an address of this server, without its origin, from one that a request names; "/" unless it is one.
// Browsers take backslashes for slashes and drop tabs and line ends, so addresses with any of these are none.
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
