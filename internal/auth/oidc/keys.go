package oidc

import (
	"context"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// A provider's keys are read again after keysAge, or when a token names an unknown key, but at most once per
// retryAfter. While the provider cannot be reached, known keys remain valid for keysLast.
const (
	keysAge      = 15 * time.Minute
	keysLast     = 24 * time.Hour
	retryAfter   = time.Minute
	fetchTimeout = 10 * time.Second
	maxDocument  = 1 << 20 // bytes
	leastRSA     = 2048    // bits
)

// keySet caches the keys and the discovery document of a provider. It is safe for concurrent use.
type keySet struct {
	issuer string
	client *http.Client
	now    func() time.Time

	mu      sync.Mutex
	keys    []jose.JSONWebKey
	said    discovery
	read    time.Time     // when the keys were last read; zero for never
	tried   time.Time     // when the last attempt began
	failed  error         // of the last attempt
	loading chan struct{} // closed when the attempt in progress ends; nil without one
}

// discovery is a provider's description of itself (OpenID Connect Discovery section 3).
type discovery struct {
	Issuer    string   `json:"issuer"`
	Keys      string   `json:"jwks_uri"`
	Authorize string   `json:"authorization_endpoint"`
	Token     string   `json:"token_endpoint"`
	UserInfo  string   `json:"userinfo_endpoint"`
	End       string   `json:"end_session_endpoint"`
	Methods   []string `json:"token_endpoint_auth_methods_supported"`
	NamesSelf bool     `json:"authorization_response_iss_parameter_supported"` // RFC 9207
}

func newKeySet(issuer string, transport http.RoundTripper, now func() time.Time) *keySet {
	return &keySet{issuer: issuer, now: now, client: &http.Client{Transport: transport, Timeout: fetchTimeout,
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			if len(via) > 3 {
				return errors.New("too many redirects")
			}
			return checkAddress(r.URL.String(), issuer)
		}}}
}

// find returns the key with an id for an algorithm.
func (s *keySet) find(ctx context.Context, kid string, alg jose.SignatureAlgorithm) (*jose.JSONWebKey, error) {
	key, loading := s.lookUp(kid, alg)
	if loading == nil {
		return s.answer(key)
	}
	select {
	case <-loading:
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for the keys of %s: %w", s.issuer, context.Cause(ctx))
	}
	key, _ = s.lookUp(kid, alg)
	return s.answer(key)
}

func (s *keySet) answer(key *jose.JSONWebKey) (*jose.JSONWebKey, error) {
	if key != nil {
		return key, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now().Sub(s.read) > keysLast {
		return nil, fmt.Errorf("the keys of %s are not known: %w", s.issuer, s.failed)
	}
	return nil, errInvalid("its issuer has no such key")
}

// lookUp returns the key if it is known. Otherwise it returns a channel that is closed when the attempt to read the
// keys ends, and begins an attempt if necessary; the channel is nil if the last attempt was too recent.
func (s *keySet) lookUp(kid string, alg jose.SignatureAlgorithm) (*jose.JSONWebKey, chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	var key *jose.JSONWebKey
	if now.Sub(s.read) <= keysLast {
		key = s.known(kid, alg)
	}
	if key != nil && now.Sub(s.read) < keysAge {
		return key, nil
	}
	loading := s.renew(now)
	if key != nil {
		return key, nil // a later caller gets the new one
	}
	return nil, loading
}

// renew begins an attempt to read from the provider unless the last one began less than retryAfter ago. It returns
// the attempt in progress, or nil. The caller must hold s.mu.
func (s *keySet) renew(now time.Time) chan struct{} {
	if s.loading == nil && now.Sub(s.tried) >= retryAfter {
		s.tried, s.loading = now, make(chan struct{})
		go s.load(s.loading) // ends within fetchTimeout
	}
	return s.loading
}

// discover returns the provider's discovery document, which is at most keysLast old.
func (s *keySet) discover(ctx context.Context) (discovery, error) {
	s.mu.Lock()
	now := s.now()
	said, age := s.said, now.Sub(s.read)
	var loading chan struct{}
	if age >= keysAge {
		loading = s.renew(now)
	}
	s.mu.Unlock()
	if age <= keysLast {
		return said, nil
	}
	if loading != nil {
		select {
		case <-loading:
		case <-ctx.Done():
			return discovery{}, fmt.Errorf("wait for %s: %w", s.issuer, context.Cause(ctx))
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now().Sub(s.read) > keysLast {
		return discovery{}, fmt.Errorf("the metadata of %s cannot be read: %w", s.issuer, s.failed)
	}
	return s.said, nil
}

func (s *keySet) known(kid string, alg jose.SignatureAlgorithm) *jose.JSONWebKey {
	for i, k := range s.keys {
		if k.KeyID == kid && (k.Algorithm == "" || k.Algorithm == string(alg)) {
			return &s.keys[i]
		}
	}
	return nil
}

// load reads the keys. It does not use the context of the caller that began it, because others may be waiting, too.
func (s *keySet) load(done chan struct{}) {
	ctx, cancel := context.WithTimeout(context.Background(), fetchTimeout)
	defer cancel()
	said, keys, err := s.fetch(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed = err; err == nil {
		s.said, s.keys, s.read = said, keys, s.now()
	}
	s.loading = nil
	close(done)
}

// fetch reads the provider's discovery document, and those of its keys that can verify signatures.
func (s *keySet) fetch(ctx context.Context) (said discovery, usable []jose.JSONWebKey, err error) {
	if err := s.get(ctx, strings.TrimSuffix(s.issuer, "/")+"/.well-known/openid-configuration", "", &said); err != nil {
		return said, nil, err
	}
	if said.Issuer != s.issuer {
		return said, nil, fmt.Errorf("the provider at %s calls itself %q: name that as the issuer", s.issuer, said.Issuer)
	}
	if err := checkAddress(said.Keys, s.issuer); err != nil {
		return said, nil, fmt.Errorf("jwks_uri: %w", err)
	}
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := s.get(ctx, said.Keys, "", &set); err != nil {
		return said, nil, err
	}
	for _, raw := range set.Keys {
		var k jose.JSONWebKey
		if json.Unmarshal(raw, &k) != nil || !verifies(k) {
			continue // of an unknown kind, or not for verifying signatures
		}
		usable = append(usable, k)
	}
	if len(usable) == 0 {
		return said, nil, fmt.Errorf("%s has no keys that verify signatures", said.Keys)
	}
	return said, usable, nil
}

// verifies reports whether a key is a public key for signatures that has an id and, with RSA, enough bits.
func verifies(k jose.JSONWebKey) bool {
	if !k.Valid() || !k.IsPublic() || k.KeyID == "" || k.Use != "" && k.Use != "sig" {
		return false
	}
	if public, ok := k.Key.(*rsa.PublicKey); ok {
		return public.N.BitLen() >= leastRSA
	}
	_, secret := k.Key.([]byte)
	return !secret
}

// get reads a JSON document. It sends the access token unless that is "".
func (s *keySet) get(ctx context.Context, address, token string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answered with status %d", address, resp.StatusCode)
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxDocument)).Decode(into); err != nil {
		return fmt.Errorf("read %s: %w", address, err)
	}
	return nil
}

// checkAddress refuses addresses that others on the network could impersonate. It requires https, or http if the
// address and the issuer are both on this machine.
func checkAddress(address, issuer string) error {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil || u.Fragment != "" {
		return fmt.Errorf("%q is not an https URL", address)
	}
	if u.Scheme == "https" {
		return nil
	}
	if i, err := url.Parse(issuer); err == nil && u.Scheme == "http" && isLocal(i.Hostname()) && isLocal(u.Hostname()) {
		return nil
	}
	return fmt.Errorf("%q is not an https URL, which it must be unless the provider is on this machine", address)
}

func isLocal(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.Unmap().IsLoopback()
}
