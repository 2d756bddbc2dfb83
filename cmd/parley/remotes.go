package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"parley/internal/access"
	"parley/internal/documents"
	"parley/internal/documents/source"
)

// configuredSource is a remote source of the configuration: what to read, and with which account.
type configuredSource struct {
	Address    string `yaml:"address" json:"address"`
	User       string `yaml:"user" json:"user,omitempty"`
	SecretEnv  string `yaml:"secret_env" json:"secret_env,omitempty"` // the environment variable with the secret
	KeyFile    string `yaml:"key_file" json:"key_file,omitempty"`
	KnownHosts string `yaml:"known_hosts" json:"known_hosts,omitempty"`
	Endpoint   string `yaml:"endpoint" json:"endpoint,omitempty"`
	Region     string `yaml:"region" json:"region,omitempty"`

	// Who may see its documents, and how they are filtered.
	Users    []string `yaml:"users" json:"users,omitzero"`
	Groups   []string `yaml:"groups" json:"groups,omitzero"`
	Category string   `yaml:"category" json:"category,omitempty"`
	// SourceRights lets the source decide who may see each document. It excludes Users and Groups.
	SourceRights bool `yaml:"source_rights" json:"source_rights,omitempty"`

	Quota  string `yaml:"quota" json:"quota,omitempty"`   // the size of all its files, at most
	Paused bool   `yaml:"paused" json:"paused,omitempty"` // its first run waits until somebody starts it
}

// quota returns the maximum size of all files of the source, in bytes; 0 for none.
func (c configuredSource) quota() (z size, err error) {
	if c.Quota != "" {
		err = z.UnmarshalText([]byte(c.Quota))
	}
	return z, err
}

// remotes are these sources by name; "" for none.
type remotes structured

// UnmarshalText reads a YAML mapping.
func (s *remotes) UnmarshalText(text []byte) error {
	return readStructured[map[string]configuredSource](text, s, "names of sources")
}

func (s remotes) check() error {
	list := content[map[string]configuredSource](s)
	for _, name := range sortedNames(list) {
		if !endpointName.MatchString(name) {
			return fmt.Errorf("%q is not a valid name: use lowercase letters, digits and dashes", name)
		}
		if _, err := source.Parse(list[name].Address); err != nil {
			return fmt.Errorf("the address of %s: %w", name, err)
		}
		if err := checkOptionalURL(list[name].Endpoint); err != nil {
			return fmt.Errorf("the endpoint of %s: %w", name, err)
		}
		if z, err := list[name].quota(); err != nil || z < 0 {
			return fmt.Errorf("the quota of %s must be a size such as 2GiB", name)
		}
		for _, names := range [][]string{list[name].Users, list[name].Groups} {
			isEmpty := func(n string) bool { return strings.TrimSpace(n) == "" }
			if names != nil && len(names) == 0 || slices.ContainsFunc(names, isEmpty) {
				return fmt.Errorf("the users or groups of %s have no name: that may mean everybody or nobody", name)
			}
		}
		if err := list[name].checkRights(); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// checkRights returns an error if source_rights is impossible for the source, or conflicts with users or groups.
func (c configuredSource) checkRights() error {
	a, err := source.Parse(c.Address)
	switch {
	case err != nil || !c.SourceRights:
		return err
	case !a.Kind.HasRights():
		return fmt.Errorf("source_rights is not possible: sources of the kind %s do not say which people may see their files. Name users and groups instead", a.Kind.Name)
	case c.Users != nil || c.Groups != nil:
		return errors.New("use either source_rights, or users and groups: with source_rights the source decides who may see its documents")
	}
	return nil
}

// addresses returns the addresses of the configured sources in the order of their names, each once.
func (s remotes) addresses() (all []source.Address) {
	list := content[map[string]configuredSource](s)
	for _, name := range sortedNames(list) {
		if a, err := source.Parse(list[name].Address); err == nil {
			all = append(all, a)
		}
	}
	return distinct(all)
}

// askRights reports whether a configured source decides who may see its documents.
func (s remotes) askRights() bool {
	for _, c := range content[map[string]configuredSource](s) {
		if c.SourceRights {
			return true
		}
	}
	return false
}

func distinct(all []source.Address) (out []source.Address) {
	for _, a := range all {
		if !slices.ContainsFunc(out, func(o source.Address) bool { return o.String() == a.String() }) {
			out = append(out, a)
		}
	}
	return out
}

// of returns the configured source with the longest address that contains another one; the zero value for none.
func (s remotes) of(a source.Address) (found configuredSource) {
	list := content[map[string]configuredSource](s)
	for _, name := range sortedNames(list) {
		if at, err := source.Parse(list[name].Address); err == nil && at.Covers(a) && len(at.String()) > len(found.Address) {
			found = list[name]
		}
	}
	return found
}

// said returns what the configuration says of a source.
func (p *program) said(a source.Address) documents.SaidOfSource {
	found := p.config.IngestSources.of(a)
	said := documents.SaidOfSource{Rights: found.SourceRights}
	if z, err := found.quota(); err == nil { // it was checked
		said.Quota = int64(z)
	}
	if found.Users != nil || found.Groups != nil {
		said.Fields.Access = &access.List{Users: found.Users, Groups: found.Groups}
	}
	if found.Category != "" {
		said.Fields.Category = &found.Category
	}
	return said
}

// begunByPeople reports whether the first run of a source waits until somebody starts it. This does not hold for sources at addresses below it.
func (p *program) begunByPeople(a source.Address) bool {
	found := p.config.IngestSources.of(a)
	at, err := source.Parse(found.Address)
	return found.Paused && err == nil && at.String() == a.String()
}

// account returns the account with which a source is opened: from the configured source with the longest address that contains
// the source's, and for S3 without a secret from the variables of Amazon's tools.
func (p *program) account(a source.Address) (source.Account, error) {
	found := p.config.IngestSources.of(a)
	account := source.Account{User: found.User, KeyFile: found.KeyFile, KnownHosts: found.KnownHosts, Endpoint: found.Endpoint, Region: found.Region}
	if found.SecretEnv != "" {
		if account.Secret, _ = p.lookupEnv(found.SecretEnv); account.Secret == "" {
			return account, errors.New("the variable " + found.SecretEnv + ", which its secret_env names, is not set")
		}
		return account, nil
	}
	if a.Kind.Schemes[0] == "s3" {
		env := func(name string) string { value, _ := p.lookupEnv(name); return value }
		account.User, account.Secret, account.Session = env("AWS_ACCESS_KEY_ID"), env("AWS_SECRET_ACCESS_KEY"), env("AWS_SESSION_TOKEN")
		account.Region = cmp.Or(account.Region, env("AWS_REGION"), env("AWS_DEFAULT_REGION"))
		account.Endpoint = cmp.Or(account.Endpoint, env("AWS_ENDPOINT_URL_S3"), env("AWS_ENDPOINT_URL"))
	}
	return account, nil
}
