package mcptool

import (
	"cmp"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
)

// OAuth is the client as which Parley itself signs in at a server, with the client credentials grant (RFC 6749 section 4.4).
// The protected resource and its scopes are discovered (RFC 9728), as is the token endpoint of the authorization server
// (RFC 8414, or OpenID Connect). The authorization server itself is configured, because a server could otherwise have the
// secret sent to any address.
type OAuth struct {
	Issuer   string
	ClientID string
	Secret   string        // either this or Key
	Key      crypto.Signer // signs assertions (private_key_jwt, RFC 7523)
	Scopes   []string      // nil means those that the server asks for
}

// Check returns an error if the client cannot sign in with these settings.
func (o OAuth) Check() error {
	switch {
	case o.ClientID == "":
		return errors.New("client_id is empty")
	case (o.Secret == "") == (o.Key == nil):
		return errors.New("it needs either a secret or a private key")
	}
	return checkEndpoint(o.Issuer)
}

// ParseKey returns the RSA, ECDSA (P-256) or Ed25519 key in a PEM block, whose format is PKCS #8, PKCS #1 or SEC 1.
func ParseKey(text []byte) (crypto.Signer, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New("it is not a PEM block")
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		key, err = x509.ParsePKCS1PrivateKey(block.Bytes)
	}
	if err != nil {
		key, err = x509.ParseECPrivateKey(block.Bytes)
	}
	if err != nil {
		return nil, errors.New("it holds no private key without a password")
	}
	if signer, ok := key.(crypto.Signer); ok && algorithmOf(signer) != "" {
		return signer, nil
	}
	return nil, errors.New("its key is neither RSA, ECDSA with P-256 nor Ed25519")
}

func algorithmOf(key crypto.Signer) jose.SignatureAlgorithm {
	switch k := key.(type) {
	case *rsa.PrivateKey:
		return jose.RS256
	case *ecdsa.PrivateKey:
		if k.Curve == elliptic.P256() {
			return jose.ES256
		}
	case ed25519.PrivateKey:
		return jose.EdDSA
	}
	return ""
}

// Limits of signing in.
const (
	maxMetadata   = 1 << 20 // bytes of a response
	signInTimeout = 10 * time.Second
	earlyRenewal  = 30 * time.Second // before a token expires
	assertionTime = time.Minute
)

// signIn signs in at one server. It implements auth.OAuthHandler of the SDK, which asks for a token before each request and for
// a new sign-in after 401 and 403.
type signIn struct {
	OAuth
	server string // its URL
	client *http.Client

	mu      sync.Mutex
	tokens  oauth2.TokenSource // nil before the first sign-in
	current string             // the access token that was returned last
	scopes  []string           // that have been requested, sorted
}

func newSignIn(o OAuth, server string) *signIn {
	return &signIn{OAuth: o, server: server, client: signInClient()}
}

func signInClient() *http.Client {
	return &http.Client{
		Transport:     safely{},
		Timeout:       signInTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// safely refuses requests of a sign-in to addresses that are not safe; see checkEndpoint.
type safely struct{}

func (safely) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := checkEndpoint(r.URL.String()); err != nil {
		return nil, err
	}
	return http.DefaultTransport.RoundTrip(r) //nolint:wrapcheck // it is a round tripper itself
}

// TokenSource implements auth.OAuthHandler.
func (s *signIn) TokenSource(context.Context) (oauth2.TokenSource, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tokens == nil {
		return nil, nil //nolint:nilnil // the interface: no header until the server has asked for one
	}
	return s, nil
}

// Token implements oauth2.TokenSource. It gets a new token shortly before the last one expires.
func (s *signIn) Token() (*oauth2.Token, error) {
	s.mu.Lock()
	tokens := s.tokens
	s.mu.Unlock()
	t, err := tokens.Token()
	if err != nil {
		return nil, withoutBody(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current = t.AccessToken
	return t, nil
}

// Authorize implements auth.OAuthHandler. Of several requests that were refused with the same token, only the first one signs in.
func (s *signIn) Authorize(ctx context.Context, req *http.Request, resp *http.Response) error {
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxMetadata))
	_ = resp.Body.Close()
	challenges, err := oauthex.ParseWWWAuthenticate(resp.Header.Values("WWW-Authenticate"))
	if err != nil {
		challenges = nil // the challenge cannot be read, so use the well-known addresses
	}
	bearer := challengeOf(challenges)
	if resp.StatusCode == http.StatusForbidden && bearer["error"] != "insufficient_scope" {
		return errors.New("the server denies access with this token")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if sent := strings.TrimPrefix(req.Header.Get("Authorization"), "Bearer "); s.tokens != nil && s.current != "" && sent != s.current {
		return nil
	}
	resource := s.resource(ctx, bearer["resource_metadata"])
	if err := s.takes(resource); err != nil {
		return err
	}
	endpoint, err := s.endpoint(ctx)
	if err != nil {
		return err
	}
	asked := s.Scopes
	if asked == nil {
		asked = strings.Fields(bearer["scope"])
	}
	if s.Scopes == nil && len(asked) == 0 {
		asked = resource.Scopes
	}
	s.scopes = slices.Compact(slices.Sorted(slices.Values(slices.Concat(s.scopes, asked)))) // a step-up keeps the earlier scopes
	s.tokens = oauth2.ReuseTokenSourceWithExpiry(nil, &grant{s.OAuth, endpoint, resource.Resource, s.scopes, s.client}, earlyRenewal)
	t, err := s.tokens.Token()
	if err != nil {
		s.tokens = nil
		return withoutBody(err)
	}
	s.current = t.AccessToken
	return nil
}

// takes returns an error if a resource does not accept tokens of the configured issuer.
func (s *signIn) takes(resource protected) error {
	if len(resource.Servers) > 0 && !slices.ContainsFunc(resource.Servers, func(name string) bool { return sameURL(name, s.Issuer) }) {
		return fmt.Errorf("the server accepts tokens of %s, not of the configured issuer", strings.Join(resource.Servers, ", "))
	}
	return nil
}

// challengeOf returns the parameters of the challenge for bearer tokens.
func challengeOf(all []oauthex.Challenge) map[string]string {
	for _, c := range all {
		if strings.EqualFold(c.Scheme, "Bearer") {
			return c.Params
		}
	}
	return nil
}

// withoutBody replaces an error that contains the response of an authorization server, which must not be logged.
func withoutBody(err error) error {
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		status := ""
		if refused.Response != nil {
			status = refused.Response.Status
		}
		return fmt.Errorf("the authorization server issued no token: %s", cmp.Or(refused.ErrorCode, status))
	}
	return fmt.Errorf("get a token: %w", err)
}

// protected is the metadata of a protected resource (RFC 9728).
type protected struct {
	Resource string   `json:"resource"`
	Servers  []string `json:"authorization_servers"`
	Scopes   []string `json:"scopes_supported"`
}

// resource returns the metadata of the server, or only its URL if it has no metadata. named is the address of the metadata in a
// challenge; it is used only if it is on the server itself.
func (s *signIn) resource(ctx context.Context, named string) protected {
	u, err := url.Parse(s.server)
	if err != nil {
		return protected{Resource: s.server}
	}
	const wellKnown = "/.well-known/oauth-protected-resource"
	origin := u.Scheme + "://" + u.Host
	places := []string{origin + wellKnown + strings.TrimSuffix(u.EscapedPath(), "/"), origin + wellKnown}
	if at, err := url.Parse(named); err == nil && at.Scheme == u.Scheme && at.Host == u.Host {
		places = slices.Insert(places, 0, named)
	}
	for _, at := range places {
		var found protected
		// RFC 9728 section 3.3: metadata of another resource must not be used.
		if s.get(ctx, at, &found) == nil && (sameURL(found.Resource, s.server) || sameURL(found.Resource, origin)) {
			return found
		}
	}
	return protected{Resource: s.server}
}

// endpoint is the metadata of an authorization server that is needed to get tokens.
type endpoint struct {
	Issuer  string   `json:"issuer"`
	Token   string   `json:"token_endpoint"`
	Methods []string `json:"token_endpoint_auth_methods_supported"`
}

// endpoint reads the metadata of the issuer, at the addresses of RFC 8414 section 3.1 and of OpenID Connect Discovery.
func (s *signIn) endpoint(ctx context.Context) (endpoint, error) {
	u, err := url.Parse(s.Issuer)
	if err != nil {
		return endpoint{}, fmt.Errorf("read the issuer: %w", err)
	}
	origin, path := u.Scheme+"://"+u.Host, strings.TrimSuffix(u.EscapedPath(), "/")
	for _, at := range slices.Compact([]string{origin + "/.well-known/oauth-authorization-server" + path,
		origin + "/.well-known/openid-configuration" + path, origin + path + "/.well-known/openid-configuration"}) {
		var found endpoint
		if s.get(ctx, at, &found) != nil {
			continue
		}
		if !sameURL(found.Issuer, s.Issuer) {
			return endpoint{}, fmt.Errorf("%s is the metadata of another issuer", at)
		}
		if err := checkEndpoint(found.Token); err != nil {
			return endpoint{}, fmt.Errorf("token endpoint: %w", err)
		}
		return found, nil
	}
	return endpoint{}, fmt.Errorf("%s has no metadata of an authorization server", s.Issuer)
}

// get reads a JSON document.
func (s *signIn) get(ctx context.Context, address string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return fmt.Errorf("read metadata: %w", err)
	}
	req.Header.Set("Accept", "application/json")
	resp, err := s.client.Do(req)
	if err != nil {
		return fmt.Errorf("read metadata: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("read metadata: %s answers %s", address, resp.Status)
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxMetadata)).Decode(into); err != nil {
		return fmt.Errorf("read metadata of %s: %w", address, err)
	}
	return nil
}

// sameURL reports whether two URLs are the same identifier. It ignores a final slash, because programs disagree about it.
func sameURL(a, b string) bool {
	return a != "" && strings.TrimSuffix(a, "/") == strings.TrimSuffix(b, "/")
}

// checkEndpoint refuses addresses to which a secret must not be sent. It requires https, or http on this machine.
func checkEndpoint(address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil {
		return fmt.Errorf("%q is not an https URL", address)
	}
	ip := net.ParseIP(u.Hostname())
	if u.Scheme == "https" || u.Scheme == "http" && (u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()) {
		return nil
	}
	return fmt.Errorf("%q is not an https URL, which it must be unless it is on this machine", address)
}

// grant requests tokens. Each request signs its own assertion.
type grant struct {
	OAuth
	at       endpoint
	resource string // RFC 8707
	scopes   []string
	client   *http.Client
}

// Token implements oauth2.TokenSource.
func (g *grant) Token() (*oauth2.Token, error) {
	cfg := clientcredentials.Config{ClientID: g.ClientID, ClientSecret: g.Secret, TokenURL: g.at.Token, Scopes: g.scopes,
		EndpointParams: url.Values{"resource": {g.resource}}, AuthStyle: oauth2.AuthStyleInHeader}
	switch {
	case g.Key != nil:
		assertion, err := g.assertion()
		if err != nil {
			return nil, err
		}
		cfg.AuthStyle = oauth2.AuthStyleInParams
		cfg.EndpointParams.Set("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
		cfg.EndpointParams.Set("client_assertion", assertion)
	case len(g.at.Methods) > 0 && !slices.Contains(g.at.Methods, "client_secret_basic"): // the default according to RFC 8414
		cfg.AuthStyle = oauth2.AuthStyleInParams
	}
	// The token outlives the request that needs it first, so this does not end with it. The client has its own timeout.
	return cfg.Token(context.WithValue(context.Background(), oauth2.HTTPClient, g.client)) //nolint:wrapcheck // withoutBody wraps it
}

// assertion returns a signed assertion of the client's identity (RFC 7523 section 3).
func (g *grant) assertion() (string, error) {
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithmOf(g.Key), Key: jose.JSONWebKey{Key: g.Key}}, (&jose.SignerOptions{}).WithType("JWT"))
	if err != nil {
		return "", fmt.Errorf("sign an assertion: %w", err)
	}
	now := time.Now()
	text, err := jwt.Signed(signer).Claims(jwt.Claims{Issuer: g.ClientID, Subject: g.ClientID, Audience: jwt.Audience{g.at.Issuer},
		IssuedAt: jwt.NewNumericDate(now), Expiry: jwt.NewNumericDate(now.Add(assertionTime)), ID: rand.Text()}).Serialize()
	if err != nil {
		return "", fmt.Errorf("sign an assertion: %w", err)
	}
	return text, nil
}
