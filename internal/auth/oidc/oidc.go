// Package oidc verifies the tokens that OpenID Connect providers sign: ID tokens and JWT access tokens
// (RFC 9068). A provider is identified by the URL of its issuer; everything else is read from its discovery document.
//
//	v, err := oidc.New([]oidc.Provider{{Issuer: "https://login.example.com", Audience: []string{"parley"}}}, http.DefaultTransport, time.Now)
//	who, err := v.Verify(ctx, token)
package oidc

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"parley/internal/access"
	"parley/internal/lazyregexp"
	"parley/internal/lru"
)

// Provider is an identity provider whose tokens are accepted. Issuer is required, and so is Audience or ClientID.
type Provider struct {
	Name           string            // used in URLs; required with ClientID
	Title          string            // for people; "" means Name
	ClientID       string            // for signing in on the web page; "" disables that
	ClientSecret   string            // "" for a public client
	Scopes         []string          // requested by the page; nil means openid, profile and email
	Issuer         string            // URL, exactly as in the claim iss
	Audience       []string          // accepted values of the claim aud
	Clients        []string          // applications whose tokens are accepted (azp, client_id or appid); nil means all
	Subject        string            // claim that names the user; "" means sub
	Email          string            // claim with a name for people to read; "" means email
	Groups         []string          // claims that list groups; nil means groups
	Prefix         string            // put before subjects and groups, so that those of two providers cannot be equal
	Require        map[string]string // the value that each of these claims must have or list
	Editors        []string          // groups, as the token names them, whose members are editors
	Administrators []string          // groups whose members are administrators; everybody else is a reader
}

// Error refuses a token. Only Msg is for clients.
type Error struct {
	Msg       string
	Forbidden bool  // the token is genuine but not sufficient
	Err       error // for logs; may be nil
}

func (e *Error) Error() string {
	if e.Err == nil {
		return e.Msg
	}
	return e.Msg + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Skew is the maximum difference between the clocks of the provider and of this machine.
const Skew = time.Minute

// maxToken is the maximum length of a token, in bytes.
const maxToken = 32 << 10

// algorithms are the accepted ones, all asymmetric. Tokens signed with a shared secret are never accepted.
var algorithms = []jose.SignatureAlgorithm{
	jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512, jose.ES256, jose.ES384, jose.ES512, jose.EdDSA,
}

// Verifier verifies tokens. Use New to make one. It is safe for concurrent use.
type Verifier struct {
	providers map[string]*provider // by issuer
	now       func() time.Time
	recent    *lru.Cache[[sha256.Size]byte, verified] // by the SHA-256 of the token
}

// verified is the cached result for a valid token. BenchmarkVerify measures what the cache saves.
type verified struct {
	who   access.Principal
	until time.Time
}

// A valid token is not verified again for rememberedFor.
const (
	rememberedFor = time.Minute
	remembered    = 4096 // tokens
)

type provider struct {
	Provider
	others []string // reserved prefixes, and those of other providers
	keys   *keySet
}

var providerName = lazyregexp.New(`^[a-z0-9][a-z0-9-]{0,39}$`)

// New returns a verifier. It does not connect to the providers yet.
func New(providers []Provider, transport http.RoundTripper, now func() time.Time) (*Verifier, error) {
	v := &Verifier{providers: map[string]*provider{}, now: now, recent: lru.New[[sha256.Size]byte, verified](remembered, nil)}
	for i, p := range providers {
		if err := p.check(); err != nil {
			return nil, err
		}
		if v.providers[p.Issuer] != nil {
			return nil, fmt.Errorf("the issuer %s is named twice", p.Issuer)
		}
		if p.Subject == "" {
			p.Subject = "sub"
		}
		if p.Email == "" {
			p.Email = "email"
		}
		if p.Groups == nil {
			p.Groups = []string{"groups"}
		}
		others := slices.Clone(access.Reserved)
		for j, other := range providers {
			if i != j && other.Prefix == p.Prefix {
				return nil, fmt.Errorf("%s and %s need different prefixes, so that a user of one cannot be a user of the other", p.Issuer, other.Issuer)
			}
			if i != j && other.Prefix != "" && !strings.HasPrefix(p.Prefix, other.Prefix) {
				others = append(others, other.Prefix)
			}
		}
		v.providers[p.Issuer] = &provider{Provider: p, others: others, keys: newKeySet(p.Issuer, transport, now)}
	}
	return v, nil
}

func (p *Provider) check() error {
	if err := checkAddress(p.Issuer, p.Issuer); err != nil {
		return fmt.Errorf("issuer: %w", err)
	}
	if len(p.Audience) == 0 && p.ClientID == "" || slices.Contains(p.Audience, "") {
		return fmt.Errorf("%s: audience is empty: set it to the value of aud in the provider's tokens for Parley", p.Issuer)
	}
	if p.ClientID != "" && !providerName.MatchString(p.Name) {
		return fmt.Errorf("%q is not a valid provider name: use lowercase letters, digits and dashes", p.Name)
	}
	if p.ClientID == "" && (p.ClientSecret != "" || p.Scopes != nil) {
		return fmt.Errorf("%s: a secret and scopes are for signing in on the web page, which needs a client_id", p.Issuer)
	}
	for _, reserved := range access.Reserved {
		if strings.HasPrefix(reserved, p.Prefix) && p.Prefix != "" || strings.HasPrefix(p.Prefix, reserved) {
			return fmt.Errorf("%s: the prefix %q is already used for keys, for auth.proxies or by Parley itself", p.Issuer, p.Prefix)
		}
	}
	return nil
}

func refuse(msg string, err error) error { return &Error{Msg: msg, Err: err} }

// errInvalid refuses a token without revealing to a forger what is wrong; that is only for logs.
func errInvalid(format string, args ...any) error {
	return refuse("The token is not valid.", fmt.Errorf(format, args...))
}

// Verify returns the caller of a token. An *Error refuses the token; any other error means that the provider's
// keys could not be read.
func (v *Verifier) Verify(ctx context.Context, token string) (access.Principal, error) {
	if len(token) > maxToken {
		return access.Principal{}, errInvalid("it has %d bytes", len(token))
	}
	now, sum := v.now(), sha256.Sum256([]byte(token))
	if known, ok := v.recent.Get(sum); ok && now.Before(known.until) {
		return known.who, nil
	}
	who, expires, err := v.verify(ctx, token, now)
	if err != nil {
		return access.Principal{}, err
	}
	until := now.Add(rememberedFor)
	if end := expires.Add(Skew); end.Before(until) {
		until = end
	}
	v.recent.Put(sum, verified{who, until})
	return who, nil
}

// verify returns the caller of a token, and when the token expires.
func (v *Verifier) verify(ctx context.Context, token string, now time.Time) (who access.Principal, expires time.Time, err error) {
	p, claims, all, err := v.open(ctx, token)
	if err != nil {
		return who, expires, err
	}
	if err := p.validate(claims, all, p.Audience, now); err != nil {
		return who, expires, err
	}
	if err := p.checkClient(all); err != nil {
		return who, expires, err
	}
	who, err = p.principal(all)
	return who, claims.Expiry.Time(), err
}

// open checks the signature of a token, and returns its provider and its claims, which it does not validate.
func (v *Verifier) open(ctx context.Context, token string) (p *provider, claims jwt.Claims, all claimSet, err error) {
	signed, err := jwt.ParseSigned(token, algorithms)
	if err != nil {
		return nil, claims, nil, errInvalid("parse: %w", err)
	}
	kid, alg, err := headerOf(signed)
	if err != nil {
		return nil, claims, nil, err
	}
	var unverified jwt.Claims
	if err := signed.UnsafeClaimsWithoutVerification(&unverified); err != nil {
		return nil, claims, nil, errInvalid("read the issuer: %w", err)
	}
	if p = v.providers[unverified.Issuer]; p == nil {
		return nil, claims, nil, errInvalid("its issuer is not a provider of this server")
	}
	key, err := p.keys.find(ctx, kid, alg)
	if err != nil {
		return nil, claims, nil, err
	}
	if err := signed.Claims(key, &claims, &all); err != nil {
		return nil, claims, nil, errInvalid("verify: %w", err)
	}
	return p, claims, all, nil
}

// headerOf returns the key id and the algorithm of a token.
func headerOf(t *jwt.JSONWebToken) (kid string, alg jose.SignatureAlgorithm, err error) {
	if len(t.Headers) != 1 {
		return "", "", errInvalid("it has %d signatures", len(t.Headers))
	}
	h := t.Headers[0]
	if h.KeyID == "" {
		return "", "", errInvalid("it names no key")
	}
	if typ, _ := h.ExtraHeaders[jose.HeaderType].(string); typ != "" {
		typ = strings.TrimPrefix(strings.ToLower(typ), "application/")
		if typ != "jwt" && typ != "at+jwt" {
			return "", "", errInvalid("its type is neither JWT nor at+jwt") // a logout token, for example
		}
	}
	return h.KeyID, jose.SignatureAlgorithm(h.Algorithm), nil
}

// claimSet holds the claims of a token, as decoded from JSON.
type claimSet map[string]any

// validate checks the standard claims of a token whose signature has been verified. The token must be for one of
// the audience.
func (p *provider) validate(c jwt.Claims, all claimSet, audience []string, now time.Time) error {
	if c.Expiry == nil {
		return errInvalid("it has no exp")
	}
	if len(audience) == 0 {
		return errInvalid("this server accepts no tokens of its issuer")
	}
	err := c.ValidateWithLeeway(jwt.Expected{Issuer: p.Issuer, AnyAudience: audience, Time: now}, Skew)
	if errors.Is(err, jwt.ErrExpired) {
		return refuse("The token has expired. Sign in again.", nil)
	}
	if err != nil {
		return errInvalid("validate: %w", err)
	}
	for _, claim := range []string{"cnf", "events"} { // cnf: bound to the client's key (RFC 9449, RFC 8705); events: a logout token, for example
		if _, has := all[claim]; has {
			return errInvalid("it has the claim %s, so it is not a bearer token", claim)
		}
	}
	return nil
}

// checkClient checks which application a token was issued to.
func (p *provider) checkClient(all claimSet) error {
	if p.Clients != nil && !slices.ContainsFunc([]string{"azp", "client_id", "appid"}, func(claim string) bool {
		client, _ := all[claim].(string)
		return slices.Contains(p.Clients, client)
	}) {
		return errInvalid("it was issued to another application")
	}
	return nil
}

// principal returns the caller that the claims describe.
func (p *provider) principal(all claimSet) (who access.Principal, err error) {
	for claim, want := range p.Require {
		if !slices.Contains(textsOf(all[claim]), want) {
			return who, &Error{Msg: "Your account is not allowed to use this server.", Forbidden: true, Err: fmt.Errorf("the claim %s is not as required", claim)}
		}
	}
	subject, _ := all[p.Subject].(string)
	if subject == "" || len(subject) > 256 || strings.ContainsFunc(subject, unicode.IsControl) {
		return who, errInvalid("the claim %s does not name a user", p.Subject)
	}
	if p.Subject == "email" && (all["email_verified"] == false || all["email_verified"] == "false") {
		return who, errInvalid("its e-mail address is not verified")
	}
	who.Subject = p.Prefix + subject
	if p.isAnothers(who.Subject) {
		return who, errInvalid("its subject begins with the prefix of another provider")
	}
	who.Name, _ = all[p.Email].(string)
	who.Name = plainName(who.Name)
	who.Role = access.Reader
	for _, claim := range p.Groups {
		if tooMany(all, claim) {
			return who, &Error{Forbidden: true, Msg: "You are in more groups than your token can list, so your rights are not known. " +
				"Let the provider send only the groups that are assigned to the application, or its roles."}
		}
		for _, group := range textsOf(all[claim]) {
			switch {
			case slices.Contains(p.Administrators, group):
				who.Role = access.Administrator
			case slices.Contains(p.Editors, group) && who.Role == access.Reader:
				who.Role = access.Editor
			}
			if group = p.Prefix + group; !p.isAnothers(group) {
				who.Groups = append(who.Groups, group)
			}
		}
	}
	return who, nil
}

// plainName removes control characters and invalid UTF-8 from a name, and cuts the name if it is too long.
func plainName(name string) string {
	const most = 200 // characters
	name = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == utf8.RuneError {
			return -1
		}
		return r
	}, name)
	if runes := []rune(name); len(runes) > most {
		return string(runes[:most])
	}
	return name
}

// isAnothers reports whether a name begins with a reserved prefix or with that of another provider.
func (p *provider) isAnothers(name string) bool {
	return slices.ContainsFunc(p.others, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// tooMany reports whether the groups of a claim were omitted because there are too many. Entra ID then sends
// _claim_names, which says where to read them (OpenID Connect Core section 5.6.2), or hasgroups in the implicit flow.
func tooMany(all claimSet, claim string) bool {
	elsewhere, _ := all["_claim_names"].(map[string]any)
	_, distributed := elsewhere[claim]
	return distributed || claim == "groups" && (all["hasgroups"] == true || all["hasgroups"] == "true")
}

// textsOf returns the strings in a claim that is a string or a list of strings.
func textsOf(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		var all []string
		for _, one := range v {
			if s, ok := one.(string); ok {
				all = append(all, s)
			}
		}
		return all
	}
	return nil
}
