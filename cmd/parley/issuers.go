package main

import (
	"net/http"
	"time"

	"go.yaml.in/yaml/v3"

	"parley/internal/auth/oidc"
)

// issuer is an OpenID Connect provider of the configuration; see oidc.Provider.
type issuer struct {
	Issuer         string            `yaml:"issuer" json:"issuer"`
	Audience       texts             `yaml:"audience" json:"audience"`
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
	list, err := readStructured[map[string]issuer](text, "expected names of providers, each with issuer, audience and, if needed, "+
		"clients, subject, email, groups, prefix, require, editors and administrators")
	*s = issuers(list)
	return err
}

// check reports settings that would let strangers in.
func (s issuers) check() error {
	_, err := s.verifier()
	return err
}

// verifier returns what verifies tokens of the providers.
func (s issuers) verifier() (*oidc.Verifier, error) {
	list := content[map[string]issuer](s)
	var all []oidc.Provider
	for _, name := range sortedNames(list) {
		i := list[name]
		all = append(all, oidc.Provider{
			Issuer: i.Issuer, Audience: i.Audience, Clients: i.Clients, Subject: i.Subject, Email: i.Email, Groups: i.Groups,
			Prefix: i.Prefix, Require: i.Require, Editors: i.Editors, Administrators: i.Administrators,
		})
	}
	return oidc.New(all, http.DefaultTransport, time.Now)
}
