package mcptool

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/auth"

	"parley/internal/tool"
)

const redirect = "http://127.0.0.1:9/callback"

// browsed returns a server at which an administrator signs in.
func (g *guarded) browsed(grants Grants) Server {
	return Server{Name: "web", URL: g.URL + "/mcp", Browser: &Browser{Grants: grants}}
}

func signedIn(t *testing.T, s Server) {
	t.Helper()
	tools, err := SignIn(t.Context(), s, redirect, approved)
	if err != nil || len(tools) == 0 {
		t.Fatalf("%v, %v", tools, err)
	}
}

func TestBrowser_OneSignInLastsUntilItIsRevoked(t *testing.T) {
	g, grants := newGuarded(t), grantsInMemory{}
	s := g.browsed(grants)
	if err := openErr(t, s); !errors.Is(err, ErrNotSignedIn) || !strings.Contains(err.Error(), "parley mcp sign-in web") {
		t.Fatalf("before the sign-in: %v", err)
	}
	signedIn(t, s)
	first := g.grants()[0]
	if g.registered != 1 || first.Get("client_id") != "client-1" || first.Get("resource") != g.URL+"/mcp" || first.Get("redirect_uri") != redirect {
		t.Errorf("%d registrations, asked %v", g.registered, first)
	}
	if got := grants["web"]; got.Token.RefreshToken == "" || got.ClientID != "client-1" || got.TokenURL != g.issuer.URL+"/token" {
		t.Errorf("kept %+v", got)
	}
	r := open(t, s)
	use := func(text string) error {
		t.Helper()
		got, err := call(t, r, "web__echo", `{"text":"`+text+`"}`)
		if err == nil && !strings.HasPrefix(got, "echo: "+text) {
			t.Errorf("got %q", got)
		}
		return err
	}
	if err := use("x"); err != nil || len(g.grants()) != 1 {
		t.Errorf("%v, %d grants", err, len(g.grants()))
	}
	g.set(func() { clear(g.valid) }) // the access token has ended
	if err := use("y"); err != nil || len(g.grants()) != 2 {
		t.Errorf("%v, %d grants", err, len(g.grants()))
	} else if asked := g.grants()[1]; asked.Get("grant_type") != "refresh_token" || asked.Get("resource") != g.URL+"/mcp" || asked.Get("client_id") != "client-1" {
		t.Errorf("renewed by %v", asked)
	}
	// Another replica renews the token: the refresh token of this one is used up.
	other := open(t, s)
	g.set(func() { clear(g.valid) })
	if _, err := call(t, other, "web__echo", `{"text":"z"}`); err != nil {
		t.Error(err)
	}
	if err := use("z"); err != nil || len(g.grants()) != 3 {
		t.Errorf("%v, %d grants", err, len(g.grants()))
	}
	g.set(func() { clear(g.valid); clear(g.codes) }) // all was revoked
	if err := use("no"); err == nil || len(g.grants()) != 4 {
		t.Errorf("%v, %d grants", err, len(g.grants()))
	}
	signedIn(t, s)
	if err := use("again"); err != nil {
		t.Error(err)
	}
}

// locked are Grants of several replicas.
type locked struct {
	grantsInMemory
	renewing, reading sync.Mutex
}

func (l *locked) Grant(ctx context.Context, server string) (Grant, error) {
	l.reading.Lock()
	defer l.reading.Unlock()
	return l.grantsInMemory.Grant(ctx, server)
}

func (l *locked) PutGrant(ctx context.Context, server, replaced string, g Grant) error {
	l.reading.Lock()
	defer l.reading.Unlock()
	return l.grantsInMemory.PutGrant(ctx, server, replaced, g)
}

func (l *locked) Lock(context.Context) (unlock func(), err error) {
	l.renewing.Lock()
	return l.renewing.Unlock, nil
}

// The authorization server revokes everything when a refresh token comes twice.
func TestBrowser_ReplicasThatRenewAtOnceSendARefreshTokenOnce(t *testing.T) {
	g, grants := newGuarded(t), &locked{grantsInMemory: grantsInMemory{}}
	s := g.browsed(grants)
	signedIn(t, s)
	var replicas []*tool.Registry
	for range 8 {
		replicas = append(replicas, open(t, s))
	}
	for round := range 3 {
		g.set(func() { clear(g.valid) })
		var calls sync.WaitGroup
		for _, r := range replicas {
			calls.Go(func() {
				if got, err := call(t, r, "web__echo", `{"text":"x"}`); err != nil {
					t.Errorf("%q, %v", got, err)
				}
			})
		}
		calls.Wait()
		if n := len(g.grants()); n != round+2 {
			t.Fatalf("%d grants after round %d", n, round)
		}
	}
}

// leaving are Grants of a caller who leaves while a token is renewed.
type leaving struct {
	grantsInMemory
	leave context.CancelFunc
}

func (l *leaving) Lock(context.Context) (unlock func(), err error) {
	return func() {}, nil
}

func (l *leaving) Grant(ctx context.Context, server string) (Grant, error) {
	if l.leave != nil {
		l.leave()
	}
	return l.grantsInMemory.Grant(ctx, server)
}

func (l *leaving) PutGrant(ctx context.Context, server, replaced string, g Grant) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return l.grantsInMemory.PutGrant(ctx, server, replaced, g)
}

// Another replica would send the refresh token again.
func TestBrowser_KeepsARenewedTokenWhoeverLeaves(t *testing.T) {
	g, grants := newGuarded(t), &leaving{grantsInMemory: grantsInMemory{}}
	s := g.browsed(grants)
	signedIn(t, s)
	before := grants.grantsInMemory["web"]
	r := &granted{Browser: s.Browser, server: s.Name, url: s.URL, client: signInClient(), now: before}
	var ctx context.Context
	ctx, grants.leave = context.WithCancel(t.Context())
	err := r.renew(ctx, before.Token.AccessToken)
	if err != nil || r.replaces != "" || grants.grantsInMemory["web"].Token.AccessToken == before.Token.AccessToken {
		t.Errorf("%v, not stored in place of %q", err, r.replaces)
	}
}

func TestBrowser_RenewsATokenBeforeItEnds(t *testing.T) {
	g, grants := newGuarded(t), grantsInMemory{}
	g.lasts = 5 // less than earlyRenewal
	s := g.browsed(grants)
	signedIn(t, s)
	kept := grants["web"].Token.AccessToken
	r := open(t, s)
	if got, err := call(t, r, "web__echo", `{"text":"x"}`); err != nil || grants["web"].Token.AccessToken == kept {
		t.Errorf("%q, %v, the token stays %v", got, err, grants["web"].Token.AccessToken == kept)
	}
}

func TestBrowser_SaysWhatIsWrong(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*guarded, *Server)
		fetch  auth.AuthorizationCodeFetcher
		want   string
	}{
		"another issuer":     {func(_ *guarded, s *Server) { s.Browser.Issuer = "https://login.example.com" }, approved, "not of the configured issuer"},
		"an unsafe endpoint": {func(g *guarded, _ *Server) { g.tokenAt = "http://login.example.com/token" }, approved, "token"},
		"no sign-in needed":  {func(g *guarded, _ *Server) { g.valid[""], g.scope = "read", "read" }, approved, "needs no sign-in"},
	} {
		g, grants := newGuarded(t), grantsInMemory{}
		s := g.browsed(grants)
		c.change(g, &s)
		if _, err := SignIn(t.Context(), s, redirect, c.fetch); err == nil || !strings.Contains(err.Error(), c.want) || len(grants) > 0 {
			t.Errorf("%s: %v, kept %d", name, err, len(grants))
		}
	}
	g, grants := newGuarded(t), grantsInMemory{}
	s := g.browsed(grants)
	s.Browser.Issuer, s.Browser.Scopes = g.issuer.URL+"/tenant", []string{"read"}
	signedIn(t, s)
	r := open(t, s)
	g.set(func() { g.scope = "write" })
	if got, err := call(t, r, "web__echo", `{"text":"x"}`); err == nil {
		t.Errorf("got %q without the scope", got)
	}
}

// forgetful are Grants that can fail to keep one.
type forgetful struct {
	grantsInMemory
	fails bool
}

func (f *forgetful) PutGrant(ctx context.Context, server, replaced string, g Grant) error {
	if f.fails {
		return errors.New("no room")
	}
	return f.grantsInMemory.PutGrant(ctx, server, replaced, g)
}

// A refresh token is good for once: what it has brought must not be lost.
func TestBrowser_UsesARenewedTokenThatCouldNotBeKeptAndKeepsItLater(t *testing.T) {
	g, grants := newGuarded(t), &forgetful{grantsInMemory: grantsInMemory{}}
	s := g.browsed(grants)
	signedIn(t, s)
	r := open(t, s)
	before := grants.grantsInMemory["web"].Token.AccessToken
	for i, fails := range []bool{true, true, false} {
		g.set(func() {
			if grants.fails = fails; fails {
				clear(g.valid)
			}
		})
		if got, err := call(t, r, "web__echo", `{"text":"x"}`); err != nil || (grants.grantsInMemory["web"].Token.AccessToken == before) != fails {
			t.Errorf("call %d: %q, %v", i, got, err)
		}
	}
}

func TestBrowser_KeepsANewerSignInAndNotTheTokenThatCouldNotBeKept(t *testing.T) {
	g, grants := newGuarded(t), &forgetful{grantsInMemory: grantsInMemory{}}
	s := g.browsed(grants)
	signedIn(t, s)
	r := open(t, s)
	g.set(func() { clear(g.valid) })
	grants.fails = true
	if got, err := call(t, r, "web__echo", `{"text":"x"}`); err != nil {
		t.Fatalf("%q, %v", got, err)
	}
	grants.fails = false
	signedIn(t, s)
	newer := grants.grantsInMemory["web"].Token.AccessToken
	if got, err := call(t, r, "web__echo", `{"text":"x"}`); err != nil || grants.grantsInMemory["web"].Token.AccessToken != newer {
		t.Errorf("%q, %v, the newer sign-in is kept: %t", got, err, grants.grantsInMemory["web"].Token.AccessToken == newer)
	}
}

func TestBrowser_SendsATokenToItsServerOnly(t *testing.T) {
	g, other, grants := newGuarded(t), newGuarded(t), grantsInMemory{}
	signedIn(t, g.browsed(grants))
	moved := other.browsed(grants)
	if err := openErr(t, moved); !errors.Is(err, ErrNotSignedIn) {
		t.Errorf("another URL: %v", err)
	}
	// A secret is for its issuer.
	for _, c := range []struct{ named, claims string }{{named: other.issuer.URL + "/tenant"}, {claims: other.issuer.URL + "/tenant"}} {
		fresh := newGuarded(t)
		fresh.names, fresh.claims = c.named, c.claims
		s := fresh.browsed(grantsInMemory{})
		s.Browser.Issuer, s.Browser.ClientID, s.Browser.Secret = fresh.issuer.URL+"/tenant", "parley", clientSecret
		if _, err := SignIn(t.Context(), s, redirect, approved); err == nil || len(fresh.grants())+len(other.grants()) > 0 {
			t.Errorf("%+v: %v; %v, %v", c, err, fresh.grants(), other.grants())
		}
	}
	s := g.browsed(grants)
	s.Browser.ClientID, s.Browser.Secret = "parley", clientSecret
	if _, err := SignIn(t.Context(), s, redirect, approved); err == nil || !strings.Contains(err.Error(), "the issuer that may see it") {
		t.Errorf("a secret without an issuer: %v", err)
	}
}
