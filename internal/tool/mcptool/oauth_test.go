package mcptool

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const clientSecret = "canary-of-the-client"

// guarded is an MCP server that wants tokens, and the authorization server that gives them.
type guarded struct {
	*httptest.Server // the MCP server, at /mcp
	issuer           *httptest.Server

	mu    sync.Mutex
	asked []url.Values // token requests, with the Authorization header as "basic"
	valid map[string]string
	codes map[string]url.Values // requests for authorization, by their codes and refresh tokens
	used  map[string]bool       // refresh tokens
	lasts int

	registered int
	scope      string            // that a request needs
	plain      bool              // refuses with 403, without saying why
	names      string            // issuer in the metadata of the MCP server; "" for the real one
	claims     string            // issuer in the metadata of the authorization server; "" for the real one
	tokenAt    string            // token endpoint in the metadata; "" for the real one
	fails      string            // answer of the token endpoint
	moved      string            // resource_metadata of the challenge; "" for the real one
	hidden     bool              // the MCP server has no metadata
	methods    []string          // for the authentication of clients
	seen       map[string]bool   // paths that were asked for
	answers    map[string]string // what the server says it is, by path
}

func newGuarded(t *testing.T) *guarded {
	g := &guarded{valid: map[string]string{}, codes: map[string]url.Values{}, used: map[string]bool{}, lasts: 3600, scope: "read", seen: map[string]bool{}}
	issuer := http.NewServeMux()
	issuer.HandleFunc("GET /.well-known/oauth-authorization-server/tenant", func(w http.ResponseWriter, _ *http.Request) {
		g.mu.Lock()
		defer g.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"issuer": or(g.claims, g.issuer.URL+"/tenant"), "token_endpoint": or(g.tokenAt, g.issuer.URL+"/token"),
			"authorization_endpoint": g.issuer.URL + "/authorize", "registration_endpoint": g.issuer.URL + "/register", "response_types_supported": []string{"code"},
			"code_challenge_methods_supported": []string{"S256"}, "scopes_supported": []string{"all", "offline_access"},
			"token_endpoint_auth_methods_supported": g.methods})
	})
	issuer.HandleFunc("POST /token", g.token)
	issuer.HandleFunc("GET /authorize", g.authorize)
	issuer.HandleFunc("POST /register", g.register)
	g.issuer = httptest.NewServer(issuer)
	t.Cleanup(g.issuer.Close)
	streamable := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return newServer() }, nil)
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if g.refuses(w, r) {
			return
		}
		streamable.ServeHTTP(w, r)
	}))
	t.Cleanup(g.Close)
	return g
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// refuses answers requests for metadata and those without a good token.
func (g *guarded) refuses(w http.ResponseWriter, r *http.Request) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.seen[r.URL.Path] = true
	switch {
	case strings.HasPrefix(r.URL.Path, "/.well-known/"), r.URL.Path == "/meta":
		if g.hidden {
			http.NotFound(w, r)
			return true
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"resource": or(g.answers[r.URL.Path], g.URL+"/mcp"),
			"authorization_servers": []string{or(g.names, g.issuer.URL+"/tenant")}, "scopes_supported": []string{"all"}})
		return true
	case g.plain && r.Header.Get("Authorization") != "":
		w.WriteHeader(http.StatusForbidden)
		return true
	}
	scope, ok := g.valid[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
	what, status := `error="invalid_token"`, http.StatusUnauthorized
	if ok && strings.Contains(" "+scope+" ", " "+g.scope+" ") {
		return false
	} else if ok {
		what, status = `error="insufficient_scope"`, http.StatusForbidden
	}
	w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer %s, scope=%q, resource_metadata=%q`, what, g.scope, or(g.moved, g.URL+"/meta")))
	w.WriteHeader(status)
	return true
}

func (g *guarded) token(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	_ = r.ParseForm()
	form := r.PostForm
	if user, password, ok := r.BasicAuth(); ok {
		form.Set("basic", user+":"+password)
	}
	g.asked = append(g.asked, form)
	w.Header().Set("Content-Type", "application/json")
	if g.fails != "" {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, g.fails)
		return
	}
	refresh, scope := "", form.Get("scope")
	if grant := form.Get("grant_type"); grant != "client_credentials" {
		given, ok := g.codes[form.Get("code")+form.Get("refresh_token")]
		challenge := sha256.Sum256([]byte(form.Get("code_verifier")))
		if used := g.used[form.Get("refresh_token")]; used { // as if it were stolen (RFC 9700, section 4.14.2)
			clear(g.valid)
			clear(g.codes)
		}
		if !ok || given.Get("client_id") != form.Get("client_id") ||
			grant == "authorization_code" && given.Get("code_challenge") != base64.RawURLEncoding.EncodeToString(challenge[:]) {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"error":"invalid_grant"}`)
			return
		}
		delete(g.codes, form.Get("code")+form.Get("refresh_token")) // each is good for one token
		g.used[form.Get("refresh_token")] = grant == "refresh_token"
		refresh, scope = rand.Text(), given.Get("scope")
		g.codes[refresh] = given
	}
	text := rand.Text()
	g.valid[text] = scope
	fmt.Fprintf(w, `{"access_token":%q,"token_type":"Bearer","expires_in":%d,"refresh_token":%q}`, text, g.lasts, refresh)
}

// authorize approves everything.
func (g *guarded) authorize(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	q, code := r.URL.Query(), rand.Text()
	g.codes[code] = q
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+url.Values{"code": {code}, "state": {q.Get("state")}}.Encode(), http.StatusFound)
}

func (g *guarded) register(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	var in map[string]any
	_ = json.NewDecoder(r.Body).Decode(&in)
	g.registered++
	in["client_id"] = fmt.Sprintf("client-%d", g.registered)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(w).Encode(in)
}

func (g *guarded) client() *OAuth {
	return &OAuth{Issuer: g.issuer.URL + "/tenant", ClientID: "parley", Secret: clientSecret}
}

func (g *guarded) set(change func()) { g.mu.Lock(); defer g.mu.Unlock(); change() }

func (g *guarded) grants() []url.Values { g.mu.Lock(); defer g.mu.Unlock(); return g.asked }

func TestOAuth_SignsInWhereTheServerSaysAndKeepsTheToken(t *testing.T) {
	g := newGuarded(t)
	r := open(t, Server{Name: "web", URL: g.URL + "/mcp", OAuth: g.client()})
	for range 3 {
		if got, err := call(t, r, "web__echo", `{"text":"x"}`); err != nil || !strings.HasPrefix(got, "echo: x") {
			t.Fatalf("%q, %v", got, err)
		}
	}
	asked := g.grants()
	if len(asked) != 1 {
		t.Fatalf("%d grants", len(asked))
	}
	want := url.Values{"grant_type": {"client_credentials"}, "scope": {"read"}, "resource": {g.URL + "/mcp"}, "basic": {"parley:" + clientSecret}}
	if got := asked[0].Encode(); got != want.Encode() {
		t.Errorf("asked for %s", got)
	}
	g.set(func() { clear(g.valid) }) // the tokens were revoked
	if got, err := call(t, r, "web__echo", `{"text":"y"}`); err != nil || !strings.HasPrefix(got, "echo: y") || len(g.grants()) != 2 {
		t.Errorf("%q, %v after %d grants", got, err, len(g.grants()))
	}
	g.set(func() { g.scope = "write" })
	if got, err := call(t, r, "web__echo", `{"text":"z"}`); err != nil || !strings.HasPrefix(got, "echo: z") {
		t.Errorf("%q, %v", got, err)
	}
	if got := g.grants()[2].Get("scope"); got != "read write" {
		t.Errorf("stepping up asked for %q", got)
	}
	g.set(func() { g.plain = true })
	if got, err := call(t, r, "web__echo", `{"text":"z"}`); err == nil || len(g.grants()) != 3 {
		t.Errorf("%q: a refusal that no token changes led to %d grants", got, len(g.grants()))
	}
}

func TestOAuth_RenewsATokenBeforeItEnds(t *testing.T) {
	g := newGuarded(t)
	g.lasts = 5 // less than earlyRenewal
	r := open(t, Server{Name: "web", URL: g.URL + "/mcp", OAuth: g.client()})
	before := len(g.grants())
	if got, err := call(t, r, "web__echo", `{"text":"x"}`); err != nil || len(g.grants()) == before {
		t.Errorf("%q, %v, %d grants", got, err, len(g.grants()))
	}
}

func TestOAuth_SignsAssertionsWithAKey(t *testing.T) {
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, _ := x509.MarshalPKCS8PrivateKey(ec)
	sec1, _ := x509.MarshalECPrivateKey(ec)
	for name, c := range map[string]struct {
		block  pem.Block
		public any
	}{
		"PKCS #8": {pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}, &ec.PublicKey},
		"SEC 1":   {pem.Block{Type: "EC PRIVATE KEY", Bytes: sec1}, &ec.PublicKey},
		"PKCS #1": {pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(other)}, &other.PublicKey},
	} {
		key, err := ParseKey(pem.EncodeToMemory(&c.block))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		g := newGuarded(t)
		g.lasts = 5
		client := g.client()
		client.Secret, client.Key = "", key
		open(t, Server{Name: "web", URL: g.URL + "/mcp", OAuth: client})
		ids := map[string]bool{}
		for _, form := range g.grants() {
			token, err := jwt.ParseSigned(form.Get("client_assertion"), []jose.SignatureAlgorithm{jose.ES256, jose.RS256})
			var claims jwt.Claims
			if err == nil {
				err = token.Claims(c.public, &claims)
			}
			if err != nil || claims.Issuer != "parley" || claims.Subject != "parley" || !claims.Audience.Contains(g.issuer.URL+"/tenant") || form.Get("client_secret") != "" {
				t.Errorf("%s: %v %+v", name, err, claims)
			}
			ids[claims.ID] = true
		}
		if len(ids) < 2 || len(ids) != len(g.grants()) {
			t.Errorf("%s: %d assertions for %d grants", name, len(ids), len(g.grants()))
		}
	}
	for _, text := range []string{"", "no key", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----"} {
		if _, err := ParseKey([]byte(text)); err == nil {
			t.Errorf("%q is a key", text)
		}
	}
}

// What a hostile MCP server says, and what an authorization server may say by mistake.
func TestOAuth_SendsItsSecretToTheConfiguredIssuerOnly(t *testing.T) {
	thief := newGuarded(t)
	for name, c := range map[string]struct {
		change func(g *guarded)
		ok     bool
		want   string // in the error
	}{
		"another issuer is named":           {func(g *guarded) { g.names = thief.issuer.URL + "/tenant" }, false, "not of the configured issuer"},
		"metadata of another issuer":        {func(g *guarded) { g.claims = thief.issuer.URL }, false, "metadata of another issuer"},
		"a token endpoint without TLS":      {func(g *guarded) { g.tokenAt = "http://192.0.2.1/token" }, false, "https"},
		"a token endpoint with a user":      {func(g *guarded) { g.tokenAt = "https://a@192.0.2.1/token" }, false, "https"},
		"the refusal repeats the secret":    {func(g *guarded) { g.fails = `{"error":"invalid_client","error_description":"` + clientSecret + `"}` }, false, "invalid_client"},
		"metadata at another host":          {func(g *guarded) { g.moved = thief.URL + "/meta" }, true, ""},
		"metadata of another resource":      {func(g *guarded) { g.answers = map[string]string{"/meta": thief.URL + "/mcp"} }, true, ""},
		"no metadata":                       {func(g *guarded) { g.hidden = true }, true, ""},
		"the secret belongs into the form":  {func(g *guarded) { g.methods = []string{"client_secret_post"} }, true, ""},
		"a challenge that can not be read":  {func(g *guarded) { g.moved = `"` }, true, ""},
		"a resource that is a whole server": {func(g *guarded) { g.answers = map[string]string{"/meta": g.URL} }, true, ""},
	} {
		g := newGuarded(t)
		c.change(g)
		err := openErr(t, Server{Name: "web", URL: g.URL + "/mcp", OAuth: g.client()})
		if (err == nil) != c.ok || err != nil && (!strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), clientSecret)) {
			t.Errorf("%s: %v", name, err)
		}
		if n := len(thief.grants()); n > 0 || thief.seen["/meta"] {
			t.Errorf("%s: %d grants were asked for elsewhere, %v", name, n, thief.seen)
		}
		if form := len(g.grants()) > 0 && g.grants()[0].Get("client_secret") == clientSecret; form != (g.methods != nil) {
			t.Errorf("%s: asked %v", name, g.grants())
		}
	}
}

func TestOAuth_MustBeSafe(t *testing.T) {
	for want, o := range map[string]OAuth{
		"client_id is empty":      {Issuer: "https://a.example", Secret: "s"},
		"a secret or a private":   {Issuer: "https://a.example", ClientID: "c"},
		"not an https URL, which": {Issuer: "http://a.example", ClientID: "c", Secret: "s"},
		"is not an https URL":     {Issuer: "a", ClientID: "c", Secret: "s"},
	} {
		if err := o.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if err := (OAuth{Issuer: "http://127.0.0.1:1/x", ClientID: "c", Secret: "s"}).Check(); err != nil {
		t.Error(err)
	}
}
