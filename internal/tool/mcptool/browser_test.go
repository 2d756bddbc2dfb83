package mcptool

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/auth"
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
	if _, err := Open(t.Context(), []Server{s}, slog.New(slog.DiscardHandler)); !errors.Is(err, ErrNotSignedIn) || !strings.Contains(err.Error(), "parley mcp sign-in web") {
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
	if err := use("y"); err != nil || len(g.grants()) != 2 || g.grants()[1].Get("grant_type") != "refresh_token" {
		t.Errorf("%v, %d grants", err, len(g.grants()))
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
		"no sign-in needed":  {func(g *guarded, _ *Server) { g.valid[""], g.scope = "read", "read" }, approved, "without a sign-in"},
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
