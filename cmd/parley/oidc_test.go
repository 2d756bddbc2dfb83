package main

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"parley/test/needs"
)

// A certified provider's tokens sign in at the binary.
func TestServe_TakesTheTokensOfARealProvider(t *testing.T) {
	needs.Long(t)
	t.Parallel()
	var provider struct{ Issuer, Good, Foreign, Opaque string }
	startProvider(t, "oidc.mjs", &provider)
	setting := fmt.Sprintf("{test: {issuer: %q, audience: parley, clients: [app], editors: writers}}", provider.Issuer)
	p := startServe(t, []string{"PARLEY_AUTH_OIDC=" + setting}, "--data", filepath.Join(t.TempDir(), "data"))
	if err := awaitReady(p.addr); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, method, path, token string
		want                      int
	}{
		{"no token", http.MethodGet, "/api/jobs", "", http.StatusUnauthorized},
		{"its token", http.MethodGet, "/api/jobs", provider.Good, http.StatusOK},
		{"its token, as an editor", http.MethodPost, "/upload", provider.Good, http.StatusUnsupportedMediaType},
		{"its token, as an administrator", http.MethodGet, "/api/keys", provider.Good, http.StatusForbidden},
		{"a token for another audience", http.MethodGet, "/api/jobs", provider.Foreign, http.StatusUnauthorized},
		{"an opaque token", http.MethodGet, "/api/jobs", provider.Opaque, http.StatusUnauthorized},
		{"a changed token", http.MethodGet, "/api/jobs", provider.Good[:len(provider.Good)-8] + "AAAAAAAA", http.StatusUnauthorized},
	} {
		req, err := http.NewRequestWithContext(t.Context(), c.method, "http://"+p.addr+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if c.token != "" {
			req.Header.Set("Authorization", "Bearer "+c.token)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if challenge := resp.Header.Get("WWW-Authenticate"); resp.StatusCode != c.want || (c.want == http.StatusUnauthorized) != (challenge != "") {
			t.Errorf("%s: status %d with the challenge %q, want %d", c.name, resp.StatusCode, challenge, c.want)
		}
	}
}

// The library with which the front ends of the Azure samples sign people in, MSAL.js, does it by what /auth_setup says. As in
// their development server, the front end has an origin of its own, which passes the server's paths on.
func TestAuthSetup_LetsMSALSignPeopleInAtARealProvider(t *testing.T) {
	requirePage(t)
	files := filepath.Join(requireSDK(t, "@azure/msal-browser"), "node_modules", "@azure", "msal-browser", "lib")
	t.Parallel()
	mux := http.NewServeMux()
	front := httptest.NewTLSServer(mux)
	defer front.Close()
	key, err := x509.MarshalPKCS8PrivateKey(front.TLS.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	keyPEM := string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}))
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: front.Certificate().Raw})
	var provider struct{ Issuer string }
	startProvider(t, "oidc-page.mjs", &provider, "TLS_KEY="+keyPEM, "TLS_CERT="+string(certPEM))

	docs, trusted := t.TempDir(), filepath.Join(t.TempDir(), "trusted.pem")
	err = errors.Join(os.WriteFile(trusted, certPEM, 0o600),
		os.WriteFile(filepath.Join(docs, "lighthouse.md"), []byte("---\nusers: [ann]\n---\n# The lighthouse\n\nThe lighthouse of Skagen is 46 metres tall.\n"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	setting := fmt.Sprintf("{test: {issuer: %q, audience: parley, spa_client_id: spa, spa_scopes: [ask]}}", provider.Issuer)
	p := serveIngested(t, []string{"PARLEY_AUTH_OIDC=" + setting, "SSL_CERT_FILE=" + trusted}, "--data", filepath.Join(t.TempDir(), "data"), docs)
	mux.Handle("/", &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(&url.URL{Scheme: "http", Host: p.addr})
		r.Out.Header.Del("Origin") // which is that of the front end
	}})
	for path, script := range map[string]string{"/{$}": "msal-browser.min.js", "/redirect": "redirect-bridge/msal-redirect-bridge.min.js"} {
		program, err := os.ReadFile(filepath.Join(files, filepath.FromSlash(script)))
		if err != nil {
			t.Fatal(err)
		}
		if path == "/redirect" {
			program = append(program, ";msalRedirectBridge.broadcastResponseToMainFrame()"...)
		}
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, "<!doctype html><title>Front end</title><script>%s</script>", program)
		})
	}
	var seen struct {
		UseLogin                   bool
		Anonymous, Subject, Answer string
		Me                         []string
	}
	onPage(t, "msal", p.addr, map[string]any{"front": front.URL}, &seen)
	if !seen.UseLogin || seen.Anonymous != "401 " || seen.Subject != "ann" || !slices.Contains(seen.Me, "ann") {
		t.Errorf("before and after the sign-in: %+v", seen)
	}
	if !strings.HasPrefix(seen.Answer, "200 ") || !strings.Contains(seen.Answer, "46 metres") {
		t.Errorf("with a token of MSAL.js: %+v", seen)
	}
}
