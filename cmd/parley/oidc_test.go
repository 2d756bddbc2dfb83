package main

import (
	"fmt"
	"net/http"
	"path/filepath"
	"testing"
)

// A certified provider's tokens sign in at the binary.
func TestServe_TakesTheTokensOfARealProvider(t *testing.T) {
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
