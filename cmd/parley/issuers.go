package main

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"parley/internal/auth/oidc"
	"parley/internal/wire/azurechat"
	"parley/internal/wire/mcp"
)

// issuer is an OpenID Connect provider of the configuration; see oidc.Provider.
type issuer struct {
	Title           string `yaml:"title" json:"title,omitempty"`
	ClientID        string `yaml:"client_id" json:"client_id,omitempty"`
	ClientSecretEnv string `yaml:"client_secret_env" json:"client_secret_env,omitempty"` // the environment variable with the secret
	Scopes          texts  `yaml:"scopes" json:"scopes,omitempty"`
	SPAClientID     string `yaml:"spa_client_id" json:"spa_client_id,omitempty"` // of front ends that sign people in by themselves
	SPAScopes       texts  `yaml:"spa_scopes" json:"spa_scopes,omitempty"`

	Issuer         string            `yaml:"issuer" json:"issuer"`
	Audience       texts             `yaml:"audience" json:"audience,omitempty"`
	Clients        texts             `yaml:"clients" json:"clients,omitempty"`
	Subject        string            `yaml:"subject" json:"subject,omitempty"`
	Email          string            `yaml:"email" json:"email,omitempty"`
	Groups         texts             `yaml:"groups" json:"groups,omitempty"`
	Prefix         string            `yaml:"prefix" json:"prefix,omitempty"`
	Require        map[string]string `yaml:"require" json:"require,omitempty"`
	Editors        texts             `yaml:"editors" json:"editors,omitempty"`
	Administrators texts             `yaml:"administrators" json:"administrators,omitempty"`
}

// texts is a list of texts, which in YAML may be a single one.
type texts []string

// UnmarshalYAML reads a text or a list of texts.
func (t *texts) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.ScalarNode {
		*t = texts{node.Value}
		return nil
	}
	return node.Decode((*[]string)(t))
}

// issuers are the providers by name; "" for none.
type issuers structured

// UnmarshalText reads a YAML mapping.
func (s *issuers) UnmarshalText(text []byte) error {
	return readStructured[map[string]issuer](text, s, "names of providers")
}

// check reports settings that would let strangers in.
func (s issuers) check() error {
	_, err := s.verifier(nil)
	return err
}

// verifier returns a verifier of the providers' tokens, which also signs people in at the providers with the secrets that lookup
// finds. lookup is nil for checks, which need no secrets.
func (s issuers) verifier(lookup func(string) (string, bool)) (*oidc.Verifier, error) {
	list := content[map[string]issuer](s)
	var all []oidc.Provider
	for _, name := range sortedNames(list) {
		i, secret := list[name], ""
		if i.ClientSecretEnv != "" && lookup != nil {
			if secret, _ = lookup(i.ClientSecretEnv); secret == "" {
				return nil, fmt.Errorf("auth.oidc: %s: the variable %s, which client_secret_env names, is not set", name, i.ClientSecretEnv)
			}
		}
		if i.ClientID == "" && i.ClientSecretEnv != "" {
			return nil, fmt.Errorf("%s: client_secret_env is for signing in on the web page, which needs a client_id", name)
		}
		if i.SPAClientID != "" && len(i.Audience) == 0 {
			return nil, fmt.Errorf("%s: front ends with spa_client_id bring tokens, which need an audience", name)
		}
		all = append(all, oidc.Provider{
			Name: name, Title: i.Title, ClientID: i.ClientID, ClientSecret: secret, Scopes: i.Scopes,
			Issuer: i.Issuer, Audience: i.Audience, Clients: i.Clients, Subject: i.Subject, Email: i.Email, Groups: i.Groups,
			Prefix: i.Prefix, Require: i.Require, Editors: i.Editors, Administrators: i.Administrators,
		})
	}
	return oidc.New(all, http.DefaultTransport, time.Now)
}

// signIn returns how the Azure front ends sign people in by themselves, at the first provider that lets them; nil if
// none does.
func (s issuers) signIn(required bool) *azurechat.SignIn {
	list := content[map[string]issuer](s)
	for _, name := range sortedNames(list) {
		i := list[name]
		if i.SPAClientID == "" {
			continue
		}
		authority, entra := authorityOf(i.Issuer)
		scopes := i.tokenScopes()
		if scopes == nil {
			scopes = []string{"openid", "profile", "email"}
		}
		return &azurechat.SignIn{ClientID: i.SPAClientID, Authority: authority, Plain: !entra, Scopes: scopes, Required: required}
	}
	return nil
}

// tokenScopes are the scopes for which the provider issues tokens for the audience; nil if they are not known.
func (i issuer) tokenScopes() []string {
	if _, entra := authorityOf(i.Issuer); entra && i.SPAScopes == nil {
		return []string{i.Audience[0] + "/access_as_user"}
	}
	return i.SPAScopes
}

// protects returns where MCP clients get tokens for this server: from all providers whose tokens it takes.
func (s issuers) protects() (from mcp.SignIn) {
	list := content[map[string]issuer](s)
	for _, name := range sortedNames(list) {
		i := list[name]
		if len(i.Audience) == 0 {
			continue
		}
		from.Issuers = append(from.Issuers, i.Issuer)
		for _, scope := range i.tokenScopes() {
			if !slices.Contains(from.Scopes, scope) {
				from.Scopes = append(from.Scopes, scope)
			}
		}
	}
	return from
}

// authorityOf returns what MSAL.js calls an issuer, and whether it is Entra ID, whose issuers have other addresses than
// its sign-in.
func authorityOf(address string) (authority string, entra bool) {
	u, err := url.Parse(address)
	if err != nil {
		return address, false
	}
	tenant, _, _ := strings.Cut(strings.TrimPrefix(u.Path, "/"), "/")
	switch host := u.Hostname(); {
	case host == "sts.windows.net":
		return "https://login.microsoftonline.com/" + tenant, true
	case strings.HasPrefix(host, "login.microsoftonline."), strings.HasSuffix(host, ".ciamlogin.com"):
		return "https://" + u.Host + "/" + tenant, true
	}
	return address, false
}
