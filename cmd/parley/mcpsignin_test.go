package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/google/go-cmp/cmp"
	sdkauth "github.com/modelcontextprotocol/go-sdk/auth"
	mcpsdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"parley/internal/access"
	"parley/internal/auth/apikey"
	"parley/internal/store/pgtest"
)

// settingOIDC is a value of auth.oidc.
func settingOIDC(t testing.TB, text string) func(*Config) {
	return func(c *Config) {
		if err := c.AuthOIDC.UnmarshalText([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
}

// challengeOf asks /mcp and returns the challenge of the refusal.
func challengeOf(s *wholeServer, host, path, credential string) string {
	r := httptest.NewRequest(http.MethodPost, "http://"+host+path, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if credential != "" {
		r.Header.Set("Authorization", "Bearer "+credential)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return fmt.Sprint(w.Code, " ", w.Header().Get("WWW-Authenticate"))
}

// RFC 9728 and MCP 2025-11-25, Authorization: what a client reads before it signs in.
func TestMCP_SaysHowToSignIn(t *testing.T) {
	t.Parallel()
	const corp = `{corp: {issuer: "https://idp.example.com/", audience: [parley], spa_scopes: [parley.read, openid]},
		web: {issuer: "https://web.example.com", client_id: page, prefix: "web:"},
		entra: {issuer: "https://login.microsoftonline.com/T/v2.0", audience: "api://p", prefix: "entra:"}}`
	const list = `"authorization_servers":["https://idp.example.com/","https://login.microsoftonline.com/T/v2.0"],` +
		`"scopes_supported":["parley.read","openid","api://p/access_as_user"],"bearer_methods_supported":["header"],"resource_name":"Parley"}`
	const scope = `, scope="parley.read openid api://p/access_as_user"`
	get := func(s *wholeServer, host, path string) string {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://"+host+path, nil))
		return fmt.Sprint(w.Code, " ", w.Header().Get("Content-Type"), " ", strings.TrimSpace(w.Body.String()))
	}
	plain := newWholeServer(t, settingOIDC(t, corp))
	public := newWholeServer(t, settingOIDC(t, corp), func(c *Config) { c.PublicURL = "https://example.com/parley/" })
	keys := newWholeServer(t, func(c *Config) { c.AuthAnonymous = settingOff })
	open := newWholeServer(t, settingOIDC(t, corp), func(c *Config) { c.AuthAnonymous = settingOn })
	const well, key = "/.well-known/oauth-protected-resource", "prl_aaaaaaaaaaaaa_bbbb"
	for name, c := range map[string]struct{ got, want string }{
		"of /mcp":             {get(plain, "localhost:81", well+"/mcp"), `200 application/json {"resource":"http://localhost:81/mcp",` + list},
		"of /mcp/":            {get(plain, "localhost:81", well+"/mcp/"), `200 application/json {"resource":"http://localhost:81/mcp/",` + list},
		"of the server":       {get(plain, "localhost:81", well), `200 application/json {"resource":"http://localhost:81",` + list},
		"behind a proxy":      {get(public, "localhost:81", well+"/mcp"), `200 application/json {"resource":"https://example.com/parley/mcp",` + list},
		"of another path":     {get(plain, "localhost:81", well+"/chat")[:3], "404"},
		"where are only keys": {get(keys, "localhost:81", well+"/mcp")[:3], "404"},

		"no token": {challengeOf(plain, "localhost:81", "/mcp", ""),
			`401 Bearer realm="parley", resource_metadata="http://localhost:81` + well + `/mcp"` + scope},
		"no token, /mcp/": {challengeOf(plain, "localhost:81", "/mcp/", ""),
			`401 Bearer realm="parley", resource_metadata="http://localhost:81` + well + `/mcp/"` + scope},
		"no token, behind a proxy": {challengeOf(public, "localhost:81", "/mcp", ""),
			`401 Bearer realm="parley", resource_metadata="https://example.com/parley` + well + `/mcp"` + scope},
		"a wrong token": {challengeOf(plain, "localhost:81", "/mcp", "x.y.z"),
			`401 Bearer realm="parley", error="invalid_token", resource_metadata="http://localhost:81` + well + `/mcp"` + scope},
		"no token where anybody may ask":    {challengeOf(open, "localhost:81", "/mcp", "")[:3], "200"},
		"a wrong key where anybody may ask": {challengeOf(open, "localhost:81", "/mcp", key), `401 Bearer realm="parley", error="invalid_token", resource_metadata="http://localhost:81` + well + `/mcp"` + scope},
		"no key where are only keys":        {challengeOf(keys, "localhost:81", "/mcp", ""), `401 Bearer realm="parley"`},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
	if key := newKey(t, plain.serving.instance, apikey.Key{Role: access.Reader}); challengeOf(plain, "localhost:81", "/mcp", key)[:3] != "200" {
		t.Error("a key is refused")
	}
}

// authorizationServer issues tokens by authorization code with PKCE for the resource that a client names (RFC 8707).
type authorizationServer struct {
	*httptest.Server
	key   *rsa.PrivateKey
	other string // a resource for which tokens are issued, whatever is asked for

	mu    sync.Mutex
	asked map[string]url.Values // by code
}

func newAuthorizationServer(t testing.TB) *authorizationServer {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	a := &authorizationServer{key: key, asked: map[string]url.Values{}}
	mux := http.NewServeMux()
	says := func(path string, v func() any) {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(v())
		})
	}
	says("/.well-known/openid-configuration", func() any {
		return map[string]any{"issuer": a.URL, "jwks_uri": a.URL + "/keys", "authorization_endpoint": a.URL + "/authorize", "token_endpoint": a.URL + "/token",
			"response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"}, "token_endpoint_auth_methods_supported": []string{"none"}}
	})
	says("/keys", func() any {
		return jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: &a.key.PublicKey, KeyID: "k", Algorithm: "RS256", Use: "sig"}}}
	})
	mux.HandleFunc("POST /token", a.token)
	mux.HandleFunc("GET /authorize", func(w http.ResponseWriter, r *http.Request) {
		result, err := a.consent(r.Context(), &sdkauth.AuthorizationArgs{URL: r.URL.String()})
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		http.Redirect(w, r, r.URL.Query().Get("redirect_uri")+"?"+url.Values{"code": {result.Code}, "state": {result.State}}.Encode(), http.StatusFound)
	})
	a.Server = httptest.NewServer(mux)
	t.Cleanup(a.Close)
	return a
}

// consent is what a person does in the browser.
func (a *authorizationServer) consent(_ context.Context, args *sdkauth.AuthorizationArgs) (*sdkauth.AuthorizationResult, error) {
	u, err := url.Parse(args.URL)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	code := rand.Text()
	a.asked[code] = u.Query()
	return &sdkauth.AuthorizationResult{Code: code, State: u.Query().Get("state")}, nil
}

func (a *authorizationServer) token(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	asked, sum := a.asked[r.FormValue("code")], sha256.Sum256([]byte(r.FormValue("code_verifier")))
	resource := r.FormValue("resource")
	if asked == nil || asked.Get("code_challenge") != base64.RawURLEncoding.EncodeToString(sum[:]) || asked.Get("resource") != resource {
		http.Error(w, `{"error":"invalid_grant"}`, http.StatusBadRequest)
		return
	}
	if a.other != "" {
		resource = a.other
	}
	text, err := a.sign(resource, map[string]any{"scope": asked.Get("scope")})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"access_token": text, "token_type": "Bearer", "expires_in": 3600})
}

// sign returns a token of the user ann.
func (a *authorizationServer) sign(audience string, more map[string]any) (string, error) {
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: jose.JSONWebKey{Key: a.key, KeyID: "k"}}, nil)
	if err != nil {
		return "", err
	}
	return jwt.Signed(signer).Claims(map[string]any{"iss": a.URL, "aud": audience, "sub": "ann",
		"exp": time.Now().Add(time.Hour).Unix(), "iat": time.Now().Unix()}).Claims(more).Serialize()
}

// The official client finds the provider by itself, and its token counts only if it is for this server.
func TestMCP_TheOfficialClientSignsIn(t *testing.T) {
	t.Parallel()
	for name, other := range map[string]string{"for this server": "", "for another server": "https://other.example/mcp"} {
		idp := newAuthorizationServer(t)
		idp.other = other
		web := httptest.NewUnstartedServer(nil)
		at := "http://" + web.Listener.Addr().String()
		s := newWholeServer(t, func(c *Config) { c.PublicURL = at }, settingOIDC(t, fmt.Sprintf(`{idp: {issuer: %q, audience: %q, spa_scopes: [ask]}}`, idp.URL, at+"/mcp")))
		web.Config.Handler = s
		web.Start()
		t.Cleanup(web.Close)
		oauth, err := sdkauth.NewAuthorizationCodeHandler(&sdkauth.AuthorizationCodeHandlerConfig{
			PreregisteredClient: &oauthex.ClientCredentials{ClientID: "desktop"}, RedirectURL: "http://127.0.0.1:9/callback", AuthorizationCodeFetcher: idp.consent,
		})
		if err != nil {
			t.Fatal(err)
		}
		session, err := mcpsdk.NewClient(&mcpsdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(),
			&mcpsdk.StreamableClientTransport{Endpoint: at + "/mcp", OAuthHandler: oauth, DisableStandaloneSSE: true}, nil)
		if other != "" {
			if err == nil {
				t.Errorf("%s: the token is accepted", name)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		res, err := session.CallTool(t.Context(), &mcpsdk.CallToolParams{Name: "search", Arguments: map[string]any{"query": "deductible"}})
		if err != nil || res.IsError || !strings.Contains(res.Content[0].(*mcpsdk.TextContent).Text, "500 dollars") {
			t.Errorf("%s: %v %+v", name, err, res)
		}
		_ = session.Close()
		for _, asked := range idp.asked {
			if asked.Get("resource") != at+"/mcp" || asked.Get("scope") != "ask" {
				t.Errorf("the client asked for %v", asked)
			}
		}
	}
}

func TestMCPGrants_OneProcessAtATimeRenewsThem(t *testing.T) {
	for name, database := range map[string]string{"data folder": "", "PostgreSQL": pgtest.New(t)} {
		var all []mcpGrants
		shared := t.TempDir()
		for range 2 {
			cfg := DefaultConfig()
			cfg.Database, cfg.Data = database, shared
			if database != "" {
				cfg.Data = t.TempDir()
			}
			p := &program{config: cfg, log: slog.New(slog.DiscardHandler)}
			db, err := p.openStore(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			all = append(all, grantsOf(db, locksOf(cfg, db)))
		}
		unlock, err := all[0].Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if unlock, err := all[1].locks.Renewing(); err == nil {
			unlock()
			t.Errorf("%s: two hold the lock", name)
		}
		got := make(chan func())
		go func() {
			unlock, err := all[1].Lock(t.Context())
			if err != nil {
				t.Error(err)
				unlock = func() {}
			}
			got <- unlock
		}()
		unlock()
		(<-got)()
		unlock, err = all[0].Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := all[1].Lock(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: waited although nobody waits for it: %v", name, err)
		}
		unlock()
	}
}

// A list of tools may name one of a server that is not there yet.
func TestOpenTools_GoesOnWithoutAnMCPServer(t *testing.T) {
	cfg := DefaultConfig()
	cfg.Data = t.TempDir()
	for _, err := range []error{
		cfg.MCP.UnmarshalText([]byte(`{gone: {url: "http://127.0.0.1:1/"}}`)), cfg.ToolsNamespaces.UnmarshalText([]byte(`{hr: [gone__search, calculator]}`)),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	cfg.Tools = []string{"calculator"}
	var log strings.Builder
	p := &program{config: cfg, log: slog.New(slog.NewTextHandler(&log, nil)), lookupEnv: func(string) (string, bool) { return "", false }}
	in, err := p.openAnswering(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if got := in.tools.Offer("hr"); len(got) != 1 || !strings.Contains(log.String(), "server=gone") {
		t.Errorf("%d tools, %s", len(got), log.String())
	}
	wantFinding(t, map[string][]finding{"MCP servers": checkMCP(t.Context(), p)}, "MCP servers", broken, "check that gone runs")
}

// A server whose tools models may call can be another Parley, where an administrator signs in once in a browser.
func TestMCPSignIn_LetsModelsCallToolsOfAServerThatWantsAPerson(t *testing.T) {
	idp := newAuthorizationServer(t)
	web := httptest.NewUnstartedServer(nil)
	at := "http://" + web.Listener.Addr().String()
	web.Config.Handler = newWholeServer(t, func(c *Config) { c.PublicURL = at }, settingOIDC(t, fmt.Sprintf(`{idp: {issuer: %q, audience: %q, spa_scopes: [ask]}}`, idp.URL, at+"/mcp")))
	web.Start()
	t.Cleanup(web.Close)

	data := t.TempDir()
	change := func(c *Config) {
		c.Data = data
		if err := c.MCP.UnmarshalText(fmt.Appendf(nil, `{docs: {url: "%s/mcp", oauth: {browser: true, client_id: desktop}}}`, at)); err != nil {
			t.Fatal(err)
		}
	}
	cfg := DefaultConfig()
	change(&cfg)
	var stdout strings.Builder
	shown, told := io.Pipe()
	p := &program{config: cfg, stdout: &stdout, stderr: told, log: slog.New(slog.DiscardHandler), lookupEnv: func(string) (string, bool) { return "", false }}
	before, err := p.openAnswering(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer before.Close()
	if err := before.tools.mcp.Missing()["docs"]; err == nil || !strings.Contains(err.Error(), "parley mcp sign-in docs") {
		t.Errorf("before the sign-in: %v", err)
	}
	wantFinding(t, map[string][]finding{"MCP servers": checkMCP(t.Context(), p)}, "MCP servers", broken, "parley mcp sign-in docs")
	done := make(chan error, 1)
	go func() {
		done <- mcpSignInCmd{Name: "docs"}.Run(t.Context(), p)
		_ = told.Close()
	}()
	lines := bufio.NewScanner(shown)
	for lines.Scan() {
		page := strings.TrimSpace(lines.Text())
		if !strings.HasPrefix(page, "http") {
			continue
		}
		go func() { _, _ = io.Copy(io.Discard, shown) }()
		if u, err := url.Parse(page); err != nil {
			t.Error(err)
		} else if resp, err := http.Get(u.Query().Get("redirect_uri") + "?code=stolen&state=guessed"); err != nil || resp.StatusCode != http.StatusNotFound {
			t.Errorf("a foreign page comes back: %v", err)
		} else {
			_ = resp.Body.Close()
		}
		if resp, err := http.Get(page); err != nil { // as a browser, which comes back to the command
			t.Error(err)
		} else {
			_ = resp.Body.Close()
		}
		break
	}
	if err := <-done; err != nil || stdout.String() != "Signed in. docs has the tools ask, fetch, search.\n" {
		t.Fatalf("%v, %q", err, stdout.String())
	}
	wantFinding(t, map[string][]finding{"MCP servers": checkMCP(t.Context(), p)}, "MCP servers", fine, "docs: reached")
	s := newWholeServer(t, change)
	var names []string
	for _, tool := range s.serving.tools.Offer("default") {
		if strings.HasPrefix(tool.Name, "docs__") {
			names = append(names, tool.Name)
		}
	}
	if diff := cmp.Diff([]string{"docs__ask", "docs__fetch", "docs__search"}, names); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
	if err := s.serving.Close(); err != nil {
		t.Error(err)
	}
	out := mcpSignOutCmd{Name: "docs"}
	if err := out.Run(t.Context(), p); err != nil {
		t.Error(err)
	}
	if err := out.Run(t.Context(), p); err == nil || !strings.Contains(err.Error(), `nobody is signed in at "docs"`) {
		t.Errorf("signed out twice: %v", err)
	}
	other := mcpSignInCmd{Name: "other"}
	if err := other.Run(t.Context(), p); err == nil || !strings.Contains(err.Error(), "oauth: {browser: true}") {
		t.Errorf("a server that is not configured: %v", err)
	}
}
