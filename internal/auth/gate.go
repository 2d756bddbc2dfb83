// Package auth identifies the caller of a request, and decides whether they may do what they ask for.
//
// Callers sign in with an API key (package apikey), a token of an OpenID Connect provider (package oidc), the cookie of
// the web page (package session), or a token of another program (Shared). A trusted proxy may name its users (Proxy), and
// a server may admit anonymous callers. Nothing else in a request gives rights.
//
//	gate := auth.New(auth.Config{Keys: apikey.NewBook(store, log, time.Now), Anonymous: true})
//	server.New(cfg, server.Deps{Admit: gate.Admit, …})
package auth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"parley/internal/access"
	"parley/internal/auth/apikey"
	"parley/internal/auth/oidc"
	"parley/internal/auth/roster"
	"parley/internal/auth/session"
	"parley/internal/chat"
	"parley/internal/wire"
)

// Tokens verifies tokens of identity providers.
type Tokens interface {
	// Verify returns the caller of a token. An *oidc.Error refuses the token; any other error means that the token
	// could not be verified now.
	Verify(ctx context.Context, token string) (access.Principal, error)
}

// Changes says who may change documents over the network.
type Changes uint8

// The values of Changes.
const (
	ByNobody  Changes = iota
	ByEditors         // by signed-in editors, including editors of single namespaces
	ByAll             // also by anonymous callers, except in closed namespaces
)

// Config says who is admitted. Tokens and Sessions may be nil.
type Config struct {
	Keys     *apikey.Book
	Tokens   Tokens
	Sessions *session.Book
	Members  *roster.Book // of namespaces; nil for none
	Site     session.Site // names and checks the session cookie
	Proxies  []Proxy      // trusted to name the caller
	Shared   *Shared      // admits another program's users; nil for none

	// Refused is called for each request that Admit refuses with status 401 or 403; who is zero if unknown. Optional.
	Refused   func(r *http.Request, who access.Principal, err error)
	Anonymous bool // callers who have not signed in may ask
	Changes   Changes
}

// Gate identifies and admits callers. It is safe for concurrent use.
type Gate struct{ cfg Config }

// New returns a gate.
func New(cfg Config) *Gate { return &Gate{cfg} }

// caller is the sender of a request.
type caller struct {
	access.Principal
	key *apikey.Key // nil unless they signed in with one
}

// Admit returns the caller of a request if they have the right. Its errors are meant for wire.FailureOf; a 401
// has a challenge.
func (g *Gate) Admit(r *http.Request, right wire.Right) (access.Principal, error) {
	c, err := g.identify(r)
	if err == nil && g.cfg.Members != nil {
		c.Members, err = g.cfg.Members.Members(r.Context())
	}
	if err == nil {
		err = g.allow(r, c, right)
	}
	if err != nil {
		if status := wire.FailureOf(err).Status; g.cfg.Refused != nil && (status == http.StatusUnauthorized || status == http.StatusForbidden) {
			g.cfg.Refused(r, c.Principal, err)
		}
		return access.Principal{}, err
	}
	return c.Principal, nil
}

// identify returns the caller of a request.
func (g *Gate) identify(r *http.Request) (caller, error) {
	credential, err := credentialOf(r.Header)
	if err != nil {
		return caller{}, err
	}
	cookie := ""
	if credential == "" && g.cfg.Sessions != nil {
		cookie = g.cfg.Site.TextOf(r)
	}
	if g.cfg.Shared.governs(r.URL.Path) && !strings.HasPrefix(credential, apikey.Prefix) {
		return g.byShared(credential)
	}
	proxy := (*Proxy)(nil)
	if credential != "" && len(g.cfg.Proxies) > 0 {
		proxy = g.proxyOf(credential)
	}
	switch {
	case proxy != nil:
		return proxy.byProxy(r)
	case cookie != "":
		return g.bySession(r.Context(), cookie)
	case credential == "" && g.cfg.Anonymous:
		return caller{}, nil
	case credential == "":
		return caller{}, errSignIn
	case strings.HasPrefix(credential, apikey.Prefix):
		return g.byKey(r.Context(), credential)
	case g.cfg.Tokens != nil:
		return g.byToken(r.Context(), credential)
	}
	// Many clients insist on sending some key. Without any means of signing in, it is ignored.
	if g.cfg.Anonymous {
		if keys, err := g.cfg.Keys.Any(r.Context()); err != nil {
			return caller{}, fmt.Errorf("look for keys: %w", err)
		} else if !keys {
			return caller{}, nil
		}
	}
	return caller{}, unauthorized("This is neither a key nor a token of this server.", nil)
}

// byShared returns the user whom a token of another program names.
func (g *Gate) byShared(credential string) (caller, error) {
	if credential == "" {
		return caller{}, errSignIn
	}
	who, err := g.cfg.Shared.verify(credential, time.Now())
	if err != nil {
		return caller{}, unauthorized("This token is not valid, or has expired.", err)
	}
	return caller{who, nil}, nil
}

// bySession returns the holder of a session. A session that began with an API key ends when the key does.
func (g *Gate) bySession(ctx context.Context, text string) (caller, error) {
	f, err := g.cfg.Sessions.Find(ctx, text)
	switch {
	case errors.Is(err, session.ErrEnded):
		return caller{}, unauthorized("Your session has ended. Please sign in again.", nil)
	case err != nil:
		return caller{}, fmt.Errorf("look up a session: %w", err)
	case f.Key != "":
		return found(g.cfg.Keys.FindID(ctx, f.Key))
	}
	return caller{f.Who, nil}, nil
}

func (g *Gate) byKey(ctx context.Context, credential string) (caller, error) {
	return found(g.cfg.Keys.Find(ctx, credential))
}

// found returns the caller that signs in with a key, or turns the error of the lookup into one for clients.
func found(k apikey.Key, err error) (caller, error) {
	switch {
	case errors.Is(err, apikey.ErrWrong):
		return caller{}, unauthorized("This key is not valid.", nil)
	case errors.Is(err, apikey.ErrExpired):
		return caller{}, unauthorized("This key has expired. Ask for a new one.", nil)
	case errors.Is(err, apikey.ErrRevoked):
		return caller{}, unauthorized("This key has been revoked. Ask for another one.", nil)
	case err != nil:
		return caller{}, fmt.Errorf("look up a key: %w", err)
	}
	return caller{k.Principal(), &k}, nil
}

func (g *Gate) byToken(ctx context.Context, credential string) (caller, error) {
	who, err := g.cfg.Tokens.Verify(ctx, credential)
	if refused, ok := errors.AsType[*oidc.Error](err); ok && refused.Forbidden {
		return caller{}, &chat.Error{Kind: chat.Forbidden, Msg: refused.Msg, Err: refused.Err}
	} else if ok {
		return caller{}, unauthorized(refused.Msg, refused.Err)
	}
	if err != nil {
		return caller{}, &chat.Error{Kind: chat.Unavailable,
			Msg: "The identity provider cannot be reached, so this token cannot be checked. Please try again later.", Err: err}
	}
	return caller{who, nil}, nil
}

// roleFor is the role that signed-in callers need for a right.
var roleFor = map[wire.Right]access.Role{
	wire.Ask: access.Reader, wire.Change: access.Editor, wire.Edit: access.Editor, wire.Manage: access.Administrator,
	wire.Instruct: access.Administrator, wire.Administer: access.Administrator,
}

// byMembership reports whether a member's role gives the caller the right in at least one namespace. The handler checks
// the namespace of the request.
func byMembership(c caller, right wire.Right) bool {
	return right == wire.Edit && c.EditsSome() || (right == wire.Manage || right == wire.Instruct) && c.ManagesSome()
}

// allow returns an error if the caller does not have the right.
func (g *Gate) allow(r *http.Request, c caller, right wire.Right) error {
	if c.Subject == "" {
		return g.allowAnonymous(r.Context(), right)
	}
	need, ok := roleFor[right]
	switch {
	case !ok || !c.Role.Includes(need) && !byMembership(c, right):
		return forbidden(fmt.Sprintf("Your role, %s, does not allow this. It needs the role %s.", c.Role, need))
	case right == wire.Administer && !c.Administers():
		return forbidden("This needs an administrator of all namespaces.")
	case (right == wire.Change || right == wire.Edit) && g.cfg.Changes == ByNobody:
		return errNoChanges
	case c.key != nil && !c.key.Reaches(r.URL.Path):
		return forbidden("This key may not be used for this path.")
	}
	return nil
}

// allowAnonymous returns an error if anonymous callers do not have the right.
func (g *Gate) allowAnonymous(ctx context.Context, right wire.Right) error {
	if right == wire.Edit || right == wire.Instruct {
		right = wire.Change
	}
	switch {
	case right == wire.Ask || right == wire.Change && g.cfg.Changes == ByAll:
		return nil
	case right == wire.Change && g.cfg.Changes == ByEditors && g.cfg.Tokens == nil && len(g.cfg.Proxies) == 0:
		if keys, err := g.cfg.Keys.Any(ctx); err != nil || !keys {
			return errNoChanges
		}
	case right == wire.Change && g.cfg.Changes == ByNobody:
		return errNoChanges
	}
	return errSignIn
}

// errNoChanges rejects changes to the corpus where they are not allowed.
var errNoChanges = &chat.Error{
	Kind: chat.Forbidden,
	Msg:  "Changing documents over the network is disabled on this server. The setting uploads.enabled enables it.",
}

func forbidden(text string) error { return &chat.Error{Kind: chat.Forbidden, Msg: text} }

// challenge is the header WWW-Authenticate of a request without credentials (RFC 6750 section 3).
const challenge = `Bearer realm="parley"`

// errSignIn refuses requests without a key or token.
var errSignIn = &wire.RefusalError{Failure: wire.Failure{
	Status: http.StatusUnauthorized, Code: "unauthorized", Challenge: challenge,
	Text: "Sign-in is required: send a key or a token in the header Authorization, as Bearer.",
}}

// unauthorized refuses a credential.
func unauthorized(text string, err error) error {
	return &wire.RefusalError{Failure: wire.Failure{
		Status: http.StatusUnauthorized, Code: "unauthorized", Text: text, Challenge: challenge + `, error="invalid_token"`,
	}, Err: err}
}

// keyHeaders are the headers other than Authorization in which clients of the protocols send keys.
var keyHeaders = []string{"X-Api-Key", "Api-Key"}

// credentialOf returns the key or token of a request, or "". It ignores schemes other than Bearer, which are meant
// for proxies on the way.
func credentialOf(h http.Header) (string, error) {
	found := ""
	for _, value := range h["Authorization"] {
		scheme, text, _ := strings.Cut(value, " ")
		if !strings.EqualFold(scheme, "Bearer") {
			continue
		}
		if found != "" {
			return "", unauthorized("The request has two Authorization headers.", nil)
		}
		found = strings.TrimSpace(text)
	}
	for _, name := range keyHeaders {
		if found == "" {
			found = strings.TrimSpace(h.Get(name))
		}
	}
	return found, nil
}
