package auth_test

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/access"
	"parley/internal/auth"
	"parley/internal/wire"
)

const proxySecret = "a shared secret of thirty-two b."

func proxyGate(t *testing.T, change func(*auth.Proxy)) *auth.Gate {
	t.Helper()
	book, _ := newKeys(t)
	p := auth.Proxy{Name: "openwebui", From: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("fd00::/64")}, Secret: proxySecret,
		User: "X-OpenWebUI-User-Id", Email: "X-OpenWebUI-User-Email", Groups: []string{"X-OpenWebUI-User-Role", "X-Groups"}, Administrators: []string{"admin"}, Editors: []string{"writers"}}
	if change != nil {
		change(&p)
	}
	if err := p.Check(); err != nil {
		t.Fatal(err)
	}
	return auth.New(auth.Config{Keys: book, Tokens: issuer{}, Proxies: []auth.Proxy{p}, Changes: auth.ByEditors})
}

func from(peer string, headers ...string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/chat", nil)
	r.RemoteAddr = peer
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	return r
}

func TestProxy_SaysWhoAsks(t *testing.T) {
	g := proxyGate(t, nil)
	const bearer = "Bearer " + proxySecret
	for name, c := range map[string]struct {
		r    *http.Request
		want access.Principal
	}{
		"a user": {from("10.1.2.3:5", "Authorization", bearer, "X-OpenWebUI-User-Id", "u1", "X-OpenWebUI-User-Email", "ann@example.com", "X-OpenWebUI-User-Role", "user"),
			access.Principal{Subject: "u1", Name: "ann@example.com", Role: access.Reader, Groups: []string{"user"}}},
		"an administrator": {from("10.1.2.3:5", "api-key", proxySecret, "x-openwebui-user-id", "u2", "X-OpenWebUI-User-Role", "admin"),
			access.Principal{Subject: "u2", Role: access.Administrator, Groups: []string{"admin"}}},
		"groups": {from("[fd00::1]:5", "X-API-Key", proxySecret, "X-OpenWebUI-User-Id", "u3", "X-Groups", "staff, writers,,"),
			access.Principal{Subject: "u3", Role: access.Editor, Groups: []string{"staff", "writers"}}},
		"a group with a comma": {from("10.1.2.3:5", "Authorization", bearer, "X-OpenWebUI-User-Id", "u4", "X-Groups", "user%2Cwriters, J%C3%B6rgs"),
			access.Principal{Subject: "u4", Role: access.Reader, Groups: []string{"user,writers", "Jörgs"}}},
		"spaces, encoded":  {from("10.1.2.3:5", "Authorization", bearer, "X-OpenWebUI-User-Id", "%20u1%20"), access.Principal{Subject: "u1", Role: access.Reader}},
		"IPv4 in IPv6":     {from("[::ffff:10.1.2.3]:5", "Authorization", bearer, "X-OpenWebUI-User-Id", "u1"), access.Principal{Subject: "u1", Role: access.Reader}},
		"percent encoding": {from("10.1.2.3:5", "Authorization", bearer, "X-OpenWebUI-User-Id", "J%C3%B6rg"), access.Principal{Subject: "Jörg", Role: access.Reader}},
		"nobody":           {from("10.1.2.3:5", "Authorization", bearer), access.Principal{Subject: "proxy:openwebui", Name: "openwebui", Role: access.Reader}},
	} {
		got, err := g.Admit(c.r, wire.Ask)
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got)\n%s", name, err, diff)
		}
	}
	prefixed := proxyGate(t, func(p *auth.Proxy) { p.Prefix = "chat:" })
	got, err := prefixed.Admit(from("10.1.2.3:5", "Authorization", bearer, "X-OpenWebUI-User-Id", "u1", "X-Groups", "g"), wire.Ask)
	if want := (access.Principal{Subject: "chat:u1", Role: access.Reader, Groups: []string{"chat:g"}}); !cmp.Equal(want, got) || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestProxy_IsNotBelievedWithoutSecretAndAddress(t *testing.T) {
	g := proxyGate(t, nil)
	const bearer = "Bearer " + proxySecret
	user := []string{"X-OpenWebUI-User-Id", "u1", "X-OpenWebUI-User-Role", "admin"}
	requests := map[string]*http.Request{
		"no secret":                from("10.1.2.3:5", user...),
		"a wrong secret":           from("10.1.2.3:5", append(user, "Authorization", bearer+"x")...),
		"part of the secret":       from("10.1.2.3:5", append(user, "Authorization", bearer[:len(bearer)-1])...),
		"another address":          from("10.2.0.1:5", append(user, "Authorization", bearer)...),
		"loopback":                 from("127.0.0.1:5", append(user, "Authorization", bearer)...),
		"a forwarded address":      from("192.0.2.1:5", append(user, "Authorization", bearer, "X-Forwarded-For", "10.1.2.3", "X-Real-IP", "10.1.2.3", "Forwarded", "for=10.1.2.3", "True-Client-IP", "10.1.2.3")...),
		"no address":               from("@", append(user, "Authorization", bearer)...),
		"the secret in a cookie":   from("10.1.2.3:5", append(user, "Cookie", "parley-session="+proxySecret)...),
		"the secret as a password": from("10.1.2.3:5", append(user, "Authorization", "Basic "+proxySecret)...),
		"two users":                from("10.1.2.3:5", append(user, "Authorization", bearer, "X-OpenWebUI-User-Id", "u2")...),
		"two roles":                from("10.1.2.3:5", append(user, "Authorization", bearer, "X-OpenWebUI-User-Role", "user")...),
		"a key":                    from("10.1.2.3:5", "X-OpenWebUI-User-Id", "key:abc", "Authorization", bearer),
		"a key, encoded":           from("10.1.2.3:5", "X-OpenWebUI-User-Id", "key%3Aabc", "Authorization", bearer),
		"two lines":                from("10.1.2.3:5", "X-OpenWebUI-User-Id", "u1%0Au2", "Authorization", bearer),
		"an invisible character":   from("10.1.2.3:5", "X-OpenWebUI-User-Id", "u%E2%80%8B1", "Authorization", bearer),
		"two lines in a group":     from("10.1.2.3:5", "X-OpenWebUI-User-Id", "u1", "X-Groups", "a,b%0Ac", "Authorization", bearer),
		"no text":                  from("10.1.2.3:5", "X-OpenWebUI-User-Id", "\xff\xfe", "Authorization", bearer),
		"a long name":              from("10.1.2.3:5", "X-OpenWebUI-User-Id", strings.Repeat("u", 5000), "Authorization", bearer),
	}
	for _, reserved := range access.Reserved {
		requests[reserved] = from("10.1.2.3:5", "X-OpenWebUI-User-Id", reserved+"42", "Authorization", bearer)
	}
	for name, r := range requests {
		who, err := g.Admit(r, wire.Ask)
		f := wire.FailureOf(err)
		if err == nil || f.Status != http.StatusUnauthorized || who.Subject != "" || strings.Contains(f.Text, proxySecret) || strings.Contains(f.Text, "10.") {
			t.Errorf("%s: %+v, %v", name, who, err)
		}
	}
	// The headers change nothing for those who sign in by themselves.
	who, err := g.Admit(from("10.1.2.3:5", append(user, "Authorization", "Bearer good")...), wire.Ask)
	if err != nil || who.Subject != "ann" || who.Role != access.Reader {
		t.Errorf("with a token: %+v, %v", who, err)
	}
}

func TestProxy_MustBeSafe(t *testing.T) {
	whole := auth.Proxy{From: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, Secret: proxySecret, User: "X-User"}
	if err := whole.Check(); err != nil {
		t.Error(err)
	}
	for want, change := range map[string]func(*auth.Proxy){
		"from is empty": func(p *auth.Proxy) { p.From = nil }, "user is empty": func(p *auth.Proxy) { p.User = "" },
		"fewer than 24": func(p *auth.Proxy) { p.Secret = "short" }, "begin like a key": func(p *auth.Proxy) { p.Secret = "parley_" + proxySecret },
		"used for keys": func(p *auth.Proxy) { p.Prefix = "key:" },
	} {
		p := whole
		change(&p)
		if err := p.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
