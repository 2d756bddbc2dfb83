package main

import (
	"context"
	"net"
	"net/url"
	"time"

	"parley/internal/audit"
	"parley/internal/auth"
	"parley/internal/auth/apikey"
	"parley/internal/auth/oidc"
	"parley/internal/auth/roster"
	"parley/internal/auth/session"
	"parley/internal/wire"
	"parley/internal/wire/librechat"
	"parley/internal/wire/signin"
)

// Values of settings that are chosen automatically by default.
const (
	settingAuto = "auto"
	settingOn   = "true"
	settingOff  = "false"
)

// allowsAnonymous reports whether callers may ask without signing in.
func (c *Config) allowsAnonymous(listening net.Addr) bool {
	if c.AuthAnonymous == settingAuto {
		return c.AuthOIDC == "" && c.AuthProxies == "" && isLoopback(listening)
	}
	return c.AuthAnonymous == settingOn
}

// isLoopback reports whether only this machine reaches an address.
func isLoopback(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

// changes says who may change documents over the network. Unless the setting says otherwise, those are editors
// who sign in, and everybody if users of this machine alone can reach the server: a public URL
// suggests a proxy that admits others.
func (c *Config) changes(listening net.Addr) auth.Changes {
	switch {
	case c.UploadsEnabled == settingOff:
		return auth.ByNobody
	case c.UploadsEnabled == settingOn, isLoopback(listening) && hasLoopbackHost(c.PublicURL):
		return auth.ByAll
	}
	return auth.ByEditors
}

// hasLoopbackHost reports whether a URL, if there is one, leads to this machine.
func hasLoopbackHost(publicURL string) bool {
	if publicURL == "" {
		return true
	}
	u, err := url.Parse(publicURL)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// entrance identifies callers.
type entrance struct {
	*auth.Gate
	keys      *apikey.Book
	sessions  *session.Book
	providers *oidc.Verifier // nil without any
	site      session.Site
	members   *roster.Book
	anonymous bool // callers may ask without signing in
	audit     *audit.Log
}

// newEntrance refuses to serve an address to which nobody could sign in.
func (p *program) newEntrance(ctx context.Context, in *instance, listening net.Addr) (*entrance, error) {
	e := &entrance{keys: apikey.NewBook(in.db.APIKeys(), p.log, time.Now), anonymous: p.config.allowsAnonymous(listening),
		site: session.Site{PublicURL: p.config.PublicURL}, audit: audit.New(in.db.Audit(), p.log, time.Now)}
	cfg := auth.Config{Keys: e.keys, Anonymous: e.anonymous, Changes: p.config.changes(listening), Site: e.site, Refused: noteRefused(e.audit)}
	var recalls session.Providers // nil, and not a nil *oidc.Verifier
	if p.config.AuthOIDC != "" {
		verifier, err := p.config.AuthOIDC.verifier(p.lookupEnv)
		if err != nil {
			return nil, usageError{err}
		}
		e.providers, cfg.Tokens, recalls = verifier, verifier, verifier
	}
	e.sessions = session.NewBook(in.db.Sessions(), recalls, time.Duration(p.config.AuthSession), time.Now)
	cfg.Sessions = e.sessions
	e.members = roster.NewBook(in.db.Members(), time.Now)
	cfg.Members = e.members
	proxies, err := p.config.AuthProxies.list(p.lookupEnv)
	if err != nil {
		return nil, usagef("auth.proxies: %w", err)
	}
	cfg.Proxies = proxies
	if secret := p.config.AuthLibreChat; secret != "" {
		cfg.Shared = &auth.Shared{Secret: []byte(secret), Path: librechat.Mount + "/", Subject: librechat.SubjectPrefix}
	}
	if !e.anonymous && cfg.Tokens == nil && len(proxies) == 0 && cfg.Shared == nil {
		some, err := e.keys.Any(ctx)
		if err != nil {
			return nil, err
		}
		if !some {
			return nil, p.nobodyCanSignIn()
		}
	}
	e.Gate = auth.New(cfg)
	return e, nil
}

// protocol returns the routes by which people sign in on the web page.
func (e *entrance) protocol(lasts duration) wire.Protocol {
	return signin.New(signin.Config{Sessions: e.sessions, Keys: e.keys, Providers: e.providers, Site: e.site,
		Lasts: time.Duration(lasts), Anonymous: e.anonymous, Note: noteSignIn(e.audit)}).Protocol()
}

// nobodyCanSignIn says how to choose between sign-in and anonymous use.
func (p *program) nobodyCanSignIn() error {
	const choose = "create a key with parley keys create, or name an identity provider in auth.oidc"
	if p.config.AuthAnonymous == settingOff {
		return usagef("%s: asking requires signing in, but nobody can sign in yet: %s", p.origin["auth-anonymous"], choose)
	}
	return usagef("%s can be reached from other machines, and nobody has to sign in there: %s, "+
		"or set auth.anonymous to true (PARLEY_AUTH_ANONYMOUS=true) if everybody who reaches it may ask", p.config.Addr, choose)
}
