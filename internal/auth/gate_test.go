package auth_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"parley/internal/access"
	"parley/internal/auth"
	"parley/internal/auth/apikey"
	"parley/internal/auth/oidc"
	"parley/internal/store"
	"parley/internal/wire"
)

// issuer accepts the token "good".
type issuer struct{}

func (issuer) Verify(_ context.Context, token string) (access.Principal, error) {
	switch token {
	case "good":
		return access.Principal{Subject: "ann", Role: access.Reader}, nil
	case "crowd":
		return access.Principal{}, &oidc.Error{Msg: "You are in too many groups.", Forbidden: true}
	case "down":
		return access.Principal{}, errors.New("dial tcp: connection refused")
	}
	return access.Principal{}, &oidc.Error{Msg: "The token is not valid."}
}

type keys struct{ reader, editor, admin, limited, expired, revoked, path string }

func newKeys(t *testing.T) (*apikey.Book, keys) {
	t.Helper()
	db, err := store.Open(t.Context(), t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	old := time.Now().Add(-time.Hour)
	add := func(k apikey.Key, at time.Time) (string, string) {
		k, text, err := apikey.New(k, at)
		if err == nil {
			err = db.APIKeys().AddKey(t.Context(), k)
		}
		if err != nil {
			t.Fatal(err)
		}
		return k.ID, text
	}
	var all keys
	_, all.reader = add(apikey.Key{Role: access.Reader, Name: "r", Namespaces: []string{"a"}}, time.Now())
	_, all.editor = add(apikey.Key{Role: access.Editor}, time.Now())
	_, all.admin = add(apikey.Key{Role: access.Administrator}, time.Now())
	_, all.limited = add(apikey.Key{Role: access.Administrator, Namespaces: []string{"a"}}, time.Now())
	_, all.path = add(apikey.Key{Role: access.Reader, Routes: []string{"/v1/*"}}, time.Now())
	_, all.expired = add(apikey.Key{Role: access.Administrator, ExpiresAt: old.Add(time.Minute)}, old)
	id, revoked := add(apikey.Key{Role: access.Administrator}, time.Now())
	if err := db.APIKeys().RevokeKey(t.Context(), id, time.Now()); err != nil {
		t.Fatal(err)
	}
	all.revoked = revoked
	return apikey.NewBook(db.APIKeys(), slog.New(slog.DiscardHandler), time.Now), all
}

// statusOf admits a request and returns the status of the refusal, or 200.
func statusOf(g *auth.Gate, right wire.Right, headers ...string) (access.Principal, int, wire.Failure) {
	r := httptest.NewRequest(http.MethodPost, "/chat", nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	who, err := g.Admit(r, right)
	if err == nil {
		return who, http.StatusOK, wire.Failure{}
	}
	f := wire.FailureOf(err)
	return who, f.Status, f
}

func TestGate_AdmitsByRole(t *testing.T) {
	book, k := newKeys(t)
	g := auth.New(auth.Config{Keys: book, Changes: auth.ByEditors})
	for name, c := range map[string]struct {
		key                     string
		ask, change, administer int
	}{
		"nobody":                  {"", 401, 401, 401},
		"reader":                  {k.reader, 200, 403, 403},
		"editor":                  {k.editor, 200, 200, 403},
		"administrator":           {k.admin, 200, 200, 200},
		"administrator somewhere": {k.limited, 200, 200, 403},
		"another path":            {k.path, 403, 403, 403},
		"expired":                 {k.expired, 401, 401, 401},
		"revoked":                 {k.revoked, 401, 401, 401},
		"wrong":                   {k.admin[:len(k.admin)-3] + "zzz", 401, 401, 401},
		"made up":                 {"sk-1234", 401, 401, 401},
		"a password in a key":     {"parley_", 401, 401, 401},
	} {
		for _, header := range []string{"Authorization", "X-API-Key", "api-key"} {
			value := c.key
			if header == "Authorization" && c.key != "" {
				value = "Bearer " + c.key
			}
			for right, want := range map[wire.Right]int{wire.Ask: c.ask, wire.Change: c.change, wire.Administer: c.administer} {
				who, got, f := statusOf(g, right, header, value)
				if got != want {
					t.Errorf("%s by %s, right %d: %d, want %d", name, header, right, got, want)
				}
				if (got == 401) != strings.HasPrefix(f.Challenge, "Bearer ") {
					t.Errorf("%s by %s: %d with the challenge %q", name, header, got, f.Challenge)
				}
				if got != 200 && (who.Subject != "" || who.Role != "") {
					t.Errorf("%s by %s: refused and still %+v", name, header, who)
				}
				if c.key != "" && len(c.key) > 10 && strings.Contains(f.Text+f.Challenge, c.key) {
					t.Errorf("the refusal repeats the key: %s", f.Text)
				}
			}
		}
	}
}

func TestGate_ReadsOneCredential(t *testing.T) {
	book, k := newKeys(t)
	g := auth.New(auth.Config{Keys: book, Tokens: issuer{}})
	for name, c := range map[string]struct {
		headers []string
		want    int
	}{
		"a token":                   {[]string{"Authorization", "Bearer good"}, 200},
		"a token as a key":          {[]string{"api-key", "good"}, 200},
		"a bad token":               {[]string{"Authorization", "Bearer bad"}, 401},
		"a token without groups":    {[]string{"Authorization", "Bearer crowd"}, 403},
		"the provider is down":      {[]string{"Authorization", "Bearer down"}, 503},
		"other schemes do not sign": {[]string{"Authorization", "Basic good"}, 401},
		"a proxy's password beside": {[]string{"Authorization", "Basic eDp5", "X-Api-Key", k.reader}, 200},
		"two tokens":                {[]string{"Authorization", "Bearer good", "Authorization", "Bearer good"}, 401},
		"the token counts":          {[]string{"Authorization", "Bearer bad", "X-Api-Key", k.reader}, 401},
		"an empty token":            {[]string{"Authorization", "Bearer "}, 401},
		"a claim":                   {[]string{"X-User", "ann", "X-Forwarded-User", "ann"}, 401},
	} {
		if _, got, _ := statusOf(g, wire.Ask, c.headers...); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

func TestGate_AnonymousCallersAreAdmittedWhereTheSettingSaysSo(t *testing.T) {
	book, k := newKeys(t)
	none := apikey.NewBook(noKeys{}, nil, time.Now)
	for name, c := range map[string]struct {
		cfg                   auth.Config
		credential            string
		ask, change, instruct int
		administering         int
	}{
		"nobody signs in":                 {auth.Config{Keys: none, Anonymous: true, Changes: auth.ByAll}, "", 200, 200, 200, 401},
		"a client insists on a key":       {auth.Config{Keys: none, Anonymous: true, Changes: auth.ByAll}, "sk-dummy", 200, 200, 200, 401},
		"a key that never was":            {auth.Config{Keys: none, Anonymous: true}, k.reader, 401, 401, 401, 401},
		"no changes":                      {auth.Config{Keys: none, Anonymous: true}, "", 200, 403, 403, 401},
		"changes by editors, without any": {auth.Config{Keys: none, Anonymous: true, Changes: auth.ByEditors}, "", 200, 403, 403, 401},
		"changes by editors":              {auth.Config{Keys: book, Anonymous: true, Changes: auth.ByEditors}, "", 200, 401, 401, 401},
		"a wrong key beside right ones":   {auth.Config{Keys: book, Anonymous: true, Changes: auth.ByAll}, "sk-dummy", 401, 401, 401, 401},
		"a right key":                     {auth.Config{Keys: book, Anonymous: true, Changes: auth.ByAll}, k.reader, 200, 403, 403, 403},
		"no changes, not even by editors": {auth.Config{Keys: book, Changes: auth.ByNobody}, k.editor, 200, 403, 403, 403},
		"a bad token":                     {auth.Config{Keys: none, Tokens: issuer{}, Anonymous: true, Changes: auth.ByAll}, "bad", 401, 401, 401, 401},
	} {
		g := auth.New(c.cfg)
		var headers []string
		if c.credential != "" {
			headers = []string{"Authorization", "Bearer " + c.credential}
		}
		for right, want := range map[wire.Right]int{wire.Ask: c.ask, wire.Change: c.change, wire.Instruct: c.instruct, wire.Manage: c.administering, wire.Administer: c.administering} {
			if _, got, _ := statusOf(g, right, headers...); got != want {
				t.Errorf("%s, right %d: %d, want %d", name, right, got, want)
			}
		}
	}
}

type noKeys struct{}

func (noKeys) Key(context.Context, string) (apikey.Key, error) {
	return apikey.Key{}, apikey.ErrNotFound
}
func (noKeys) HasValidKey(context.Context, time.Time) (bool, error) { return false, nil }
func (noKeys) UsedKeys(context.Context, map[string]time.Time) error { return nil }
