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

// Way is a provider at which people can sign in on the web page.
type Way struct {
	Name  string // in addresses
	Title string // for people
}

// Pending is the state that a browser must keep during a sign-in until the provider sends it back.
type Pending struct {
	State    string `json:"state"`    // returned by the provider, so that only an answer to this attempt counts
	Nonce    string `json:"nonce"`    // returned in the ID token
	Verifier string `json:"verifier"` // of PKCE (RFC 7636)
}

// Identity is a person who has signed in at a provider.
type Identity struct {
	Who    access.Principal
	Issuer string
	Claims []byte // for Verifier.Recall: a JSON object
	Token  string // the ID token
}

// ErrNoProvider says that nobody can sign in at a provider of that name.
var ErrNoProvider = errors.New("no such provider")

// Ways returns the providers at which people can sign in on the web page, in the order of their names.
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

// client returns what speaks with the provider. Its addresses come from the provider, and are checked.
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

// Begin returns the address at which somebody signs in at a provider, which sends them back to redirect, and what
// Finish needs to know then.
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

// Refusals of Finish, for people.
const (
	msgStale    = "This sign-in has expired, or was begun in another window. Please sign in again."
	msgDenied   = "The sign-in was cancelled, or the identity provider refused it."
	msgProvider = "The identity provider's answer cannot be used. Please sign in again; if it happens again, tell the person who runs this server."
)

// Finish returns the person who has signed in, from the answer that a provider gave to the browser. An *Error refuses them; any other
// error says that the provider could not be asked.
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
		// Its text can hold the answer of the provider, so the log gets the code only.
		return Identity{}, refuse(msgProvider, fmt.Errorf("the provider refuses the code: status %d, %.60q", refused.Response.StatusCode, refused.ErrorCode))
	}
	if err != nil {
		return Identity{}, fmt.Errorf("exchange the code: %w", err)
	}
	token, _ := tokens.Extra("id_token").(string)
	return p.identify(ctx, v, token, tokens.AccessToken, pending.Nonce, said)
}

// identify returns whom an ID token names, which must answer the attempt with a nonce.
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

// needed returns the claims that principal looks at.
func (p *provider) needed(all claimSet) claimSet {
	some := claimSet{}
	for _, name := range append(p.claimNames(), "email_verified", "hasgroups", "_claim_names") {
		if value, has := all[name]; has {
			some[name] = value
		}
	}
	return some
}

// complete adds the claims that an ID token lacks, since many providers tell them only at their UserInfo endpoint
// (OpenID Connect Core section 5.4).
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

// Recall returns the caller whom the claims of an Identity describe, by the rules that hold now.
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

// maxHint is the longest ID token that becomes part of an address.
const maxHint = 4 << 10

// End returns the address at which somebody signs out at the provider of an ID token, which sends them back to an
// address of the server (OpenID Connect RP-Initiated Logout); "" if the provider has none.
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
