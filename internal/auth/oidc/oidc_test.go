package oidc_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/go-cmp/cmp"

	"parley/internal/access"
	"parley/internal/auth/oidc"
	"parley/test/needs"
)

// idp is a provider on this machine.
type idp struct {
	*httptest.Server
	mu      sync.Mutex
	keys    map[string]crypto.Signer // by key id
	says    string                   // its issuer, "" for its URL
	down    bool
	fetches int // of the keys
}

func newIDP(t *testing.T, ids ...string) *idp {
	t.Helper()
	p := &idp{keys: map[string]crypto.Signer{}}
	for _, id := range ids {
		p.add(t, id)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.down {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		issuer := p.says
		if issuer == "" {
			issuer = p.URL
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"issuer": issuer, "jwks_uri": p.URL + "/keys"})
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.fetches++
		set := jose.JSONWebKeySet{Keys: []jose.JSONWebKey{ // keys that must never verify anything stand beside the right ones
			{Key: []byte("a shared secret of thirty-two b."), KeyID: "shared", Algorithm: "HS256"},
			{Key: &weak.PublicKey, KeyID: "weak", Algorithm: "RS256", Use: "sig"},
			{Key: &another.PublicKey, KeyID: "encrypts", Use: "enc"},
		}}
		for id, key := range p.keys {
			alg := "RS256"
			if _, ec := key.(*ecdsa.PrivateKey); ec {
				alg = "ES256"
			}
			set.Keys = append(set.Keys, jose.JSONWebKey{Key: key.Public(), KeyID: id, Algorithm: alg, Use: "sig"})
		}
		_ = json.NewEncoder(w).Encode(set)
	})
	p.Server = httptest.NewServer(mux)
	t.Cleanup(p.Close)
	return p
}

// add gives the provider a key: an elliptic one if the id begins with "ec".
func (p *idp) add(t *testing.T, id string) {
	t.Helper()
	var key crypto.Signer
	var err error
	if strings.HasPrefix(id, "ec") {
		key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	} else {
		key, err = rsa.GenerateKey(rand.Reader, 2048)
	}
	if err != nil {
		t.Fatal(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.keys[id] = key
}

func (p *idp) change(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
}

func (p *idp) fetched() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fetches
}

var (
	another = must(rsa.GenerateKey(rand.Reader, 2048))
	weak    = must(rsa.GenerateKey(rand.Reader, 1024))
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// sign returns a token with a header and claims, signed by any signer, as forgers do too.
func sign(header, claims map[string]any, key crypto.Signer) string {
	head, body := must(json.Marshal(header)), must(json.Marshal(claims))
	input := base64.RawURLEncoding.EncodeToString(head) + "." + base64.RawURLEncoding.EncodeToString(body)
	sum := sha256.Sum256([]byte(input))
	var signature []byte
	switch key := key.(type) {
	case *rsa.PrivateKey:
		signature = must(rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:]))
	case *ecdsa.PrivateKey:
		r, s, err := ecdsa.Sign(rand.Reader, key, sum[:])
		if err != nil {
			panic(err)
		}
		signature = append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...)
	}
	return input + "." + base64.RawURLEncoding.EncodeToString(signature)
}

// with returns a copy of a map with other members; nil removes one.
func with(m map[string]any, pairs ...any) map[string]any {
	m = maps.Clone(m)
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] == nil {
			delete(m, pairs[i].(string))
		} else {
			m[pairs[i].(string)] = pairs[i+1]
		}
	}
	return m
}

func hs256(header, claims map[string]any, secret []byte) string {
	input := strings.TrimSuffix(sign(header, claims, nil), ".")
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(input))
	return input + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// Row S4.
func TestVerify_RefusesForgedStaleAndForeignTokens(t *testing.T) {
	p, evil := newIDP(t, "k1", "ec1"), newIDP(t, "k1")
	now := time.Now()
	v := must(oidc.New([]oidc.Provider{{Issuer: p.URL, Audience: []string{"parley"}, Clients: []string{"app"}}}, http.DefaultTransport, func() time.Time { return now }))
	header := map[string]any{"alg": "RS256", "kid": "k1", "typ": "JWT"}
	claims := map[string]any{
		"iss": p.URL, "aud": "parley", "sub": "ann", "azp": "app", "iat": now.Unix(), "nbf": now.Unix(), "exp": now.Add(time.Hour).Unix(),
	}
	good := sign(header, claims, p.keys["k1"])
	parts := strings.Split(good, ".")
	public := p.keys["k1"].Public().(*rsa.PublicKey)
	der := must(x509.MarshalPKIXPublicKey(public))
	jwk := must(json.Marshal(jose.JSONWebKey{Key: &another.PublicKey, KeyID: "k1"}))
	encoded := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
	at := func(d time.Duration) int64 { return now.Add(d).Unix() }
	forged := map[string]string{
		"no token":                           "",
		"no JWT":                             "good",
		"alg none":                           sign(with(header, "alg", "none"), claims, nil),
		"alg none in capitals":               sign(with(header, "alg", "NONE"), claims, nil),
		"alg none with the true signature":   encoded(`{"alg":"none","kid":"k1"}`) + "." + parts[1] + "." + parts[2],
		"no alg":                             sign(with(header, "alg", nil), claims, p.keys["k1"]),
		"HS256 with the public key as DER":   hs256(with(header, "alg", "HS256"), claims, der),
		"HS256 with the modulus":             hs256(with(header, "alg", "HS256"), claims, public.N.Bytes()),
		"HS256 with a shared key of the set": hs256(with(header, "alg", "HS256", "kid", "shared"), claims, []byte("a shared secret of thirty-two b.")),
		"a key that is too short":            sign(with(header, "kid", "weak"), claims, weak),
		"a key that encrypts":                sign(with(header, "kid", "encrypts"), claims, another),
		"another key under a known id":       sign(header, claims, another),
		"the key of another id":              sign(with(header, "kid", "ec1"), claims, p.keys["k1"]),
		"another algorithm than the key's":   sign(with(header, "kid", "ec1", "alg", "RS256"), claims, p.keys["ec1"]),
		"no signature":                       parts[0] + "." + parts[1] + ".",
		"no third part":                      parts[0] + "." + parts[1],
		"a changed payload":                  parts[0] + "." + encoded(strings.Replace(must1(parts[1]), "ann", "bob", 1)) + "." + parts[2],
		"a changed header":                   encoded(`{"alg":"RS256","kid":"k1","typ":"JWT","x":1}`) + "." + parts[1] + "." + parts[2],
		"a cut signature":                    good[:len(good)-4],
		"no kid":                             sign(with(header, "kid", nil), claims, p.keys["k1"]),
		"an unknown kid":                     sign(with(header, "kid", "k2"), claims, p.keys["k1"]),
		"a kid that is a path":               sign(with(header, "kid", "../../k1"), claims, p.keys["k1"]),
		"jku of the forger":                  sign(with(header, "jku", evil.URL+"/keys"), claims, evil.keys["k1"]),
		"x5u of the forger":                  sign(with(header, "x5u", evil.URL+"/keys"), claims, evil.keys["k1"]),
		"jwk in the header":                  sign(with(header, "jwk", json.RawMessage(jwk)), claims, another),
		"an extension that must be known":    sign(with(header, "crit", []string{"b64"}, "b64", false), claims, p.keys["k1"]),
		"a logout token":                     sign(with(header, "typ", "logout+jwt"), with(claims, "events", map[string]any{}), p.keys["k1"]),
		"a logout token that says JWT":       sign(header, with(claims, "events", map[string]any{"http://schemas.openid.net/event/backchannel-logout": map[string]any{}}), p.keys["k1"]),
		"a token bound to a key":             sign(header, with(claims, "cnf", map[string]any{"jkt": "x"}), p.keys["k1"]),
		"another issuer":                     sign(header, with(claims, "iss", "https://login.example.com"), p.keys["k1"]),
		"the forger's own issuer":            sign(header, with(claims, "iss", evil.URL), evil.keys["k1"]),
		"the issuer with a slash":            sign(header, with(claims, "iss", p.URL+"/"), p.keys["k1"]),
		"another tenant":                     sign(header, with(claims, "iss", p.URL+"/tenant2/v2.0"), p.keys["k1"]),
		"no issuer":                          sign(header, with(claims, "iss", nil), p.keys["k1"]),
		"another audience":                   sign(header, with(claims, "aud", "another"), p.keys["k1"]),
		"other audiences":                    sign(header, with(claims, "aud", []string{"a", "parley2"}), p.keys["k1"]),
		"an access token for the provider":   sign(with(header, "typ", "at+jwt"), with(claims, "aud", p.URL+"/userinfo"), p.keys["k1"]),
		"no audience":                        sign(header, with(claims, "aud", nil), p.keys["k1"]),
		"another application":                sign(header, with(claims, "azp", "another"), p.keys["k1"]),
		"no application":                     sign(header, with(claims, "azp", nil), p.keys["k1"]),
		"expired":                            sign(header, with(claims, "exp", at(-61*time.Second)), p.keys["k1"]),
		"expired long ago":                   sign(header, with(claims, "exp", 1), p.keys["k1"]),
		"no exp":                             sign(header, with(claims, "exp", nil), p.keys["k1"]),
		"exp that is no number":              sign(header, with(claims, "exp", "never"), p.keys["k1"]),
		"not valid yet":                      sign(header, with(claims, "nbf", at(62*time.Second)), p.keys["k1"]),
		"issued in the future":               sign(header, with(claims, "iat", at(62*time.Second)), p.keys["k1"]),
		"no subject":                         sign(header, with(claims, "sub", nil), p.keys["k1"]),
		"an empty subject":                   sign(header, with(claims, "sub", ""), p.keys["k1"]),
		"a subject that is no text":          sign(header, with(claims, "sub", 7), p.keys["k1"]),
		"a subject with a line break":        sign(header, with(claims, "sub", "ann\nadmin"), p.keys["k1"]),
		"a token of a megabyte":              good + strings.Repeat("A", 1<<20),
		"a token as JSON":                    fmt.Sprintf(`{"payload":%q,"protected":%q,"signature":%q}`, parts[1], parts[0], parts[2]),
		"an encrypted token":                 parts[0] + "." + parts[1] + "." + parts[1] + "." + parts[1] + "." + parts[2],
	}
	for _, reserved := range access.Reserved {
		forged["a subject with "+reserved] = sign(header, with(claims, "sub", reserved+"42"), p.keys["k1"])
	}
	if len(forged) < 25 {
		t.Fatalf("only %d tokens", len(forged))
	}
	for name, token := range forged {
		who, err := v.Verify(t.Context(), token)
		refused, ok := errors.AsType[*oidc.Error](err)
		if !ok || refused.Forbidden || who.Subject != "" {
			t.Errorf("%s: %+v, %v", name, who, err)
		}
		if ok && strings.Contains(refused.Msg, "ann") {
			t.Errorf("%s: the refusal tells: %s", name, refused.Msg)
		}
	}
	if evil.fetched() != 0 {
		t.Error("the forger's keys were fetched")
	}
	if p.fetched() != 1 {
		t.Errorf("the keys were fetched %d times", p.fetched())
	}
	for name, token := range map[string]string{
		"as it is":                good,
		"elliptic":                sign(with(header, "kid", "ec1", "alg", "ES256"), claims, p.keys["ec1"]),
		"an access token":         sign(with(header, "typ", "application/AT+JWT"), with(claims, "azp", nil, "client_id", "app"), p.keys["k1"]),
		"one of its audiences":    sign(header, with(claims, "aud", []string{"account", "parley"}), p.keys["k1"]),
		"just expired":            sign(header, with(claims, "exp", at(-59*time.Second)), p.keys["k1"]),
		"valid in a moment":       sign(header, with(claims, "nbf", at(58*time.Second)), p.keys["k1"]),
		"with an address of keys": sign(with(header, "jku", evil.URL+"/keys"), claims, p.keys["k1"]),
	} {
		if who, err := v.Verify(t.Context(), token); err != nil || who.Subject != "ann" || who.Role != access.Reader || who.Namespaces != nil {
			t.Errorf("%s: %+v, %v", name, who, err)
		}
	}
	if evil.fetched() != 0 {
		t.Error("the forger's keys were fetched")
	}
}

func must1(part string) string { return string(must(base64.RawURLEncoding.DecodeString(part))) }

func TestVerify_ReadsTheKeysAtMostOnceAMinute(t *testing.T) {
	needs.Long(t)
	p := newIDP(t, "k1")
	var mu sync.Mutex
	now := time.Now()
	clock := func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
	pass := func(d time.Duration) { mu.Lock(); defer mu.Unlock(); now = now.Add(d) }
	v := must(oidc.New([]oidc.Provider{{Issuer: p.URL, Audience: []string{"parley"}}}, http.DefaultTransport, clock))
	var made atomic.Int64 // so that no two tokens are the same
	token := func(kid string, key crypto.Signer) string {
		return sign(map[string]any{"alg": "RS256", "kid": kid},
			map[string]any{"iss": p.URL, "aud": "parley", "sub": "ann", "jti": fmt.Sprint(made.Add(1)), "exp": clock().Add(time.Hour).Unix()}, key)
	}
	flood := func() {
		var all sync.WaitGroup
		for i := range 50 {
			all.Go(func() {
				for j := range 20 {
					_, err := v.Verify(t.Context(), token(fmt.Sprintf("made-up-%d-%d", i, j), another))
					if _, ok := errors.AsType[*oidc.Error](err); !ok {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
	}
	flood()
	if n := p.fetched(); n != 1 {
		t.Errorf("%d fetches for a thousand unknown keys", n)
	}
	accepted := func(kid string) error { _, err := v.Verify(t.Context(), token(kid, p.keys[kid])); return err }
	if err := accepted("k1"); err != nil {
		t.Error(err)
	}
	// A new key is known after a minute at most, also while others send made-up ones.
	p.add(t, "k2")
	pass(59 * time.Second)
	flood()
	if err := accepted("k2"); err == nil || p.fetched() != 1 {
		t.Errorf("%v after %d fetches", err, p.fetched())
	}
	pass(time.Second)
	flood()
	if err := accepted("k2"); err != nil || p.fetched() != 2 {
		t.Errorf("%v after %d fetches", err, p.fetched())
	}
	// A key that the provider withdraws is refused a little after a quarter of an hour.
	withdrawn := p.keys["k2"]
	p.change(func() { delete(p.keys, "k2") })
	pass(15 * time.Minute)
	var err error
	for deadline := time.Now().Add(time.Minute); err == nil && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		_, err = v.Verify(t.Context(), token("k2", withdrawn)) // the first one has them read again
	}
	if err == nil || p.fetched() != 3 {
		t.Errorf("%v after %d fetches", err, p.fetched())
	}
	// The keys count on while the provider is down, for a day.
	p.change(func() { p.down = true })
	pass(23 * time.Hour)
	if err := accepted("k1"); err != nil {
		t.Error(err)
	}
	pass(2 * time.Hour)
	err = accepted("k1")
	if _, refused := errors.AsType[*oidc.Error](err); err == nil || refused {
		t.Errorf("after a day: %v", err)
	}
	p.change(func() { p.down = false })
	pass(time.Minute)
	if err := accepted("k1"); err != nil {
		t.Error(err)
	}
}

func TestVerify_RefusesATokenThatHasExpiredSinceItWasSeen(t *testing.T) {
	p := newIDP(t, "k1")
	now := time.Now()
	v := must(oidc.New([]oidc.Provider{{Issuer: p.URL, Audience: []string{"parley"}}}, http.DefaultTransport, func() time.Time { return now }))
	token := sign(map[string]any{"alg": "RS256", "kid": "k1"}, map[string]any{"iss": p.URL, "aud": "parley", "sub": "ann", "exp": now.Add(-50 * time.Second).Unix()}, p.keys["k1"])
	for range 2 {
		if _, err := v.Verify(t.Context(), token); err != nil {
			t.Error(err)
		}
	}
	now = now.Add(12 * time.Second)
	if _, err := v.Verify(t.Context(), token); err == nil {
		t.Error("an expired token is accepted because it was accepted before")
	}
}

func TestVerify_TakesUserGroupsAndRoleFromClaims(t *testing.T) {
	p, q := newIDP(t, "k1"), newIDP(t, "k1")
	v := must(oidc.New([]oidc.Provider{
		{Issuer: p.URL, Audience: []string{"parley"}, Subject: "oid", Email: "upn", Groups: []string{"groups", "roles"},
			Editors: []string{"writers"}, Administrators: []string{"ops"}, Require: map[string]string{"tid": "t1"}},
		{Issuer: q.URL, Audience: []string{"parley"}, Prefix: "partner:", Subject: "email"},
	}, http.DefaultTransport, time.Now))
	base := map[string]any{"aud": "parley", "exp": time.Now().Add(time.Hour).Unix(), "sub": "s", "oid": "ann", "tid": "t1"}
	ofP := func(pairs ...any) string {
		return sign(map[string]any{"alg": "RS256", "kid": "k1"}, with(with(base, "iss", p.URL), pairs...), p.keys["k1"])
	}
	ofQ := func(pairs ...any) string {
		return sign(map[string]any{"alg": "RS256", "kid": "k1"}, with(with(base, "iss", q.URL), pairs...), q.keys["k1"])
	}
	type want = access.Principal
	for name, c := range map[string]struct {
		token string
		want  want
	}{
		"a reader":                         {ofP("upn", "ann@example.com"), want{Subject: "ann", Name: "ann@example.com", Role: access.Reader}},
		"groups of several claims":         {ofP("groups", []string{"staff"}, "roles", "writers"), want{Subject: "ann", Role: access.Editor, Groups: []string{"staff", "writers"}}},
		"the strongest role counts":        {ofP("groups", []string{"ops", "writers"}), want{Subject: "ann", Role: access.Administrator, Groups: []string{"ops", "writers"}}},
		"another provider's group":         {ofP("groups", []string{"partner:staff", "key:x", "staff"}), want{Subject: "ann", Role: access.Reader, Groups: []string{"staff"}}},
		"a provider with a prefix":         {ofQ("email", "ann@example.com", "groups", []string{"ops"}), want{Subject: "partner:ann@example.com", Name: "ann@example.com", Role: access.Reader, Groups: []string{"partner:ops"}}},
		"groups elsewhere, but not needed": {ofP("_claim_names", map[string]any{"address": "src1"}), want{Subject: "ann", Role: access.Reader}},
	} {
		got, err := v.Verify(t.Context(), c.token)
		if err != nil || !cmp.Equal(got, c.want) {
			t.Errorf("%s: %v %s", name, err, cmp.Diff(c.want, got))
		}
	}
	for name, c := range map[string]struct {
		token     string
		forbidden bool
	}{
		"the required claim":         {ofP("tid", "t2"), true},
		"without the required claim": {ofP("tid", nil), true},
		"too many groups":            {ofP("_claim_names", map[string]any{"groups": "src1"}, "_claim_sources", map[string]any{"src1": map[string]any{"endpoint": "https://graph.example/"}}), true},
		"too many groups, implicit":  {ofP("hasgroups", true), true},
		"another provider's user":    {ofP("oid", "partner:ann@example.com"), false},
		"an unverified address":      {ofQ("email", "ann@example.com", "email_verified", false), false},
		"the subject is another one": {ofP("oid", nil), false},
	} {
		_, err := v.Verify(t.Context(), c.token)
		if refused, ok := errors.AsType[*oidc.Error](err); !ok || refused.Forbidden != c.forbidden {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestVerify_BelievesNoDiscoveryOfAnotherIssuer(t *testing.T) {
	p := newIDP(t, "k1")
	p.says = "https://login.example.com"
	v := must(oidc.New([]oidc.Provider{{Issuer: p.URL, Audience: []string{"parley"}}}, http.DefaultTransport, time.Now))
	_, err := v.Verify(t.Context(), sign(map[string]any{"alg": "RS256", "kid": "k1"},
		map[string]any{"iss": p.URL, "aud": "parley", "sub": "ann", "exp": time.Now().Add(time.Hour).Unix()}, p.keys["k1"]))
	if _, refused := errors.AsType[*oidc.Error](err); err == nil || refused || !strings.Contains(err.Error(), "calls itself") || p.fetched() != 0 {
		t.Errorf("%v after %d fetches", err, p.fetched())
	}
}

func TestNew_RefusesSettingsThatWouldLetStrangersIn(t *testing.T) {
	one := oidc.Provider{Issuer: "https://a.example", Audience: []string{"parley"}}
	two := oidc.Provider{Issuer: "https://b.example", Audience: []string{"parley"}, Prefix: "b:"}
	change := func(p oidc.Provider, f func(*oidc.Provider)) oidc.Provider { f(&p); return p }
	for want, all := range map[string][]oidc.Provider{
		"is not an https URL": {change(one, func(p *oidc.Provider) { p.Issuer = "http://a.example" })},
		"audience is empty":   {change(one, func(p *oidc.Provider) { p.Audience = nil })},
		"different prefixes":  {one, change(two, func(p *oidc.Provider) { p.Prefix = "" })},
		"named twice":         {one, change(two, func(p *oidc.Provider) { p.Issuer = one.Issuer })},
		"used for keys":       {change(one, func(p *oidc.Provider) { p.Prefix = "key:" })},
	} {
		if _, err := oidc.New(all, http.DefaultTransport, time.Now); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %s", err, want)
		}
	}
	if _, err := oidc.New(slices.Clone([]oidc.Provider{one, two}), http.DefaultTransport, time.Now); err != nil {
		t.Error(err)
	}
}

func BenchmarkVerify(b *testing.B) {
	key := must(rsa.GenerateKey(rand.Reader, 2048))
	mux := http.NewServeMux()
	p := httptest.NewServer(mux)
	defer p.Close()
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{"issuer": p.URL, "jwks_uri": p.URL + "/keys"})
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "k1"}}})
	})
	v := must(oidc.New([]oidc.Provider{{Issuer: p.URL, Audience: []string{"parley"}}}, http.DefaultTransport, time.Now))
	token := sign(map[string]any{"alg": "RS256", "kid": "k1"}, map[string]any{"iss": p.URL, "aud": "parley", "sub": "ann", "exp": time.Now().Add(time.Hour).Unix()}, key)
	for b.Loop() {
		if _, err := v.Verify(b.Context(), token); err != nil {
			b.Fatal(err)
		}
	}
}
