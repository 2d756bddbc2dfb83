package signin_test

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"parley/internal/access"
	"parley/internal/auth"
	"parley/internal/auth/apikey"
	"parley/internal/auth/oidc"
	"parley/internal/auth/session"
	"parley/internal/server"
	"parley/internal/store"
	"parley/internal/wire"
	"parley/internal/wire/signin"
)

// desk is a server with the routes for signing in, and one that needs a caller.
type desk struct {
	*httptest.Server
	t     *testing.T
	db    *store.DB
	idp   *idp
	admin string // keys
	read  string
}

type setup struct {
	public    string
	anonymous bool
	provider  func(*oidc.Provider)
}

func newDesk(t *testing.T, s setup) *desk {
	t.Helper()
	db, err := store.Open(t.Context(), t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	d := &desk{t: t, db: db, idp: newIDP(t)}
	d.admin, d.read = d.key(access.Administrator), d.key(access.Reader)
	d.serve(s)
	return d
}

func (d *desk) key(role access.Role) string {
	k, text, err := apikey.New(apikey.Key{Role: role, Name: string(role)}, time.Now())
	if err == nil {
		err = d.db.APIKeys().AddKey(d.t.Context(), k)
	}
	if err != nil {
		d.t.Fatal(err)
	}
	return text
}

// serve starts a server over the database of the desk, as after a restart.
func (d *desk) serve(s setup) {
	p := oidc.Provider{Name: "corp", Title: "Example Corp", Issuer: d.idp.URL, ClientID: "app", ClientSecret: "hush",
		Groups: []string{"groups"}, Editors: []string{"writers"}}
	if s.provider != nil {
		s.provider(&p)
	}
	verifier, err := oidc.New([]oidc.Provider{p}, http.DefaultTransport, time.Now)
	if err != nil {
		d.t.Fatal(err)
	}
	site := session.Site{PublicURL: s.public}
	keys := apikey.NewBook(d.db.APIKeys(), nil, time.Now)
	sessions := session.NewBook(d.db.Sessions(), verifier, time.Hour, time.Now)
	gate := auth.New(auth.Config{Keys: keys, Tokens: verifier, Sessions: sessions, Site: site, Anonymous: s.anonymous, Changes: auth.ByEditors})
	h := signin.New(signin.Config{Sessions: sessions, Keys: keys, Providers: verifier, Site: site, Lasts: time.Hour, Anonymous: s.anonymous})
	change := wire.Route{Right: wire.Change, Fail: wire.PlainError, Body: wire.Ignored}
	changes := wire.Protocol{OpenAPI: []byte(`{"paths":{"/change":{"post":{}}}}`), Routes: []wire.Route{change.At("POST /change", func(w http.ResponseWriter, r *wire.Request) error {
		return wire.Reply(w, http.StatusOK, map[string]string{"by": r.Who.Subject})
	})}}
	srv := server.New(server.Config{PublicURL: s.public}, server.Deps{Protocols: []wire.Protocol{h.Protocol(), changes}, Admit: gate.Admit})
	d.Server = httptest.NewServer(srv.Handler())
	d.t.Cleanup(d.Close)
}

// browser keeps cookies and follows redirects, as browsers do.
func (d *desk) browser() *http.Client {
	jar, err := cookiejar.New(nil)
	if err != nil {
		d.t.Fatal(err)
	}
	return &http.Client{Jar: jar}
}

// stopAt returns a client with the same cookies that does not follow redirects.
func stopAt(c *http.Client) *http.Client {
	return &http.Client{Jar: c.Jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// reply is an answer whose body was read.
type reply struct {
	*http.Response
	body string
}

func (d *desk) do(c *http.Client, method, target string, body string, headers ...string) reply {
	d.t.Helper()
	if strings.HasPrefix(target, "/") {
		target = d.URL + target
	}
	r, err := http.NewRequestWithContext(d.t.Context(), method, target, strings.NewReader(body))
	if err != nil {
		d.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := c.Do(r)
	if err != nil {
		d.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		d.t.Fatal(err)
	}
	return reply{resp, string(text)}
}

const form = "application/x-www-form-urlencoded"

func (d *desk) withKey(c *http.Client, key, back string) reply {
	d.t.Helper()
	return d.do(stopAt(c), http.MethodPost, "/sign-in", url.Values{"key": {key}, "back": {back}}.Encode(), "Content-Type", form, "Origin", d.URL)
}

// me returns the subject and role of the caller, "401" for one who is refused.
func (d *desk) me(c *http.Client, headers ...string) string {
	d.t.Helper()
	r := d.do(c, http.MethodGet, "/api/me", "", headers...)
	if r.StatusCode != http.StatusOK {
		return r.Status[:3]
	}
	var who struct{ Subject, Role string }
	if err := json.Unmarshal([]byte(r.body), &who); err != nil {
		d.t.Fatal(err)
	}
	if strings.HasPrefix(who.Subject, "key:") {
		who.Subject = "key"
	}
	return who.Subject + " " + who.Role
}

func (d *desk) expect(c *http.Client, want string) {
	d.t.Helper()
	if got := d.me(c); got != want {
		d.t.Errorf("the caller is %q, want %q", got, want)
	}
}

// signedIn returns a browser whose user has signed in at the provider.
func (d *desk) signedIn() *http.Client {
	d.t.Helper()
	c := d.browser()
	if r := d.do(c, http.MethodGet, "/sign-in/corp?back=/openapi.json", ""); r.StatusCode != http.StatusOK || r.Request.URL.Path != "/openapi.json" {
		d.t.Fatalf("signing in ends at %s: %s %.300s", r.Request.URL, r.Status, r.body)
	}
	return c
}

func TestSignIn_AtAProviderComesBackToWhereOneWas(t *testing.T) {
	d := newDesk(t, setup{})
	d.idp.set(func() { d.idp.user["groups"] = []string{"writers"} })
	c := d.browser()
	d.expect(c, "401")
	r := d.do(stopAt(c), http.MethodGet, "/sign-in/corp?back="+url.QueryEscape("/?a=b#/chat/1"), "")
	if r.StatusCode != http.StatusSeeOther || !strings.HasPrefix(r.Header.Get("Location"), d.idp.URL+"/authorize?") {
		t.Fatalf("%s to %s", r.Status, r.Header.Get("Location"))
	}
	r = d.do(stopAt(c), http.MethodGet, r.Header.Get("Location"), "")
	r = d.do(stopAt(c), http.MethodGet, r.Header.Get("Location"), "")
	if r.StatusCode != http.StatusSeeOther || r.Header.Get("Location") != "/?a=b#/chat/1" {
		t.Fatalf("%s to %s: %s", r.Status, r.Header.Get("Location"), r.body)
	}
	d.expect(c, "ann editor")
	if got := d.do(c, http.MethodPost, "/change", ""); got.StatusCode != http.StatusOK || !strings.Contains(got.body, "ann") {
		t.Errorf("an editor changes something: %s %s", got.Status, got.body)
	}
	if got := d.do(c, http.MethodGet, "/.auth/me", ""); !strings.Contains(got.body, `"user_id":"ann@example.com"`) || strings.Contains(got.body, "token") {
		t.Errorf("for Azure's front ends: %s", got.body)
	}
	if got := d.me(c, "Authorization", "Bearer "+d.read); got != "key reader" {
		t.Errorf("a key beside the cookie: %s", got)
	}
}

func TestSignIn_WithAKeyEndsWithTheKey(t *testing.T) {
	d := newDesk(t, setup{})
	c := d.browser()
	r := d.withKey(c, "  "+d.read+"\n", "/#/documents")
	if r.StatusCode != http.StatusSeeOther || r.Header.Get("Location") != "/#/documents" {
		t.Fatalf("%s to %q: %s", r.Status, r.Header.Get("Location"), r.body)
	}
	d.expect(c, "key reader")
	if err := d.db.APIKeys().RevokeKey(t.Context(), apikey.IDOf(d.read), time.Now()); err != nil {
		t.Fatal(err)
	}
	await(t, func() bool { return d.me(c) == "401" })
}

// await waits until something holds; what another process changes counts after a second.
func await(t *testing.T, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it did not come about")
		}
	}
}

func TestSignIn_SaysWhyAKeyIsRefused(t *testing.T) {
	d := newDesk(t, setup{})
	old, oldText, _ := apikey.New(apikey.Key{Role: access.Reader, ExpiresAt: time.Now().Add(-time.Minute)}, time.Now().Add(-time.Hour))
	path, pathText, _ := apikey.New(apikey.Key{Role: access.Reader, Routes: []string{"/v1/*"}}, time.Now())
	for _, k := range []apikey.Key{old, path} {
		if err := d.db.APIKeys().AddKey(t.Context(), k); err != nil {
			t.Fatal(err)
		}
	}
	for key, want := range map[string]string{"": "not valid", "parley_": "not valid", d.read + "x": "not valid", oldText: "has expired", pathText: "certain paths"} {
		c := d.browser()
		r := d.withKey(c, key, "/")
		if r.StatusCode != http.StatusForbidden || !strings.Contains(r.body, want) || r.Header.Get("Set-Cookie") != "" {
			t.Errorf("%q: %s %.500s", key, r.Status, r.body)
		}
		if len(key) > 10 && strings.Contains(r.body, key) {
			t.Error("the page repeats the key")
		}
		d.expect(c, "401")
	}
	for media, want := range map[string]int{"application/json": 415, "multipart/form-data": 415, "": 415, form: 413} {
		r := d.do(d.browser(), http.MethodPost, "/sign-in", strings.Repeat("k", 20<<10), "Content-Type", media)
		if r.StatusCode != want {
			t.Errorf("%q: %s", media, r.Status)
		}
	}
}

func TestSignIn_TakesOnlyTheProvidersAnswerToThisBrowser(t *testing.T) {
	d := newDesk(t, setup{})
	victim, attacker := d.browser(), d.browser()
	// begun leads a browser to the provider, and returns the address to which that sends it back.
	begun := func(c *http.Client) string {
		r := d.do(stopAt(c), http.MethodGet, "/sign-in/corp?back=/x", "")
		return d.do(stopAt(c), http.MethodGet, r.Header.Get("Location"), "").Header.Get("Location")
	}
	with := func(address, name, value string) string {
		u, _ := url.Parse(address)
		q := u.Query()
		if q.Del(name); value != "" {
			q.Set(name, value)
		}
		u.RawQuery = q.Encode()
		return u.String()
	}
	foreign := begun(attacker)
	for name, c := range map[string]struct {
		client *http.Client
		at     func(mine string) string
	}{
		"another browser's answer":              {victim, func(string) string { return foreign }},
		"no cookie":                             {d.browser(), func(mine string) string { return mine }},
		"another browser's code with its state": {victim, func(mine string) string { u, _ := url.Parse(foreign); return with(mine, "code", u.Query().Get("code")) }},
		"no state":                              {victim, func(mine string) string { return with(mine, "state", "") }},
		"two states":                            {victim, func(mine string) string { return mine + "&state=x" }},
		"another issuer":                        {victim, func(mine string) string { return with(mine, "iss", "https://other.example.com") }},
		"no issuer":                             {victim, func(mine string) string { return with(mine, "iss", "") }},
		"no code":                               {victim, func(mine string) string { return with(mine, "code", "") }},
		"an error":                              {victim, func(mine string) string { return with(mine, "error", "access_denied") }},
		"an error with a script": {victim, func(mine string) string {
			return with(with(mine, "error", "x"), "error_description", "<script>alert(1)</script>")
		}},
	} {
		mine := begun(victim)
		r := d.do(stopAt(c.client), http.MethodGet, c.at(mine), "")
		if r.StatusCode != http.StatusForbidden || strings.Contains(r.body, "<script") || !strings.Contains(r.body, "role=\"alert\"") {
			t.Errorf("%s: %s %.300s", name, r.Status, r.body)
		}
		d.expect(c.client, "401")
		r = d.do(stopAt(c.client), http.MethodGet, mine, "") // the attempt is over
		if r.StatusCode != http.StatusForbidden {
			t.Errorf("%s, and then the right answer: %s", name, r.Status)
		}
	}
}

func TestSignIn_RefusesAnAnswerThatWasUsedAlready(t *testing.T) {
	d := newDesk(t, setup{})
	c := d.browser()
	r := d.do(stopAt(c), http.MethodGet, "/sign-in/corp", "")
	kept := r.Header.Get("Set-Cookie")
	kept, _, _ = strings.Cut(kept, ";")
	back := d.do(stopAt(c), http.MethodGet, r.Header.Get("Location"), "").Header.Get("Location")
	if first := d.do(stopAt(c), http.MethodGet, back, ""); first.StatusCode != http.StatusSeeOther {
		t.Fatalf("the first time: %s %s", first.Status, first.body)
	}
	again := d.do(stopAt(d.browser()), http.MethodGet, back, "", "Cookie", kept)
	if again.StatusCode != http.StatusForbidden || strings.Contains(again.Header.Get("Set-Cookie"), "parley-session") {
		t.Errorf("again: %s %v", again.Status, again.Header)
	}
}

func TestSignIn_RefusesIDTokensThatAreForSomethingElse(t *testing.T) {
	d := newDesk(t, setup{provider: func(p *oidc.Provider) { p.Require = map[string]string{"hd": "example.com"} }})
	d.idp.set(func() { d.idp.user["hd"] = "example.com" })
	d.expect(d.signedIn(), "ann reader")
	for name, change := range map[string]func(map[string]any){
		"another nonce":       func(c map[string]any) { c["nonce"] = "other" },
		"no nonce":            func(c map[string]any) { delete(c, "nonce") },
		"another audience":    func(c map[string]any) { c["aud"] = "other" },
		"another application": func(c map[string]any) { c["aud"], c["azp"] = []string{"app", "other"}, "other" },
		"another issuer":      func(c map[string]any) { c["iss"] = "https://other.example.com" },
		"expired":             func(c map[string]any) { c["exp"] = time.Now().Add(-time.Hour).Unix() },
		"no subject":          func(c map[string]any) { delete(c, "sub") },
		"a stranger":          func(c map[string]any) { c["hd"] = "elsewhere.example" },
		"too many groups":     func(c map[string]any) { c["_claim_names"] = map[string]any{"groups": "src1"} },
	} {
		d.idp.set(func() { d.idp.change = change })
		c := d.browser()
		r := d.do(c, http.MethodGet, "/sign-in/corp", "")
		if r.StatusCode != http.StatusForbidden || !strings.Contains(r.body, "role=\"alert\"") {
			t.Errorf("%s: %s %.300s", name, r.Status, r.body)
		}
		d.expect(c, "401")
	}
}

func TestSignIn_SaysThatTheProviderIsOutOfReach(t *testing.T) {
	d := newDesk(t, setup{})
	d.idp.set(func() { d.idp.down = true })
	r := d.do(d.browser(), http.MethodGet, "/sign-in/corp", "")
	if r.StatusCode != http.StatusServiceUnavailable || !strings.Contains(r.body, "cannot be reached") {
		t.Errorf("no tokens: %s %.300s", r.Status, r.body)
	}
	d.idp.Close()
	gone := newDesk(t, setup{provider: func(p *oidc.Provider) { p.Issuer = d.idp.URL }})
	r = gone.do(gone.browser(), http.MethodGet, "/sign-in/corp", "")
	if r.StatusCode != http.StatusServiceUnavailable || !strings.Contains(r.body, "cannot be reached") {
		t.Errorf("no provider: %s %.300s", r.Status, r.body)
	}
}

func TestSignIn_AsksTheProviderForClaimsThatTheTokenLacks(t *testing.T) {
	d := newDesk(t, setup{})
	d.idp.set(func() {
		d.idp.info = map[string]any{"sub": "ann", "email": "ann@example.com", "groups": []string{"writers"}, "phone": "1"}
		delete(d.idp.user, "email")
	})
	d.expect(d.signedIn(), "ann editor")
	all, err := d.db.Sessions().Sessions(t.Context(), "ann", time.Now())
	if err != nil || len(all) != 1 || all[0].Name != "ann@example.com" || strings.Contains(string(all[0].Claims), "phone") {
		t.Errorf("%+v, %v", all, err)
	}
	d.idp.set(func() { d.idp.info["sub"] = "bob" })
	if r := d.do(d.browser(), http.MethodGet, "/sign-in/corp", ""); r.StatusCode != http.StatusForbidden {
		t.Errorf("claims of somebody else: %s", r.Status)
	}
}

func TestSignIn_LeadsNowhereElse(t *testing.T) {
	d := newDesk(t, setup{})
	for back, want := range map[string]string{
		"/": "/", "/#/chat/a%20b": "/#/chat/a%20b", "/content/a.pdf?namespace=b#page=3": "/content/a.pdf?namespace=b#page=3",
		"": "/", "x": "/", "https://evil.example": "/", "//evil.example": "/", "///evil.example": "/", `/\evil.example`: "/", `\\evil.example`: "/",
		"/\t/evil.example": "/", "/\n/evil.example": "/", " /": "/", "/ /x": "/", "javascript:alert(1)": "/", "/%2f%2fevil.example/": "/", "/%5cevil.example": "/%5cevil.example",
		"http:/evil.example": "/", "/x\r\nSet-Cookie: a=b": "/", "/sign-in": "/", "/sign-in/corp": "/", "/" + strings.Repeat("x", 2000): "/", "@evil.example": "/",
		"/\u2028/x": "/", "/\x00": "/", "/%zz": "/", "/?back=//evil.example": "/?back=//evil.example",
	} {
		if got := d.withKey(d.browser(), d.read, back).Header.Get("Location"); got != want {
			t.Errorf("back to %q leads to %q, want %q", back, got, want)
		}
		c := stopAt(d.browser())
		at := d.do(c, http.MethodGet, "/sign-in/corp?back="+url.QueryEscape(back), "").Header.Get("Location")
		at = d.do(c, http.MethodGet, at, "").Header.Get("Location")
		if got := d.do(c, http.MethodGet, at, "").Header.Get("Location"); got != want {
			t.Errorf("back from the provider to %q leads to %q, want %q", back, got, want)
		}
		page := d.do(d.browser(), http.MethodGet, "/sign-in?back="+url.QueryEscape(back), "").body
		if strings.Contains(page, `"//`) || strings.Contains(page, "evil.example") != strings.Contains(want, "evil.example") {
			t.Errorf("the page for %q has %q", back, page)
		}
	}
	// The browser's own cookie leads nowhere else, either.
	c := stopAt(d.browser())
	at := d.do(c, http.MethodGet, "/sign-in/corp", "").Header.Get("Location")
	at = d.do(c, http.MethodGet, at, "").Header.Get("Location")
	u, _ := url.Parse(d.URL)
	for _, kept := range c.Jar.Cookies(u) {
		raw, err := base64.RawURLEncoding.DecodeString(kept.Value)
		if err != nil {
			t.Fatal(err)
		}
		kept.Value = base64.RawURLEncoding.EncodeToString([]byte(strings.Replace(string(raw), `"back":"/"`, `"back":"//evil.example"`, 1)))
		c.Jar.SetCookies(u, []*http.Cookie{kept})
	}
	if got := d.do(c, http.MethodGet, at, "").Header.Get("Location"); got != "/" {
		t.Errorf("the cookie leads to %q", got)
	}
}

func TestSession_BeginsAnewWithEverySignIn(t *testing.T) {
	d := newDesk(t, setup{})
	u, _ := url.Parse(d.URL)
	c := d.browser()
	c.Jar.SetCookies(u, []*http.Cookie{{Name: "parley-session", Value: "aaaaaaaaaaaaa_" + strings.Repeat("a", 52), Path: "/"}}) // an attacker's choice
	d.withKey(c, d.read, "/")
	first := c.Jar.Cookies(u)[0].Value
	if strings.HasPrefix(first, "aaaaaaaaaaaaa") {
		t.Error("the session is one that somebody chose")
	}
	d.withKey(c, d.admin, "/")
	second := c.Jar.Cookies(u)[0].Value
	d.expect(c, "key administrator")
	if got := d.me(d.browser(), "Cookie", "parley-session="+first); first == second || got != "401" {
		t.Errorf("the session before is still that of %s", got)
	}
}

func TestSession_IsNobodysWhoDoesNotHoldIt(t *testing.T) {
	d := newDesk(t, setup{})
	c := d.browser()
	d.withKey(c, d.read, "/")
	u, _ := url.Parse(d.URL)
	text := c.Jar.Cookies(u)[0].Value
	id, secret, _ := strings.Cut(text, "_")
	stored, err := d.db.Sessions().Session(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	d.expect(c, "key reader")
	for _, bad := range []string{"", "_", id, id + "_", secret, text + "a", text[:len(text)-1], id + "_" + strings.Repeat("a", len(secret)), strings.ToUpper(text),
		id + "_" + base64.StdEncoding.EncodeToString(stored.Hash[:]), strings.Repeat("x", 30<<10), text + "_" + text, "%00", "null"} {
		if got := d.me(d.browser(), "Cookie", "parley-session="+bad); got != "401" {
			t.Errorf("%.60q is the session of %s", bad, got)
		}
	}
	for _, name := range []string{"__Host-parley-session", "__Secure-parley-session", "Parley-Session", "parley-sign-in", "session"} {
		if got := d.me(d.browser(), "Cookie", name+"="+text); got != "401" {
			t.Errorf("the cookie %s is the session of %s", name, got)
		}
	}
	if got := d.me(d.browser(), "Authorization", "Bearer "+text); got != "401" {
		t.Errorf("as a token it is the session of %s", got)
	}
}

func TestSession_SpeaksOnlyForThePageItself(t *testing.T) {
	d := newDesk(t, setup{})
	c := d.browser()
	d.withKey(c, d.admin, "/")
	own := strings.TrimPrefix(d.URL, "http://")
	for name, x := range map[string]struct {
		headers        []string
		reads, changes bool
	}{
		"the page":                  {[]string{"Sec-Fetch-Site", "same-origin", "Origin", d.URL}, true, true},
		"typed":                     {[]string{"Sec-Fetch-Site", "none"}, true, true},
		"an old browser":            {[]string{"Origin", d.URL}, true, true},
		"a program":                 {nil, true, true},
		"another site":              {[]string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors", "Origin", "https://evil.example"}, false, false},
		"another port":              {[]string{"Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "cors", "Origin", "http://127.0.0.1:1"}, false, false},
		"another port, old browser": {[]string{"Origin", "http://127.0.0.1:1"}, false, false},
		"a sandboxed frame":         {[]string{"Origin", "null"}, false, false},
		"a link":                    {[]string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}, true, false},
		"a frame":                   {[]string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "iframe"}, false, false},
		"a form":                    {[]string{"Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document", "Origin", "http://127.0.0.1:1"}, true, false},
		"a web socket":              {[]string{"Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "websocket", "Origin", "http://127.0.0.1:1"}, false, false},
		"a prefix":                  {[]string{"Origin", "http://" + own + ".evil.example"}, false, false},
		"made up":                   {[]string{"Sec-Fetch-Site", "SAME-ORIGIN"}, false, false},
	} {
		if got := d.me(c, x.headers...) != "401"; got != x.reads {
			t.Errorf("%s reads: %v", name, got)
		}
		if got := d.do(c, http.MethodPost, "/change", "", x.headers...).StatusCode == http.StatusOK; got != x.changes {
			t.Errorf("%s changes: %v", name, got)
		}
		for path, refused := range map[string]bool{"/sign-out": !x.changes, "/sign-in": !x.changes || x.headers == nil} {
			if path == "/sign-out" && x.changes {
				continue
			}
			r := d.do(stopAt(c), http.MethodPost, path, url.Values{"key": {d.read}}.Encode(), append([]string{"Content-Type", form}, x.headers...)...)
			if got := r.StatusCode == http.StatusForbidden; got != refused {
				t.Errorf("%s at %s: %s", name, path, r.Status)
			}
			if !refused { // sign the administrator in again
				d.withKey(c, d.admin, "/")
			}
		}
	}
}

func TestSignOut_EndsTheSessionHereAndAtTheProvider(t *testing.T) {
	d := newDesk(t, setup{})
	c := d.signedIn()
	u, _ := url.Parse(d.URL)
	text := c.Jar.Cookies(u)[0].Value
	r := d.do(c, http.MethodPost, "/sign-out", "")
	var to struct{ Location string }
	if err := json.Unmarshal([]byte(r.body), &to); err != nil {
		t.Fatal(err)
	}
	end, _ := url.Parse(to.Location)
	if end.Path != "/end" || end.Query().Get("kept") != "1" || strings.Count(end.Query().Get("id_token_hint"), ".") != 2 ||
		end.Query().Get("post_logout_redirect_uri") != d.URL+"/sign-in" || end.Query().Get("client_id") != "app" {
		t.Errorf("leads to %s", to.Location)
	}
	if r.Header.Get("Clear-Site-Data") != `"storage"` || len(c.Jar.Cookies(u)) != 0 {
		t.Errorf("%v is left, with %v", c.Jar.Cookies(u), r.Header)
	}
	if got := d.me(d.browser(), "Cookie", "parley-session="+text); got != "401" {
		t.Errorf("the session is still that of %s", got)
	}
	d.withKey(c, d.read, "/")
	if r := d.do(c, http.MethodPost, "/sign-out", ""); !strings.Contains(r.body, `"/sign-in?signed_out"`) {
		t.Errorf("with a key: %s", r.body)
	}
	if r := d.do(c, http.MethodPost, "/sign-out", ""); r.StatusCode != http.StatusOK {
		t.Errorf("a second time: %s", r.Status)
	}
}

func TestSession_FollowsTheConfigurationAndTheStore(t *testing.T) {
	d := newDesk(t, setup{})
	d.idp.set(func() { d.idp.user["groups"] = []string{"writers", "staff"} })
	c := d.signedIn()
	d.expect(c, "ann editor")
	before := d.Server
	cookie := func() string { u, _ := url.Parse(before.URL); return "parley-session=" + c.Jar.Cookies(u)[0].Value }()
	for name, x := range map[string]struct {
		change func(*oidc.Provider)
		want   string
	}{
		"no editors":          {func(p *oidc.Provider) { p.Editors = nil }, "ann reader"},
		"an administrator":    {func(p *oidc.Provider) { p.Administrators = []string{"staff"} }, "ann administrator"},
		"a claim is required": {func(p *oidc.Provider) { p.Require = map[string]string{"groups": "board"} }, "401"},
		"a prefix":            {func(p *oidc.Provider) { p.Prefix = "corp:" }, "corp:ann editor"},
		"no signing in":       {func(p *oidc.Provider) { p.ClientID, p.ClientSecret, p.Audience = "", "", []string{"x"} }, "401"},
		"another provider":    {func(p *oidc.Provider) { p.Issuer = "https://other.example.com" }, "401"},
	} {
		d.serve(setup{provider: x.change})
		if got := d.me(d.browser(), "Cookie", cookie); got != x.want {
			t.Errorf("%s: %s, want %s", name, got, x.want)
		}
	}
	d.serve(setup{})
	if n, err := d.db.Sessions().EndSessionsOf(t.Context(), "ann"); err != nil || n != 1 {
		t.Errorf("%d sessions, %v", n, err)
	}
	if got := d.me(d.browser(), "Cookie", cookie); got != "401" {
		t.Errorf("revoked: %s", got)
	}
}
