package auth_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"parley/internal/access"
	"parley/internal/auth"
	"parley/internal/auth/apikey"
	"parley/internal/wire"
)

// signed makes a token as LibreChat does.
func signed(header, claims, secret string) string {
	text := base64.RawURLEncoding.EncodeToString([]byte(header)) + "." + base64.RawURLEncoding.EncodeToString([]byte(claims))
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(text))
	return text + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func TestGate_SharedTokensAreGoodForTheirPathsOnly(t *testing.T) {
	const secret, hs256 = "0123456789abcdef0123456789abcdef", `{"alg":"HS256","typ":"JWT"}`
	now := time.Now().Unix()
	claims := fmt.Sprintf(`{"id":"66a1","iat":%d,"exp":%d}`, now, now+300)
	good := signed(hs256, claims, secret)
	g := auth.New(auth.Config{
		Keys: apikey.NewBook(noKeys{}, nil, time.Now), Changes: auth.ByEditors, Anonymous: true,
		Shared: &auth.Shared{Secret: []byte(secret), Path: "/p/librechat/", Subject: "librechat:"},
	})
	admit := func(path, token string) (access.Principal, int) {
		r := httptest.NewRequest(http.MethodPost, path, nil)
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		who, err := g.Admit(r, wire.Change)
		if err == nil {
			return who, http.StatusOK
		}
		return who, wire.FailureOf(err).Status
	}
	if who, status := admit("/p/librechat/embed", good); status != 200 || who.Subject != "librechat:66a1" || who.Role != access.Editor {
		t.Errorf("a good token: %d %+v", status, who)
	}
	for _, path := range []string{"/upload", "/p/librechat", "/p/librechatx/embed", "/v1/files"} {
		if who, status := admit(path, good); status == 200 || who.Subject != "" {
			t.Errorf("%s: %d %+v", path, status, who)
		}
	}
	parts := strings.Split(good, ".")
	for name, token := range map[string]string{
		"none":                    "",
		"no token":                "abc",
		"another secret":          signed(hs256, claims, secret+"x"),
		"an empty secret":         signed(hs256, claims, ""),
		"alg none":                base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`)) + "." + parts[1] + ".",
		"alg none, signed":        signed(`{"alg":"none"}`, claims, secret),
		"another algorithm":       signed(`{"alg":"HS512"}`, claims, secret),
		"an asymmetric algorithm": signed(`{"alg":"RS256"}`, claims, secret),
		"no signature":            parts[0] + "." + parts[1] + ".",
		"changed claims":          parts[0] + "." + base64.RawURLEncoding.EncodeToString([]byte(`{"id":"root","exp":9999999999}`)) + "." + parts[2],
		"a critical extension":    signed(`{"alg":"HS256","crit":["x"],"x":1}`, claims, secret),
		"expired":                 signed(hs256, fmt.Sprintf(`{"id":"66a1","exp":%d}`, now-120), secret),
		"without an end":          signed(hs256, `{"id":"66a1"}`, secret),
		"an end that is a string": signed(hs256, `{"id":"66a1","exp":"9999999999"}`, secret),
		"not valid yet":           signed(hs256, fmt.Sprintf(`{"id":"66a1","exp":%d,"nbf":%d}`, now+300, now+120), secret),
		"nobody":                  signed(hs256, fmt.Sprintf(`{"sub":"66a1","exp":%d}`, now+300), secret),
		"an id that is a number":  signed(hs256, fmt.Sprintf(`{"id":5,"exp":%d}`, now+300), secret),
		"an id with a line end":   signed(hs256, fmt.Sprintf(`{"id":"a\nb","exp":%d}`, now+300), secret),
		"a long token":            signed(hs256, fmt.Sprintf(`{"id":"a","exp":%d,"x":%q}`, now+300, strings.Repeat("x", 10_000)), secret),
		"claims that are a list":  signed(hs256, `[]`, secret),
	} {
		if who, status := admit("/p/librechat/embed", token); status != http.StatusUnauthorized || who.Subject != "" {
			t.Errorf("%s: %d %+v", name, status, who)
		}
	}
}
