package oidc

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"golang.org/x/oauth2"

	"parley/internal/access"
)

// Way is a provider with which people can sign in on the web page.
type Way struct {
	Name  string // used in URLs
	Title string // for people
}

// Pending is what the browser keeps during a sign-in, until the provider sends the browser back.
type Pending struct {
	State    string `json:"state"`    // returned by the provider, so that only an answer to this attempt is accepted
	Nonce    string `json:"nonce"`    // returned in the ID token
	Verifier string `json:"verifier"` // of PKCE (RFC 7636)
}

// Identity is a person who has signed in with a provider.
type Identity struct {
	Who    access.Principal
	Issuer string
	Claims []byte // for Verifier.Recall: a JSON object
	Token  string // the ID token
}

// ErrNoProvider means that there is no provider with that name at which people can sign in.
var ErrNoProvider = errors.New("no such provider")

// Ways returns the providers with which people can sign in on the web page, sorted by name.
func (v *Verifier) Ways() []Way {
	var all []Way
	for _, p := range v.providers {
		if p.ClientID != "" {
			all = append(all, Way{p.Name, cmp.Or(p.Title, p.Name)})
		}
	}
	slices.SortFunc(all, func(a, b Way) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

func (v *Verifier) named(name string) (*provider, error) {
	for _, p := range v.providers {
		if p.ClientID != "" && p.Name == name {
			return p, nil
		}
	}
	return nil, ErrNoProvider
}

// client returns the OAuth client for the provider, and the provider's discovery document. It checks the addresses
// in that document.
func (p *provider) client(ctx context.Context, redirect string) (*oauth2.Config, discovery, error) {
	said, err := p.keys.discover(ctx)
	if err != nil {
		return nil, said, err
	}
	for name, address := range map[string]string{"authorization_endpoint": said.Authorize, "token_endpoint": said.Token} {
		if err := checkAddress(address, p.Issuer); err != nil {
			return nil, said, fmt.Errorf("%s: %w", name, err)
		}
	}
	style := oauth2.AuthStyleInHeader
	if said.Methods != nil && !slices.Contains(said.Methods, "client_secret_basic") || p.ClientSecret == "" {
		style = oauth2.AuthStyleInParams
	}
	scopes := p.Scopes
	if scopes == nil {
		scopes = []string{"openid", "profile", "email"}
	}
	return &oauth2.Config{ClientID: p.ClientID, ClientSecret: p.ClientSecret, RedirectURL: redirect, Scopes: scopes,
		Endpoint: oauth2.Endpoint{AuthURL: said.Authorize, TokenURL: said.Token, AuthStyle: style}}, said, nil
}

// Begin returns the address at which a person signs in with a provider, and the state that Finish needs afterwards.
// The provider sends the browser back to redirect.
func (v *Verifier) Begin(ctx context.Context, name, redirect string) (address string, pending Pending, err error) {
	p, err := v.named(name)
	if err != nil {
		return "", Pending{}, err
	}
	client, _, err := p.client(ctx, redirect)
	if err != nil {
		return "", Pending{}, err
	}
	pending = Pending{State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier()}
	return client.AuthCodeURL(pending.State, oauth2.SetAuthURLParam("nonce", pending.Nonce), oauth2.S256ChallengeOption(pending.Verifier)), pending, nil
}

// Messages of Finish for people whose sign-in it refuses.
const (
	msgStale    = "This sign-in has expired, or was begun in another window. Please sign in again."
	msgDenied   = "The sign-in was cancelled, or the identity provider refused it."
	msgProvider = "The identity provider's answer cannot be used. Please sign in again; if it happens again, tell the person who runs this server."
)

// Finish returns the person who has signed in. answer holds the query parameters with which the provider sent the browser
// back. An *Error refuses the person; any other error means that there is no such provider or that a request to it failed.
func (v *Verifier) Finish(ctx context.Context, name, redirect string, pending Pending, answer url.Values) (Identity, error) {
	p, err := v.named(name)
	if err != nil {
		return Identity{}, err
	}
	if pending.State == "" || pending.Nonce == "" || pending.Verifier == "" ||
		subtle.ConstantTimeCompare([]byte(answer.Get("state")), []byte(pending.State)) != 1 || len(answer["state"]) != 1 {
		return Identity{}, refuse(msgStale, errors.New("the state belongs to another browser"))
	}
	client, said, err := p.client(ctx, redirect)
	if err != nil {
		return Identity{}, err
	}
	if iss, named := answer["iss"]; named && (len(iss) != 1 || iss[0] != p.Issuer) || !named && said.NamesSelf {
		return Identity{}, refuse(msgProvider, errors.New("the answer comes from another provider"))
	}
	if failed := answer.Get("error"); failed != "" {
		return Identity{}, refuse(msgDenied, fmt.Errorf("the provider says %.60q: %.200q", failed, answer.Get("error_description")))
	}
	ctx, cancel := context.WithTimeout(context.WithValue(ctx, oauth2.HTTPClient, p.keys.client), fetchTimeout)
	defer cancel()
	tokens, err := client.Exchange(ctx, answer.Get("code"), oauth2.VerifierOption(pending.Verifier))
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok && refused.Response.StatusCode < http.StatusInternalServerError {
		// The text of the error can contain the provider's answer, so only the code is logged.
		return Identity{}, refuse(msgProvider, fmt.Errorf("the provider refuses the code: status %d, %.60q", refused.Response.StatusCode, refused.ErrorCode))
	}
	if err != nil {
		return Identity{}, fmt.Errorf("exchange the code: %w", err)
	}
	token, _ := tokens.Extra("id_token").(string)
	return p.identify(ctx, v, token, tokens.AccessToken, pending.Nonce, said)
}

// identify returns the person whom an ID token names. The token must contain the nonce of the attempt.
func (p *provider) identify(ctx context.Context, v *Verifier, token, accessToken, nonce string, said discovery) (Identity, error) {
	if len(token) > maxToken {
		return Identity{}, refuse(msgProvider, fmt.Errorf("the ID token has %d bytes", len(token)))
	}
	of, claims, all, err := v.open(ctx, token)
	if err == nil && of != p {
		err = errInvalid("it is of another provider")
	}
	if err == nil {
		err = p.validate(claims, all, []string{p.ClientID}, v.now())
	}
	if err == nil {
		err = p.checkAnswer(all, nonce)
	}
	if refused, ok := errors.AsType[*Error](err); ok && !refused.Forbidden {
		return Identity{}, refuse(msgProvider, cmp.Or(refused.Err, error(refused)))
	}
	if err != nil {
		return Identity{}, err
	}
	if err := p.complete(ctx, all, accessToken, said); err != nil {
		return Identity{}, err
	}
	who, err := p.principal(all)
	if err != nil {
		return Identity{}, err
	}
	kept, err := json.Marshal(p.needed(all))
	if err != nil {
		return Identity{}, fmt.Errorf("keep the claims: %w", err)
	}
	return Identity{Who: who, Issuer: p.Issuer, Claims: kept, Token: token}, nil
}

// checkAnswer checks that an ID token answers this attempt of this application.
func (p *provider) checkAnswer(all claimSet, nonce string) error {
	if got, _ := all["nonce"].(string); subtle.ConstantTimeCompare([]byte(got), []byte(nonce)) != 1 {
		return errInvalid("the nonce belongs to another browser")
	}
	if azp, named := all["azp"]; named && azp != p.ClientID {
		return errInvalid("it was issued to another application")
	}
	return nil
}

// claimNames returns the names of the claims that decide who somebody is and what they may do.
func (p *provider) claimNames() []string {
	names := append([]string{"sub", p.Subject, p.Email}, p.Groups...)
	for claim := range p.Require {
		names = append(names, claim)
	}
	return names
}

// needed returns the claims that principal reads.
func (p *provider) needed(all claimSet) claimSet {
	some := claimSet{}
	for _, name := range append(p.claimNames(), "email_verified", "hasgroups", "_claim_names") {
		if value, has := all[name]; has {
			some[name] = value
		}
	}
	return some
}

// complete adds the claims that an ID token lacks, because many providers return some only from their UserInfo
// endpoint (OpenID Connect Core section 5.4).
func (p *provider) complete(ctx context.Context, all claimSet, accessToken string, said discovery) error {
	lacks := slices.ContainsFunc(p.claimNames(), func(name string) bool { _, has := all[name]; return !has && !tooMany(all, name) })
	if !lacks || said.UserInfo == "" || accessToken == "" {
		return nil
	}
	if err := checkAddress(said.UserInfo, p.Issuer); err != nil {
		return fmt.Errorf("userinfo_endpoint: %w", err)
	}
	var more claimSet
	if err := p.keys.get(ctx, said.UserInfo, accessToken, &more); err != nil {
		return fmt.Errorf("ask for more claims: %w", err)
	}
	if sub, ok := more["sub"].(string); !ok || sub != all["sub"] {
		return refuse(msgProvider, errors.New("the UserInfo endpoint speaks of somebody else"))
	}
	for name, value := range p.needed(more) {
		if _, has := all[name]; !has {
			all[name] = value
		}
	}
	return nil
}

// Recall returns the caller whom the claims of an Identity describe according to the present configuration.
func (v *Verifier) Recall(issuer string, claims []byte) (access.Principal, error) {
	p := v.providers[issuer]
	if p == nil || p.ClientID == "" {
		return access.Principal{}, ErrNoProvider
	}
	var all claimSet
	if err := json.Unmarshal(claims, &all); err != nil {
		return access.Principal{}, fmt.Errorf("read claims: %w", err)
	}
	return p.principal(all)
}

// maxHint is the maximum length of an ID token in a URL, in bytes.
const maxHint = 4 << 10

// End returns the address at which a person signs out at the provider that issued an ID token, or "" if the provider
// has none or cannot be reached. The provider sends the browser to back afterwards (OpenID Connect RP-Initiated Logout).
func (v *Verifier) End(ctx context.Context, issuer, token, back string) string {
	p := v.providers[issuer]
	if p == nil {
		return ""
	}
	said, err := p.keys.discover(ctx)
	if err != nil {
		return ""
	}
	u, err := url.Parse(said.End)
	if err != nil || checkAddress(said.End, p.Issuer) != nil {
		return ""
	}
	q := u.Query()
	q.Set("client_id", p.ClientID)
	q.Set("post_logout_redirect_uri", back)
	if token != "" && len(token) <= maxHint {
		q.Set("id_token_hint", token)
	}
	u.RawQuery = q.Encode()
	return u.String()
}
