package signin_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPage_RunsNothingAndSaysHowToSignIn(t *testing.T) {
	d := newDesk(t, setup{})
	r := d.do(d.browser(), http.MethodGet, "/sign-in?back=/%23/chat/1&signed_out", "")
	for _, part := range []string{"Sign in with Example Corp", `href="/sign-in/corp?back=%2f%23%2fchat%2f1"`, `name="key"`, `value="/#/chat/1"`, "You have signed out"} {
		if !strings.Contains(strings.ToLower(r.body), strings.ToLower(part)) {
			t.Errorf("the page lacks %s", part)
		}
	}
	csp := r.Header.Get("Content-Security-Policy")
	for _, part := range []string{"default-src 'none'", "form-action 'self'", "frame-ancestors 'none'", "base-uri 'none'", "style-src 'sha256-"} {
		if !strings.Contains(csp, part) {
			t.Errorf("%q is not in %q", part, csp)
		}
	}
	if strings.Contains(csp, "unsafe") || strings.Contains(csp, "script-src") || strings.Contains(r.body, "<script") || strings.Contains(r.body, "Go on without") ||
		r.Header.Get("Cache-Control") != "no-store" || r.Header.Get("Referrer-Policy") != "no-referrer" {
		t.Errorf("%q, %v", csp, r.Header)
	}
	open := newDesk(t, setup{anonymous: true})
	c := open.browser()
	u, _ := url.Parse(open.URL)
	c.Jar.SetCookies(u, []*http.Cookie{{Name: "parley-session", Value: "aaaaaaaaaaaaa_" + strings.Repeat("a", 52), Path: "/"}})
	open.expect(c, "401") // an ended session is not silently nobody
	if r := open.do(c, http.MethodGet, "/sign-in", ""); !strings.Contains(r.body, "Go on without signing in") {
		t.Errorf("%s", r.body)
	}
	open.expect(c, " ")
}

// Where browsers reach the server decides what the cookie is like, and whether there may be one.
func TestCookie_IsBoundToTheHostUnlessThatIsThisMachine(t *testing.T) {
	for name, x := range map[string]struct {
		public  string
		host    string
		headers map[string]string
		cookie  string // "" if nobody may sign in
		secure  bool
	}{
		"loopback":                        {"", "127.0.0.1:8000", nil, "parley-session", false},
		"localhost":                       {"", "localhost:8000", nil, "parley-session", false},
		"IPv6":                            {"", "[::1]:8000", nil, "parley-session", false},
		"a public address":                {"https://parley.example.com", "parley.example.com", nil, "__Host-parley-session", true},
		"a public address, by loopback":   {"https://parley.example.com", "127.0.0.1:8000", nil, "__Host-parley-session", true},
		"a proxy that says so":            {"", "parley.example.com", map[string]string{"X-Forwarded-Proto": "https"}, "__Host-parley-session", true},
		"a proxy that changes the host":   {"", "127.0.0.1:8000", map[string]string{"X-Forwarded-Proto": "https"}, "__Host-parley-session", true},
		"a browser that knows":            {"", "parley.example.com", map[string]string{"Origin": "https://parley.example.com"}, "__Host-parley-session", true},
		"no TLS":                          {"", "parley.example.com", nil, "", false},
		"no TLS, says the browser":        {"", "parley.example.com", map[string]string{"Origin": "http://parley.example.com"}, "", false},
		"a public address without TLS":    {"http://parley.example.com", "parley.example.com", nil, "", false},
		"a local public address":          {"http://localhost:8000", "localhost:8000", nil, "parley-session", false},
		"a name like that of the machine": {"", "localhost.example.com", nil, "", false},
	} {
		d := newDesk(t, setup{public: x.public})
		r := httptest.NewRequest(http.MethodPost, "/sign-in", strings.NewReader("key="+d.read))
		r.Host = x.host
		r.Header.Set("Content-Type", form)
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		for key, value := range x.headers {
			r.Header.Set(key, value)
		}
		w := httptest.NewRecorder()
		d.Config.Handler.ServeHTTP(w, r)
		set := w.Result().Cookies()
		if x.cookie == "" {
			if w.Code != http.StatusForbidden || len(set) != 0 || !strings.Contains(w.Body.String(), "https address") {
				t.Errorf("%s: %d %v", name, w.Code, set)
			}
			continue
		}
		if len(set) != 1 || w.Code != http.StatusSeeOther {
			t.Errorf("%s: %d %v", name, w.Code, set)
			continue
		}
		got := *set[0]
		want := http.Cookie{Name: x.cookie, Path: "/", MaxAge: 3600, HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: x.secure}
		text := got.Value
		got.Value, got.Raw = "", ""
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
		r = httptest.NewRequest(http.MethodGet, "/api/me", nil)
		r.Host = x.host
		for key, value := range x.headers {
			r.Header.Set(key, value)
		}
		r.AddCookie(&http.Cookie{Name: x.cookie, Value: text})
		w = httptest.NewRecorder()
		d.Config.Handler.ServeHTTP(w, r)
		if w.Code != http.StatusOK {
			t.Errorf("%s: the session is not found: %d %s", name, w.Code, w.Body)
		}
	}
}
