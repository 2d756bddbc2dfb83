package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/internal/auth/session"
	"parley/internal/store"
	"parley/internal/wire/azurechat"
)

// startProvider runs a script of test/sdk that is an identity provider until the test ends, and decodes what it prints.
func startProvider(t *testing.T, script string, into any, env ...string) {
	t.Helper()
	cmd := exec.Command("node", script)
	cmd.Dir, cmd.Env = requireSDK(t, "oidc-provider"), append(os.Environ(), env...)
	var complaints strings.Builder
	cmd.Stderr = &complaints
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stdin.Close(); _ = cmd.Wait() })
	if err := json.NewDecoder(stdout).Decode(into); err != nil {
		t.Fatalf("start the provider: %v: %s", err, complaints.String())
	}
}

// signInSeen is the report of test/ui/signin.mjs.
type signInSeen struct {
	Heading, Account, Readable, Posted, Wrong, Goodbye string
	Cookies                                            []struct {
		Name     string
		HTTPOnly bool
		SameSite string
	}
	Me, WithKey     struct{ Subject, Name, Role string }
	Attacks         map[string]string
	Still, Left     int
	Errors, Scripts []string
}

// A person signs in at a certified provider in a real browser, and other origins cannot use the session.
func TestPage_SignsPeopleInAndOut(t *testing.T) {
	pageTest(t)
	var provider struct{ Issuer string }
	startProvider(t, "oidc-page.mjs", &provider)
	docs, data := t.TempDir(), filepath.Join(t.TempDir(), "data")
	if err := os.WriteFile(filepath.Join(docs, "lighthouse.md"), []byte("# The lighthouse\n\nThe lighthouse of Skagen is 46 metres tall.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var key, complaints bytes.Buffer
	if code := run(t.Context(), []string{"keys", "create", "--data", data, "--name", "for the page"}, &key, &complaints, environment(nil)); code != 0 {
		t.Fatal(complaints.String())
	}
	setting := fmt.Sprintf("{test: {title: Test, issuer: %q, client_id: page, client_secret_env: HUSH, scopes: [openid, email, groups], editors: writers}}", provider.Issuer)
	p := serveIngested(t, []string{"PARLEY_AUTH_OIDC=" + setting, "HUSH=hush"}, "--data", data, docs)
	evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<!doctype html><title>evil</title>"))
	}))
	defer evil.Close()
	var seen signInSeen
	onPage(t, "signin", p.addr, map[string]any{"evil": evil.URL, "key": strings.TrimSpace(key.String())}, &seen)
	if len(seen.Errors)+len(seen.Scripts) > 0 {
		t.Errorf("errors %q, blocked %q", seen.Errors, seen.Scripts)
	}
	if seen.Me.Subject != "writer-ann" || seen.Me.Role != "editor" || seen.Account != "Sign out (writer-ann@example.com)" || seen.Heading != "Sign in to Parley" {
		t.Errorf("%q: %q is %+v", seen.Heading, seen.Account, seen.Me)
	}
	if len(seen.Cookies) != 1 || seen.Cookies[0].Name != "parley-session" || !seen.Cookies[0].HTTPOnly || seen.Cookies[0].SameSite != "Lax" || seen.Readable != "" {
		t.Errorf("cookies %+v; scripts read %q", seen.Cookies, seen.Readable)
	}
	// Origins of this machine may call the server as anybody; the session of the page is not theirs.
	want := map[string]string{"read": "unreadable", "blind": "unreadable", "sign out": "unreadable", "change": "unreadable"}
	if diff := cmp.Diff(want, seen.Attacks); diff != "" {
		t.Errorf("from another port (-want +got)\n%s", diff)
	}
	if !strings.Contains(seen.Posted, "Only this server") || seen.Still != http.StatusOK {
		t.Errorf("a form of another port: %q; the session then: %d", seen.Posted, seen.Still)
	}
	if seen.Left != 0 || !strings.Contains(seen.Wrong, "not valid") || seen.WithKey.Name != "for the page" || !strings.Contains(seen.Goodbye, "signed out") {
		t.Errorf("%+v", seen)
	}
}

func TestSessions_AreListedAndEnded(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	do := func(args ...string) (string, int) {
		var out, complaints bytes.Buffer
		code := run(t.Context(), append(args, "--data", data), &out, &complaints, environment(nil))
		return out.String() + complaints.String(), code
	}
	if text, code := do("sessions"); code == 0 || !strings.Contains(text, "nothing is stored") {
		t.Errorf("an empty folder: %d %s", code, text)
	}
	db, err := store.Open(t.Context(), data, nil)
	if err != nil {
		t.Fatal(err)
	}
	book := session.NewBook(db.Sessions(), nil, time.Hour, time.Now)
	var all []session.Session
	for _, subject := range []string{"ann", "bob", "bob"} {
		s, _, err := book.Begin(t.Context(), session.Session{Subject: subject, Name: subject + "@example.com", Issuer: "https://login.example.com", Claims: []byte("{}")}, "")
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if text, code := do("sessions"); code != 0 || strings.Count(text, "bob@example.com") != 2 || !strings.Contains(text, all[0].ID) {
		t.Errorf("%d %s", code, text)
	}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"end"}, 2, "name the id"}, {[]string{"end", "x", "--user", "y"}, 2, "name the id"}, {[]string{"end", "nothing"}, 2, "there is no session nothing"},
		{[]string{"end", all[0].ID}, 0, "has ended"}, {[]string{"end", "--user", "bob"}, 0, "2 sessions ended"}, {[]string{"list"}, 0, "Nobody is signed in"},
	} {
		if text, code := do(append([]string{"sessions"}, c.args...)...); code != c.code || !strings.Contains(text, c.want) {
			t.Errorf("%v: %d %s", c.args, code, text)
		}
	}
}

func TestIssuers_SayHowFrontEndsSignPeopleIn(t *testing.T) {
	t.Parallel()
	for setting, want := range map[string]*azurechat.SignIn{
		`{a: {issuer: https://login.microsoftonline.com/t/v2.0, audience: api://p}}`:                                                          nil,
		`{a: {issuer: https://login.microsoftonline.com/t/v2.0, audience: api://p, spa_client_id: s}}`:                                        {ClientID: "s", Authority: "https://login.microsoftonline.com/t", Scopes: []string{"api://p/access_as_user"}, Required: true},
		`{a: {issuer: "https://sts.windows.net/t/", audience: [api://p, q], spa_client_id: s, spa_scopes: x}}`:                                {ClientID: "s", Authority: "https://login.microsoftonline.com/t", Scopes: []string{"x"}, Required: true},
		`{a: {issuer: "https://login.example.com/realms/r", audience: p, spa_client_id: s}, b: {issuer: https://b, client_id: b, prefix: b}}`: {ClientID: "s", Authority: "https://login.example.com/realms/r", Plain: true, Scopes: []string{"openid", "profile", "email"}, Required: true},
	} {
		var s issuers
		if err := s.UnmarshalText([]byte(setting)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, s.signIn(true)); diff != "" || s.check() != nil {
			t.Errorf("%s: %v (-want +got)\n%s", setting, s.check(), diff)
		}
	}
}

func TestProxies_RefuseSettingsThatWouldLetStrangersIn(t *testing.T) {
	t.Parallel()
	for setting, want := range map[string]string{
		`{a: {from: 10.0.0.1, secret_env: S, user: X-User}}`: "", `{a: {from: [10.0.0.0/8, "::1"], secret_env: S, user: X-User}}`: "",
		`{a: {secret_env: S, user: X-User}}`: "from is empty", `{a: {from: everywhere, secret_env: S, user: X-User}}`: "neither an address",
		`{a: {from: 10.0.0.1, user: X-User}}`: "secret_env is empty", `{a: {from: 10.0.0.1, secret_env: S}}`: "user is empty",
		`{A: {from: 10.0.0.1, secret_env: S, user: X-User}}`:                                                   "not a valid name",
		`{a: {from: 10.0.0.1, secret_env: S, user: X-User}, b: {from: 10.0.0.1, secret_env: S, user: X-User}}`: "cannot be told apart",
	} {
		var s proxies
		if err := s.UnmarshalText([]byte(setting)); err != nil {
			t.Fatal(err)
		}
		if err := s.check(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", setting, err, want)
		}
	}
	var s proxies
	if err := s.UnmarshalText([]byte(`{a: {from: 10.0.0.1, secret_env: S, user: X-User}}`)); err != nil {
		t.Fatal(err)
	}
	for value, want := range map[string]string{"": "is not set", "short": "fewer than 24"} {
		if _, err := s.list(func(string) (string, bool) { return value, true }); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", value, err)
		}
	}
}
