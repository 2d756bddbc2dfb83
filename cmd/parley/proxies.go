package main

import (
	"fmt"
	"net/netip"

	"parley/internal/auth"
)

// fromProxy is a front end of the configuration that says who asks; see auth.Proxy.
type fromProxy struct {
	From           texts  `yaml:"from" json:"from"`
	SecretEnv      string `yaml:"secret_env" json:"secret_env"` // the environment variable with the secret
	User           string `yaml:"user" json:"user"`
	Email          string `yaml:"email" json:"email,omitempty"`
	Groups         texts  `yaml:"groups" json:"groups,omitempty"`
	Prefix         string `yaml:"prefix" json:"prefix,omitempty"`
	Editors        texts  `yaml:"editors" json:"editors,omitempty"`
	Administrators texts  `yaml:"administrators" json:"administrators,omitempty"`
}

// proxies are these front ends by name; "" for none.
type proxies structured

// UnmarshalText reads a YAML mapping.
func (s *proxies) UnmarshalText(text []byte) error {
	return readStructured[map[string]fromProxy](text, s, "names of front ends")
}

// check reports settings that would let strangers in.
func (s proxies) check() error {
	_, err := s.list(func(name string) (string, bool) { return "a secret that is long enough, of " + name, true })
	return err
}

// list returns the front ends, with the secrets that lookup finds.
func (s proxies) list(lookup func(string) (string, bool)) (all []auth.Proxy, err error) {
	list := content[map[string]fromProxy](s)
	for _, name := range sortedNames(list) {
		p := list[name]
		one := auth.Proxy{Name: name, User: p.User, Email: p.Email, Groups: p.Groups, Prefix: p.Prefix, Editors: p.Editors, Administrators: p.Administrators}
		if !endpointName.MatchString(name) {
			return nil, fmt.Errorf("%q is not a valid name: use lowercase letters, digits and dashes", name)
		}
		for _, from := range p.From {
			network, err := networkOf(from)
			if err != nil {
				return nil, fmt.Errorf("%s: from: %q is neither an address nor a network such as 10.0.0.0/8", name, from)
			}
			one.From = append(one.From, network)
		}
		if p.SecretEnv == "" {
			return nil, fmt.Errorf("%s: secret_env is empty: name the environment variable that holds the secret", name)
		}
		if one.Secret, _ = lookup(p.SecretEnv); one.Secret == "" {
			return nil, fmt.Errorf("%s: the variable %s, which secret_env names, is not set", name, p.SecretEnv)
		}
		if err := one.Check(); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		for _, other := range all {
			if other.Secret == one.Secret {
				return nil, fmt.Errorf("%s and %s have the same secret, so they cannot be told apart", other.Name, name)
			}
		}
		all = append(all, one)
	}
	return all, nil
}

// networkOf returns the network of that name; of an address, the one of it alone.
func networkOf(text string) (netip.Prefix, error) {
	if addr, err := netip.ParseAddr(text); err == nil {
		addr = addr.Unmap()
		return netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	network, err := netip.ParsePrefix(text)
	return network.Masked(), err
}
