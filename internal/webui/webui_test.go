package webui

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"
)

func site() *Site {
	long := strings.Repeat("x", 100)
	return From(fstest.MapFS{
		"index.html":                  {Data: []byte("<!doctype html>" + long)},
		"index.html.br":               {Data: []byte("index as br")},
		"assets/app-1a2b3c4d.js":      {Data: []byte("app" + long)},
		"assets/app-1a2b3c4d.js.br":   {Data: []byte("app as br")},
		"assets/app-1a2b3c4d.js.gz":   {Data: []byte("app as gzip")},
		"assets/style.css":            {Data: []byte("css")},
		"assets/style.css.gz":         {Data: []byte("longer than css")},
		"assets/icon.DkX0_a1B.svg":    {Data: []byte("<svg/>")},
		"assets/unknown-1a2b3c4d.xyz": {Data: []byte("?")},
	})
}

func get(t *testing.T, s *Site, name string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	if name == "" {
		s.Index(w, r)
	} else if !s.Asset(w, r, name) {
		w.Code = http.StatusNotFound
	}
	return w
}

func TestSite_ServesTheFormThatTheClientTakes(t *testing.T) {
	for _, c := range []struct{ name, accept, body, encoding string }{
		{"app-1a2b3c4d.js", "gzip, deflate, br, zstd", "app as br", "br"},
		{"app-1a2b3c4d.js", "gzip", "app as gzip", "gzip"},
		{"app-1a2b3c4d.js", "br;q=0, gzip;q=0.5", "app as gzip", "gzip"},
		{"app-1a2b3c4d.js", "*", "app as br", "br"},
		{"app-1a2b3c4d.js", "br;q=0, *", "app as gzip", "gzip"},
		{"app-1a2b3c4d.js", "", "app" + strings.Repeat("x", 100), ""},
		{"app-1a2b3c4d.js", "identity", "app" + strings.Repeat("x", 100), ""},
		{"style.css", "gzip", "css", ""}, // larger when compressed
		{"", "br", "index as br", "br"},
	} {
		w := get(t, site(), c.name, "Accept-Encoding", c.accept)
		if w.Code != http.StatusOK || w.Body.String() != c.body || w.Header().Get("Content-Encoding") != c.encoding {
			t.Errorf("%s for %q: %d %q as %q", c.name, c.accept, w.Code, w.Body, w.Header().Get("Content-Encoding"))
		}
		if !strings.Contains(w.Header().Get("Vary"), "Accept-Encoding") {
			t.Errorf("%s does not vary", c.name)
		}
	}
}

func TestSite_KeepsWhatNeverChanges(t *testing.T) {
	for name, forever := range map[string]bool{
		"": false, "app-1a2b3c4d.js": true, "icon.DkX0_a1B.svg": true, "style.css": false,
	} {
		w := get(t, site(), name)
		if got := strings.Contains(w.Header().Get("Cache-Control"), "immutable"); got != forever {
			t.Errorf("%q: %s", name, w.Header().Get("Cache-Control"))
		}
		again := get(t, site(), name, "If-None-Match", w.Header().Get("ETag"))
		if again.Code != http.StatusNotModified || again.Body.Len() > 0 {
			t.Errorf("%q asked for again: %d", name, again.Code)
		}
		other := get(t, site(), name, "If-None-Match", w.Header().Get("ETag"), "Accept-Encoding", "br")
		if compressed := other.Header().Get("Content-Encoding") != ""; compressed && other.Code != http.StatusOK {
			t.Errorf("%q in another form: %d", name, other.Code)
		}
	}
}

func TestSite_HasNothingElse(t *testing.T) {
	for _, name := range []string{"nothing.js", "../index.html", "/app-1a2b3c4d.js", ".", "", "app-1a2b3c4d.js.br", "a//b", "style.css/"} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		w := httptest.NewRecorder()
		if site().Asset(w, r, name) || len(w.Header()) > 0 {
			t.Errorf("%q: %v", name, w.Header())
		}
	}
	s := site()
	for i := range 3 * maxRead {
		s.Asset(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil), strings.Repeat("a", i%2000+1))
	}
	if len(s.read) > maxRead {
		t.Errorf("%d names are remembered", len(s.read))
	}
}

func TestSite_LetsThePageRunNothingInlineOrForeign(t *testing.T) {
	w := get(t, site(), "")
	h := w.Header()
	csp := h.Get("Content-Security-Policy")
	for _, directive := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "form-action 'none'", "base-uri 'none'", "frame-ancestors 'none'"} {
		if !strings.Contains(csp, directive) {
			t.Errorf("%q is not in %q", directive, csp)
		}
	}
	if strings.Contains(csp, "unsafe") || strings.Contains(csp, "http") {
		t.Error(csp)
	}
	for name, want := range map[string]string{
		"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cross-Origin-Opener-Policy": "same-origin",
		"Content-Type": "text/html; charset=utf-8",
	} {
		if h.Get(name) != want {
			t.Errorf("%s: %q", name, h.Get(name))
		}
	}
	for name, want := range map[string]string{
		"app-1a2b3c4d.js": "text/javascript; charset=utf-8", "style.css": "text/css; charset=utf-8", "icon.DkX0_a1B.svg": "image/svg+xml",
		"unknown-1a2b3c4d.xyz": "application/octet-stream",
	} {
		w := get(t, site(), name)
		if w.Header().Get("Content-Type") != want || w.Header().Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %v", name, w.Header())
		}
	}
}

// The built page must comply with the policy, or browsers would not run it.
func TestNew_HasAPageThatKeepsToThePolicy(t *testing.T) {
	w := get(t, New(), "")
	body := w.Body.String()
	if w.Code != http.StatusOK || !strings.Contains(strings.ToLower(body), "<!doctype html>") {
		t.Fatalf("%d %.100q", w.Code, body)
	}
	for _, inline := range []string{"<style", "style=", "onclick=", "onload=", "javascript:", "//cdn", "https://"} {
		if strings.Contains(body, inline) {
			t.Errorf("the page has %q", inline)
		}
	}
	if strings.Contains(body, "<script>") {
		t.Error("the page has an inline script")
	}
}
