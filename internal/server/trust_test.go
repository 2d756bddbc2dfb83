package server

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestCORS_AnswersPreflightsOnEveryRouteAndMethod(t *testing.T) {
	s := newServer(t, options{})
	for _, rt := range s.endpoints {
		for _, method := range []string{"GET", "POST", "PUT", "DELETE"} {
			w := do(s, http.MethodOptions, clientPath(rt.path), "",
				"Origin", "http://localhost:5173", "Access-Control-Request-Method", method,
				"Access-Control-Request-Headers", "content-type,authorization")
			h := w.Header()
			if w.Code != http.StatusNoContent || w.Body.Len() != 0 {
				t.Errorf("%s for %s: status %d, body %q", rt.path, method, w.Code, w.Body)
			}
			if got := h.Get("Access-Control-Allow-Origin"); got != "http://localhost:5173" {
				t.Errorf("%s: origin %q", rt.path, got)
			}
			if got := h.Get("Access-Control-Allow-Methods"); got != "GET, POST, PUT, DELETE" {
				t.Errorf("%s: methods %q", rt.path, got)
			}
			for _, name := range []string{
				"content-type", "authorization", "x-ms-useragent", "x-chat-protocol", "idempotency-key", "last-event-id",
			} {
				if !strings.Contains(h.Get("Access-Control-Allow-Headers"), name) {
					t.Errorf("%s: header %s is not allowed", rt.path, name)
				}
			}
			if got := strings.Join(h.Values("Vary"), ", "); got != "Origin, Access-Control-Request-Method, Access-Control-Request-Headers" {
				t.Errorf("%s: Vary %q", rt.path, got)
			}
			if h.Get("Access-Control-Allow-Credentials") != "" {
				t.Errorf("%s: credentials are allowed", rt.path)
			}
		}
	}
}

func TestCORS_HeadersStandOnAnswersErrorsAndStreams(t *testing.T) {
	l := start(t, options{})
	cases := []struct {
		name, method, path, body string
		status                   int
	}{
		{"answer", "POST", "/chat", question, 200},
		{"stream", "POST", "/chat/stream", question, 200},
		{"SDK stream", "POST", "/api/chat/stream", question, 200},
		{"invalid", "POST", "/chat", `{}`, 400},
		{"unknown path", "POST", "/nothing", ``, 404},
		{"wrong method", "PUT", "/chat", ``, 405},
		{"too large", "POST", "/chat", strings.Repeat(" ", 1<<20+1), 413},
		{"document", "GET", "/content/handbook.txt", ``, 200},
		{"no document", "GET", "/content/none", ``, 404},
	}
	for _, c := range cases {
		req, err := http.NewRequest(c.method, l.url+c.path, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Origin", "http://127.0.0.1:3000")
		res, err := l.client.Do(req)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		_, _ = io.Copy(io.Discard, res.Body)
		res.Body.Close()
		if res.StatusCode != c.status {
			t.Errorf("%s: status %d, want %d", c.name, res.StatusCode, c.status)
		}
		if got := res.Header.Get("Access-Control-Allow-Origin"); got != "http://127.0.0.1:3000" {
			t.Errorf("%s: origin %q", c.name, got)
		}
		for _, name := range []string{"X-Turn-Id", "Retry-After"} {
			if !strings.Contains(res.Header.Get("Access-Control-Expose-Headers"), name) {
				t.Errorf("%s: %s is not exposed", c.name, name)
			}
		}
	}
}

func TestTrust_KnowsOrigins(t *testing.T) {
	cases := []struct {
		origins   []string
		publicURL string
		origin    string
		want      bool
	}{
		{nil, "", "http://localhost", true},
		{nil, "", "http://localhost:3000", true},
		{nil, "", "https://localhost:8443", true},
		{nil, "", "http://app.localhost:3000", true},
		{nil, "", "http://127.0.0.1:5173", true},
		{nil, "", "http://127.8.9.1", true},
		{nil, "", "http://[::1]:3000", true},
		{nil, "", "http://[::ffff:127.0.0.1]:3000", true},
		{nil, "", "null", false},
		{nil, "", "", false},
		{nil, "", "https://evil.example", false},
		{nil, "", "http://localhost.evil.example", false},
		{nil, "", "http://evil-localhost", false},
		{nil, "", "http://localhost@evil.example", false},
		{nil, "", "http://evil.example@localhost", false},
		{nil, "", "http://127.0.0.1.evil.example", false},
		{nil, "", "http://128.0.0.1", false},
		{nil, "", "http://0.0.0.0:8000", false},
		{nil, "", "http://192.168.0.2", false},
		{nil, "", "http://2130706433", false},
		{nil, "", "ftp://localhost", false},
		{nil, "", "file://localhost", false},
		{nil, "", "http://localhost/path", false},
		{nil, "", "http://localhost http://evil.example", false},
		{nil, "https://docs.example", "https://docs.example", true},
		{nil, "https://docs.example:443/base/", "https://docs.example", true},
		{nil, "https://docs.example:8443", "https://docs.example:8443", true},
		{nil, "https://docs.example", "http://docs.example", false},
		{nil, "https://docs.example", "https://docs.example:8443", false},
		{[]string{"https://chat.example"}, "", "https://chat.example", true},
		{[]string{"https://chat.example/"}, "", "https://chat.example", true},
		{[]string{"https://Chat.Example"}, "", "https://chat.example", true},
		{[]string{"https://chat.example"}, "", "http://chat.example", false},
		{[]string{"https://chat.example"}, "", "https://chat.example:444", false},
		{[]string{"https://chat.example"}, "", "https://x.chat.example", false},
		{[]string{"https://chat.example"}, "", "http://localhost:3000", false},
		{[]string{"*"}, "", "https://anything.example", true},
	}
	for _, c := range cases {
		tr := newTrust(c.origins, c.publicURL)
		if got := tr.origin(c.origin); got != c.want {
			t.Errorf("origins %v, public URL %q: origin %q is %v, want %v", c.origins, c.publicURL, c.origin, got, c.want)
		}
	}
}

func TestTrust_RefusesToChangeStateForOtherSites(t *testing.T) {
	cases := []struct {
		name    string
		cfg     Config
		headers []string
		status  int
	}{
		{"no browser", Config{}, nil, 200},
		{"trusted origin", Config{}, []string{"Origin", "http://localhost:3000"}, 200},
		{"trusted origin, cross-site", Config{}, []string{"Origin", "http://127.0.0.1:3000", "Sec-Fetch-Site", "cross-site"}, 200},
		{"own page", Config{}, []string{"Origin", "http://localhost:8000", "Sec-Fetch-Site", "same-origin"}, 200},
		{"own page of another name", Config{Origins: []string{"https://a.example"}}, []string{"Origin", "http://localhost:8000"}, 200},
		{"unknown origin", Config{}, []string{"Origin", "https://evil.example"}, 403},
		{"unknown origin, cross-site", Config{}, []string{"Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"}, 403},
		{"sandboxed frame", Config{}, []string{"Origin", "null"}, 403},
		{"cross-site without origin", Config{}, []string{"Sec-Fetch-Site", "cross-site"}, 403},
		{"loopback when others are configured", Config{Origins: []string{"https://a.example"}}, []string{"Origin", "http://localhost:3000"}, 403},
		{"everyone", Config{Origins: []string{"*"}}, []string{"Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"}, 200},
	}
	for _, c := range cases {
		adapter := &catcher{}
		s := newServer(t, options{cfg: c.cfg, wrap: adapter.wrap})
		for _, path := range postPaths(s) {
			adapter.got = nil
			w := do(s, http.MethodPost, path, question, c.headers...)
			if w.Code != c.status || (adapter.got != nil) != (c.status == 200) {
				t.Errorf("%s: POST %s: status %d, want %d; adapter called: %v", c.name, path, w.Code, c.status, adapter.got != nil)
			}
		}
		// The server allows reading, but without CORS headers the browser does not show the reply to the
		// page.
		w := do(s, http.MethodGet, "/config", "", c.headers...)
		if w.Code != http.StatusOK {
			t.Errorf("%s: GET /config: status %d", c.name, w.Code)
		}
		if allowed := w.Header().Get("Access-Control-Allow-Origin"); c.status == 403 && allowed != "" {
			t.Errorf("%s: GET /config allows %q", c.name, allowed)
		}
	}
	s := newServer(t, options{})
	w := do(s, http.MethodOptions, "/chat", "", "Origin", "https://evil.example", "Access-Control-Request-Method", "POST")
	if w.Code != http.StatusForbidden || w.Header().Get("Access-Control-Allow-Methods") != "" {
		t.Errorf("preflight of an unknown origin: status %d, headers %v", w.Code, w.Header())
	}
}

func TestTrust_NeverCombinesTheWildcardWithCredentials(t *testing.T) {
	s := newServer(t, options{cfg: Config{Origins: []string{"*"}}})
	w := do(s, http.MethodGet, "/config", "", "Origin", "https://a.example")
	if got := w.Header().Get("Access-Control-Allow-Origin"); got != "*" {
		t.Errorf("origin %q, want *", got)
	}
	if w.Header().Get("Access-Control-Allow-Credentials") != "" {
		t.Error("credentials are allowed")
	}
}

func TestTrust_AnswersOnLoopbackOnlyForItsOwnNames(t *testing.T) {
	cases := []struct {
		host      string
		publicURL string
		loopback  bool
		want      bool
	}{
		{"localhost", "", true, true},
		{"localhost:8000", "", true, true},
		{"LOCALHOST:8000", "", true, true},
		{"localhost.:8000", "", true, true},
		{"parley.localhost:8000", "", true, true},
		{"127.0.0.1", "", true, true},
		{"127.0.0.1:8000", "", true, true},
		{"127.1.2.3:9", "", true, true},
		{"[::1]:8000", "", true, true},
		{"[::1]", "", true, true},
		{"", "", true, true},
		{"evil.example", "", true, false},
		{"evil.example:8000", "", true, false},
		{"localhost.evil.example", "", true, false},
		{"127.0.0.1.evil.example", "", true, false},
		{"127.0.0.1.nip.io:8000", "", true, false},
		{"0.0.0.0:8000", "", true, false},
		{"192.168.1.4:8000", "", true, false},
		{"[fe80::1]:8000", "", true, false},
		{"2130706433", "", true, false},
		{"localhost:8000:evil.example", "", true, false},
		{"docs.example", "https://docs.example", true, true},
		{"Docs.Example:443", "https://docs.example/base", true, true},
		{"evil.example", "https://docs.example", true, false},
		{"evil.example", "", false, true},
		{"docs.example", "", false, true},
	}
	for _, c := range cases {
		tr := newTrust(nil, c.publicURL)
		if got := tr.host(c.host, c.loopback); got != c.want {
			t.Errorf("host %q, public URL %q, loopback %v: %v, want %v", c.host, c.publicURL, c.loopback, got, c.want)
		}
	}
}

func TestServe_AnswersAnUnknownHostOnLoopbackWith421OnEveryRoute(t *testing.T) {
	l := start(t, options{})
	for _, path := range append(pathsOf(l.Server, http.MethodGet), postPaths(l.Server)...) {
		for _, method := range []string{"GET", "POST", "OPTIONS"} {
			req, err := http.NewRequest(method, l.url+path, strings.NewReader(question))
			if err != nil {
				t.Fatal(err)
			}
			req.Host = "rebound.example:8000"
			res, err := l.client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(res.Body)
			res.Body.Close()
			if res.StatusCode != http.StatusMisdirectedRequest {
				t.Errorf("%s %s: status %d", method, path, res.StatusCode)
			}
			errorOf(t, body)
		}
	}
}

// What shows the chat on its pages may read nothing but the chat, and what may call the server need not show it.
func TestEmbed_IsForItsOwnOriginsOnly(t *testing.T) {
	s := newServer(t, options{cfg: Config{Origins: []string{"https://api.example"}, EmbedOrigins: []string{"https://shop.example"}}})
	for _, c := range []struct {
		path, origin string
		status       int
		readable     bool
	}{
		{"/embed", "", http.StatusOK, false}, // a frame
		{"/embed", "https://shop.example", http.StatusOK, true},
		{"/embed", "https://api.example", http.StatusForbidden, false},
		{"/embed", "https://shop.example.evil.example", http.StatusForbidden, false},
		{"/embed", "null", http.StatusForbidden, false},
		{"/embed.js", "https://evil.example", http.StatusOK, false},
		{"/api/namespaces", "https://shop.example", http.StatusOK, false},
	} {
		w := do(s, http.MethodGet, c.path, "", "Origin", c.origin)
		h := w.Header()
		if readable := h.Get("Access-Control-Allow-Origin") == c.origin && c.origin != ""; w.Code != c.status || readable != c.readable {
			t.Errorf("%s for %q: status %d, %v", c.path, c.origin, w.Code, h)
		}
		if h.Get("Access-Control-Allow-Credentials") != "" || h.Get("Set-Cookie") != "" {
			t.Errorf("%s for %q: %v", c.path, c.origin, h)
		}
	}
	w := do(s, http.MethodPost, "/chat", `{"messages":[{"role":"user","content":"hello"}]}`, "Origin", "https://shop.example")
	if w.Code != http.StatusForbidden {
		t.Errorf("a site that shows the chat posts: %d", w.Code)
	}
	frame, page := do(s, http.MethodGet, "/embed", "").Header(), do(s, http.MethodGet, "/", "", "Accept", "text/html").Header()
	if csp := frame.Get("Content-Security-Policy"); !strings.HasSuffix(csp, "; frame-ancestors 'self' https://shop.example") || strings.Contains(csp, "unsafe") ||
		frame.Get("X-Frame-Options") != "" {
		t.Errorf("the chat: %v", frame)
	}
	if csp := page.Get("Content-Security-Policy"); !strings.HasSuffix(csp, "frame-ancestors 'none'") || page.Get("X-Frame-Options") != "DENY" {
		t.Errorf("the page: %v", page)
	}
	if resource := do(s, http.MethodGet, "/embed.js", "").Header().Get("Cross-Origin-Resource-Policy"); resource != "cross-origin" {
		t.Errorf("the script is for %q", resource)
	}
}
