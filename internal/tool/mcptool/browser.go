package mcptool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"
)

// Browser configures a sign-in by the authorization code grant with PKCE (MCP 2025-11-25, "Authorization"): an administrator signs in once
// in a browser, and Parley renews the token from then on.
type Browser struct {
	Issuer   string // the only authorization server that is accepted; "" means the one that the server names
	ClientID string // a registered client; "" means that Parley registers itself (RFC 7591)
	Secret   string // of a confidential client; sent only to the issuer
	Scopes   []string
	Grants   Grants
}

// Check returns an error if nobody can sign in with these settings.
func (b *Browser) Check() error {
	switch {
	case b.Secret != "" && (b.ClientID == "" || b.Issuer == ""):
		return errors.New("a secret needs a client_id, and the issuer that may see it")
	case b.Issuer != "":
		return checkEndpoint(b.Issuer)
	}
	return nil
}

// Grants stores the grants of sign-ins by server name.
type Grants interface {
	// Grant returns the last grant for a server, or ErrNotSignedIn.
	Grant(ctx context.Context, server string) (Grant, error)
	// PutGrant stores g in place of the grant whose access token is replaced; "" means any. If a different grant
	// is stored by now, PutGrant leaves it and returns nil.
	PutGrant(ctx context.Context, server, replaced string, g Grant) error
	// Lock acquires the lock under which one process at a time renews grants. The caller must call unlock.
	Lock(ctx context.Context) (unlock func(), err error)
}

// ErrNotSignedIn means that nobody has signed in at a server yet.
var ErrNotSignedIn = errors.New("nobody has signed in there yet")

// Grant is a token, the server that accepts it, and the client that may renew it.
type Grant struct {
	Server    string           `json:"server"` // its URL; no other one gets the token
	TokenURL  string           `json:"token_url"`
	ClientID  string           `json:"client_id"`
	Secret    string           `json:"client_secret,omitempty"`
	AuthStyle oauth2.AuthStyle `json:"auth_style,omitempty"`
	Token     *oauth2.Token    `json:"token"`
}

// SignIn signs in at a server that has a Browser, and stores the grant. redirect is the loopback URL to which the authorization server
// sends the browser back. fetch asks a person to open a page in a browser, and returns the parameters of the redirect. SignIn returns
// the names of the server's tools.
func SignIn(ctx context.Context, server Server, redirect string, fetch auth.AuthorizationCodeFetcher) (tools []string, err error) {
	b := server.Browser
	if err := b.Check(); err != nil {
		return nil, err
	}
	cfg := &auth.AuthorizationCodeHandlerConfig{
		RedirectURL: redirect, AuthorizationCodeFetcher: fetch, RequestRefreshToken: true, AcceptUnadvertisedIss: true,
		Client: signInClient(), DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
			ClientName: "Parley", RedirectURIs: []string{redirect}, GrantTypes: []string{"authorization_code", "refresh_token"},
			ResponseTypes: []string{"code"}, TokenEndpointAuthMethod: "none",
		}},
	}
	if b.ClientID != "" {
		cfg.DynamicClientRegistrationConfig = nil
		cfg.PreregisteredClient = &oauthex.ClientCredentials{ClientID: b.ClientID, Issuer: b.Issuer}
		if b.Secret != "" {
			cfg.PreregisteredClient.ClientSecretAuth = &oauthex.ClientSecretAuth{ClientSecret: b.Secret}
		}
	}
	if b.Scopes != nil {
		cfg.ScopeFilter = func([]string) []string { return b.Scopes }
	}
	cfg.NewTokenSource = func(ctx context.Context, c *oauth2.Config, t *oauth2.Token) (oauth2.TokenSource, error) {
		if b.Issuer != "" { // the SDK must have found the token endpoint of this issuer
			if at, err := newSignIn(OAuth{Issuer: b.Issuer}, server.URL).endpoint(ctx); err != nil || at.Token != c.Endpoint.TokenURL {
				return nil, errors.Join(errors.New("the tokens are not those of the configured issuer"), err)
			}
		}
		g := Grant{Server: server.URL, TokenURL: c.Endpoint.TokenURL, ClientID: c.ClientID, Secret: c.ClientSecret, AuthStyle: c.Endpoint.AuthStyle, Token: t}
		return oauth2.StaticTokenSource(t), b.Grants.PutGrant(ctx, server.Name, "", g)
	}
	handler, err := auth.NewAuthorizationCodeHandler(cfg)
	if err != nil {
		return nil, fmt.Errorf("sign in: %w", err)
	}
	c := &conn{server: server, auth: pinned{handler, b.Issuer}}
	defer c.close()
	session, err := c.connected(ctx)
	if err != nil {
		return nil, err
	}
	for t, err := range session.Tools(ctx, nil) {
		if err != nil {
			return nil, fmt.Errorf("list its tools: %w", err)
		}
		tools = append(tools, t.Name)
	}
	switch g, err := b.Grants.Grant(ctx, server.Name); {
	case errors.Is(err, ErrNotSignedIn) || err == nil && g.Server != server.URL:
		return tools, errors.New("the server needs no sign-in: remove oauth from its settings")
	case err != nil:
		return tools, fmt.Errorf("look for the stored sign-in: %w", err)
	}
	return tools, nil
}

// pinned refuses authorization servers other than the configured one.
type pinned struct {
	auth.OAuthHandler
	issuer string // "" for any
}

func (p pinned) Authorize(ctx context.Context, req *http.Request, resp *http.Response) error {
	if p.issuer != "" {
		s := newSignIn(OAuth{Issuer: p.issuer}, req.URL.String())
		challenges, _ := oauthex.ParseWWWAuthenticate(resp.Header.Values("WWW-Authenticate"))
		said := s.resource(ctx, challengeOf(challenges)["resource_metadata"])
		if len(said.Servers) == 0 { // before 2025-06-18, a server was its own authorization server
			said.Servers = []string{req.URL.Scheme + "://" + req.URL.Host}
		}
		if err := s.takes(said); err != nil {
			return err
		}
		if !sameURL(said.Servers[0], p.issuer) {
			return fmt.Errorf("the server names %s before the configured issuer", said.Servers[0])
		}
	}
	return p.OAuthHandler.Authorize(ctx, req, resp) //nolint:wrapcheck // it says what failed
}

// granted signs in at a server with the grant of an administrator. It implements auth.OAuthHandler of the SDK, and is safe for concurrent
// use.
type granted struct {
	*Browser
	server string // its name
	url    string
	client *http.Client
	early  time.Duration // how long before its expiry a token is renewed; differs between replicas

	mu       sync.Mutex
	now      Grant  // without a Token before the first use
	replaces string // the access token of the stored grant while now could not be stored in its place; "" otherwise
}

// load returns the grant that is stored for this server.
func (g *granted) load(ctx context.Context) (Grant, error) {
	kept, err := g.Grants.Grant(ctx, g.server)
	if err == nil && kept.Server != g.url {
		err = ErrNotSignedIn // the server's URL has changed since
	}
	if errors.Is(err, ErrNotSignedIn) {
		err = g.again(err)
	}
	return kept, err
}

func (g *granted) again(err error) error {
	return fmt.Errorf("%w: parley mcp sign-in %s", err, g.server)
}

// TokenSource implements auth.OAuthHandler.
func (g *granted) TokenSource(ctx context.Context) (oauth2.TokenSource, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.now.Token == nil {
		kept, err := g.load(ctx)
		if err != nil {
			return nil, err
		}
		g.now = kept
	}
	return g, nil
}

// Token implements oauth2.TokenSource. It renews the token shortly before it expires.
func (g *granted) Token() (*oauth2.Token, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	t := g.now.Token
	if g.replaces != "" {
		g.save(context.Background())
	}
	if t.Expiry.IsZero() || t.RefreshToken == "" || time.Until(t.Expiry) > g.early {
		return t, nil
	}
	if err := g.renew(context.Background(), t.AccessToken); err != nil && time.Until(t.Expiry) <= 0 {
		return nil, err
	}
	return g.now.Token, nil
}

// Authorize implements auth.OAuthHandler. It renews a token that was refused, unless the server refused its scopes.
func (g *granted) Authorize(ctx context.Context, req *http.Request, resp *http.Response) error {
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxMetadata))
	_ = resp.Body.Close()
	if resp.StatusCode == http.StatusForbidden {
		challenges, _ := oauthex.ParseWWWAuthenticate(resp.Header.Values("WWW-Authenticate"))
		if scope := challengeOf(challenges)["scope"]; scope != "" {
			return g.again(fmt.Errorf("the server requires the scopes %q; to grant them, add them to scopes in oauth and sign in again", scope))
		}
		return errors.New("the server denies access with this token")
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.renew(ctx, strings.TrimPrefix(req.Header.Get("Authorization"), "Bearer "))
}

// renewTimeout is how long a replica waits while others renew grants. Each of them takes up to signInTimeout.
const renewTimeout = 2 * signInTimeout

// renew replaces a refused token, unless it has been replaced meanwhile: by this process, or by another replica or a new sign-in, which the
// stored grants show. The caller must hold mu.
func (g *granted) renew(ctx context.Context, refused string) error {
	if g.now.Token.AccessToken != refused {
		return nil
	}
	// Some authorization servers assume that a refresh token that is used twice was stolen, and revoke all tokens issued for it.
	waiting, cancel := context.WithTimeout(ctx, renewTimeout)
	defer cancel()
	unlock, err := g.Grants.Lock(waiting)
	if err != nil {
		return fmt.Errorf("wait for another server that renews a sign-in: %w", err)
	}
	defer unlock()
	kept, err := g.load(ctx)
	if err != nil {
		return err
	}
	stored := kept.Token.AccessToken
	if stored == g.replaces {
		kept = g.now // it could not be stored, and the stored refresh token is spent
	}
	if g.now = kept; kept.Token.AccessToken != refused {
		g.replaces = ""
		return nil
	}
	if kept.Token.RefreshToken == "" {
		return g.again(errors.New("the token has ended and cannot be renewed"))
	}
	t, err := g.refresh(ctx, kept)
	if err != nil {
		told := withoutBody(err)
		if answer, ok := errors.AsType[*oauth2.RetrieveError](err); ok && slices.Contains(forGood, answer.ErrorCode) {
			return g.again(told)
		}
		return told
	}
	kept.Token = t
	g.now, g.replaces = kept, stored // even if it cannot be stored: the previous refresh token is spent
	// The request may have ended meanwhile. The token must be stored nevertheless, or another replica would use the refresh token again.
	g.save(context.WithoutCancel(ctx))
	return nil
}

// save stores the current grant in place of the one that it replaces. If that fails, Token tries again. The caller must hold mu.
func (g *granted) save(ctx context.Context) {
	if g.Grants.PutGrant(ctx, g.server, g.replaces, g.now) == nil {
		g.replaces = ""
	}
}

// forGood are the errors after which only a person can help (RFC 6749, section 5.2).
var forGood = []string{"invalid_grant", "invalid_client", "unauthorized_client", "invalid_scope"}

// refresh requests a new token. When x/oauth2 itself refreshes a token, it omits the resource (RFC 8707), which MCP requires in every request.
func (g *granted) refresh(ctx context.Context, kept Grant) (*oauth2.Token, error) {
	cfg := oauth2.Config{ClientID: kept.ClientID, ClientSecret: kept.Secret, Endpoint: oauth2.Endpoint{TokenURL: kept.TokenURL, AuthStyle: kept.AuthStyle}}
	// The token outlives the request that needs it first, so this does not end with it. The client has its own timeout.
	ctx = context.WithValue(context.WithoutCancel(ctx), oauth2.HTTPClient, g.client)
	t, err := cfg.Exchange(ctx, "", oauth2.SetAuthURLParam("grant_type", "refresh_token"),
		oauth2.SetAuthURLParam("refresh_token", kept.Token.RefreshToken), oauth2.SetAuthURLParam("resource", kept.Server))
	if err == nil && t.RefreshToken == "" {
		t.RefreshToken = kept.Token.RefreshToken
	}
	return t, err //nolint:wrapcheck // withoutBody wraps it
}
