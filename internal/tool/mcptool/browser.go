package mcptool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"
)

// Browser is a sign-in by the authorization code grant with PKCE (MCP 2025-11-25, "Authorization"): an administrator signs in once in a
// browser, and Parley renews the token from then on.
type Browser struct {
	Issuer   string // the only authorization server that may be asked; "" means the one that the server names
	ClientID string // a registered client; "" means that Parley registers itself (RFC 7591)
	Secret   string // of a confidential client
	Scopes   []string
	Grants   Grants
}

// Grants keeps what sign-ins have granted, by the names of servers.
type Grants interface {
	// Grant returns the last grant for a server, or ErrNotSignedIn.
	Grant(ctx context.Context, server string) (Grant, error)
	PutGrant(ctx context.Context, server string, g Grant) error
}

// ErrNotSignedIn means that nobody has signed in at a server yet.
var ErrNotSignedIn = errors.New("nobody has signed in there yet")

// Grant is a token, and the client that may renew it.
type Grant struct {
	TokenURL  string           `json:"token_url"`
	ClientID  string           `json:"client_id"`
	Secret    string           `json:"client_secret,omitempty"`
	AuthStyle oauth2.AuthStyle `json:"auth_style,omitempty"`
	Token     *oauth2.Token    `json:"token"`
}

// SignIn signs in at a server that has a Browser, and keeps the grant. redirect is the loopback address to which the browser comes
// back; fetch has a person open a page in a browser, and returns what comes back. It returns the names of the server's tools.
func SignIn(ctx context.Context, server Server, redirect string, fetch auth.AuthorizationCodeFetcher) (tools []string, err error) {
	b := server.Browser
	cfg := &auth.AuthorizationCodeHandlerConfig{
		RedirectURL: redirect, AuthorizationCodeFetcher: fetch, RequestRefreshToken: true, AcceptUnadvertisedIss: true,
		Client: signInClient(), DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
			ClientName: "Parley", RedirectURIs: []string{redirect}, GrantTypes: []string{"authorization_code", "refresh_token"},
			ResponseTypes: []string{"code"}, TokenEndpointAuthMethod: "none",
		}},
	}
	if b.ClientID != "" {
		cfg.DynamicClientRegistrationConfig = nil
		cfg.PreregisteredClient = &oauthex.ClientCredentials{ClientID: b.ClientID}
		if b.Secret != "" {
			cfg.PreregisteredClient.ClientSecretAuth = &oauthex.ClientSecretAuth{ClientSecret: b.Secret}
		}
	}
	if b.Scopes != nil {
		cfg.ScopeFilter = func([]string) []string { return b.Scopes }
	}
	cfg.NewTokenSource = func(ctx context.Context, c *oauth2.Config, t *oauth2.Token) (oauth2.TokenSource, error) {
		if err := checkEndpoint(c.Endpoint.TokenURL); err != nil {
			return nil, fmt.Errorf("token endpoint: %w", err)
		}
		g := Grant{TokenURL: c.Endpoint.TokenURL, ClientID: c.ClientID, Secret: c.ClientSecret, AuthStyle: c.Endpoint.AuthStyle, Token: t}
		return oauth2.StaticTokenSource(t), b.Grants.PutGrant(ctx, server.Name, g)
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
	if _, err := b.Grants.Grant(ctx, server.Name); err != nil {
		return tools, errors.New("it answered without a sign-in: leave out oauth")
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
	}
	return p.OAuthHandler.Authorize(ctx, req, resp) //nolint:wrapcheck // it says what failed
}

// granted signs in at a server with the grant of an administrator. It implements auth.OAuthHandler of the SDK.
type granted struct {
	*Browser
	server string
	client *http.Client

	mu  sync.Mutex
	now Grant // without a Token before the first use
}

func (g *granted) again(err error) error {
	return fmt.Errorf("%w: parley mcp sign-in %s", err, g.server)
}

// TokenSource implements auth.OAuthHandler.
func (g *granted) TokenSource(ctx context.Context) (oauth2.TokenSource, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.now.Token == nil {
		kept, err := g.Grants.Grant(ctx, g.server)
		if errors.Is(err, ErrNotSignedIn) {
			return nil, g.again(err)
		}
		if err != nil {
			return nil, err
		}
		g.now = kept
	}
	return g, nil
}

// Token implements oauth2.TokenSource. It renews the token shortly before it ends.
func (g *granted) Token() (*oauth2.Token, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if t := g.now.Token; t.Expiry.IsZero() || t.RefreshToken == "" || time.Until(t.Expiry) > earlyRenewal {
		return t, nil
	}
	if err := g.renew(context.Background(), g.now.Token.AccessToken); err != nil {
		return nil, err
	}
	return g.now.Token, nil
}

// Authorize implements auth.OAuthHandler: it renews a token that was refused, if the server did not ask for other scopes.
func (g *granted) Authorize(ctx context.Context, req *http.Request, resp *http.Response) error {
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxMetadata))
	_ = resp.Body.Close()
	if resp.StatusCode == http.StatusForbidden {
		challenges, _ := oauthex.ParseWWWAuthenticate(resp.Header.Values("WWW-Authenticate"))
		if scope := challengeOf(challenges)["scope"]; scope != "" {
			return g.again(fmt.Errorf("the server wants the scopes %q for this, which may be named in oauth", scope))
		}
		return errors.New("the server refuses what its token asks for")
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.renew(ctx, strings.TrimPrefix(req.Header.Get("Authorization"), "Bearer "))
}

// renew replaces a token, unless that was done meanwhile: here, or by another replica or a new sign-in, which the grants show. The caller
// holds mu.
func (g *granted) renew(ctx context.Context, refused string) error {
	if g.now.Token.AccessToken != refused {
		return nil
	}
	kept, err := g.Grants.Grant(ctx, g.server)
	if err != nil {
		return err
	}
	if g.now = kept; kept.Token.AccessToken != refused {
		return nil
	}
	if kept.Token.RefreshToken == "" {
		return g.again(errors.New("the token has ended and cannot be renewed"))
	}
	cfg := oauth2.Config{ClientID: kept.ClientID, ClientSecret: kept.Secret, Endpoint: oauth2.Endpoint{TokenURL: kept.TokenURL, AuthStyle: kept.AuthStyle}}
	// The token outlives the request that needs it first. The client's own timeout ends this.
	ctx = context.WithValue(context.WithoutCancel(ctx), oauth2.HTTPClient, g.client)
	t, err := cfg.TokenSource(ctx, &oauth2.Token{RefreshToken: kept.Token.RefreshToken}).Token()
	if err != nil {
		if newer, readErr := g.Grants.Grant(ctx, g.server); readErr == nil && newer.Token.AccessToken != refused {
			g.now = newer // another replica has used up the refresh token
			return nil
		}
		return g.again(withoutBody(err))
	}
	kept.Token = t
	if err := g.Grants.PutGrant(ctx, g.server, kept); err != nil {
		return fmt.Errorf("keep the renewed token: %w", err)
	}
	g.now = kept
	return nil
}
