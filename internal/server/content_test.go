package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"parley/internal/access"
	"parley/internal/wire"
)

func TestContent_ServesTheOriginalWithItsType(t *testing.T) {
	lib := newLibrary()
	lib.add("a b/ü#1?.pdf", "application/pdf", []byte("%PDF-1.7 …"))
	s := newServer(t, options{library: lib})
	w := do(s, http.MethodGet, "/content/a%20b/%C3%BC%231%3F.pdf", "")
	if w.Code != http.StatusOK || w.Body.String() != "%PDF-1.7 …" {
		t.Fatalf("status %d, body %q", w.Code, w.Body)
	}
	want := map[string]string{
		"Content-Type":                 "application/pdf",
		"Content-Disposition":          `inline; filename="_#1?.pdf"; filename*=UTF-8''%C3%BC%231%3F.pdf`,
		"Etag":                         `"sha-of-a b/ü#1?.pdf"`,
		"Cache-Control":                "private, no-cache",
		"X-Content-Type-Options":       "nosniff",
		"Cross-Origin-Resource-Policy": "cross-origin",
		"Accept-Ranges":                "bytes",
	}
	for name, value := range want {
		if got := w.Header().Get(name); got != value {
			t.Errorf("%s is %q, want %q", name, got, value)
		}
	}
	policy := w.Header().Get("Content-Security-Policy")
	if !strings.HasPrefix(policy, "default-src 'none'; ") || strings.Contains(policy, "sandbox") {
		t.Errorf("the policy for a PDF is %q", policy)
	}
}

func TestContent_ShowsOnlyWhatCannotRun(t *testing.T) {
	types := map[string]string{
		"application/pdf": "inline", "text/plain": "inline", "text/markdown": "inline", "text/csv": "inline",
		"image/png": "inline", "image/jpeg": "inline",
		"text/html": "attachment", "application/xhtml+xml": "attachment", "image/svg+xml": "attachment",
		"application/xml": "attachment", "text/xml": "attachment", "text/javascript": "attachment",
		"application/octet-stream": "attachment", "": "attachment", "text/html; x": "attachment", "nonsense": "attachment",
		"application/vnd.openxmlformats-officedocument.wordprocessingml.document": "attachment",
	}
	for mediaType, want := range types {
		lib := newLibrary()
		lib.add("x", mediaType, []byte("<script>alert(1)</script>"))
		w := do(newServer(t, options{library: lib}), http.MethodGet, "/content/x", "")
		if got, _, _ := strings.Cut(w.Header().Get("Content-Disposition"), ";"); got != want {
			t.Errorf("%q is %q, want %q", mediaType, got, want)
		}
		if w.Header().Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%q may be sniffed", mediaType)
		}
		sandboxed := strings.HasSuffix(w.Header().Get("Content-Security-Policy"), "; sandbox")
		if pdf := mediaType == "application/pdf"; sandboxed == pdf {
			t.Errorf("%q sandboxed: %v", mediaType, sandboxed)
		}
	}
}

func TestContent_NamesTheCharsetThatTheBytesShow(t *testing.T) {
	long := strings.Repeat("a", 64<<10-1) + "é and more"
	cases := []struct{ original, want string }{
		{"Grüße", "text/plain; charset=utf-8"},
		{"", "text/plain; charset=utf-8"},
		{"Gr\xfc\xdfe", "text/plain"},
		{"\xff\xfeG\x00", "text/plain; charset=utf-16le"},
		{"\xfe\xff\x00G", "text/plain; charset=utf-16be"},
		{long, "text/plain; charset=utf-8"},
		{long[:64<<10-2] + "\xfc\xfc\xfc\xfc", "text/plain"},
	}
	for _, c := range cases {
		lib := newLibrary()
		lib.add("x.txt", "text/plain", []byte(c.original))
		w := do(newServer(t, options{library: lib}), http.MethodGet, "/content/x.txt", "")
		if got := w.Header().Get("Content-Type"); got != c.want {
			t.Errorf("%.20q: %q, want %q", c.original, got, c.want)
		}
		if w.Body.String() != c.original {
			t.Errorf("%.20q: the body differs", c.original)
		}
	}
}

func TestContent_KnowsRangesAndETags(t *testing.T) {
	s := newServer(t, options{})
	w := do(s, http.MethodGet, "/content/handbook.txt", "", "Range", "bytes=11-12")
	if w.Code != http.StatusPartialContent || w.Body.String() != "is" {
		t.Errorf("range: status %d, body %q", w.Code, w.Body)
	}
	w = do(s, http.MethodGet, "/content/handbook.txt", "", "If-None-Match", `"sha-of-handbook.txt"`)
	if w.Code != http.StatusNotModified || w.Body.Len() != 0 {
		t.Errorf("If-None-Match: status %d, body %q", w.Code, w.Body)
	}
	w = do(s, http.MethodGet, "/content/handbook.txt", "", "Range", "bytes=900-")
	if w.Code != http.StatusRequestedRangeNotSatisfiable {
		t.Errorf("range beyond the end: status %d", w.Code)
	}
	var refused struct{ Error string }
	if err := json.Unmarshal(w.Body.Bytes(), &refused); err != nil || refused.Error != errNoRange.Error() ||
		w.Header().Get("Content-Type") != "application/json" || w.Header().Get("Content-Range") != "bytes */22" ||
		w.Header().Get("Content-Disposition") != "" {
		t.Errorf("range beyond the end: %v, body %q, header %v", err, w.Body, w.Header())
	}
	w = do(s, http.MethodGet, "/content/handbook.txt", "", "Range", "lines=1-2")
	if w.Code != http.StatusOK || w.Body.Len() != 22 {
		t.Errorf("a range of lines: status %d, body %q", w.Code, w.Body)
	}
	w = do(s, http.MethodHead, "/content/handbook.txt", "")
	if w.Code != http.StatusOK || w.Header().Get("Content-Length") != "22" {
		t.Errorf("HEAD: status %d, length %q", w.Code, w.Header().Get("Content-Length"))
	}
}

func TestContent_TakesACitationWithAnEscapedFragment(t *testing.T) {
	lib := newLibrary()
	lib.add("plan.pdf", "application/pdf", []byte("the plan"))
	lib.add("odd#page=1", "text/plain", []byte("its name holds a fragment"))
	s := newServer(t, options{library: lib})
	for path, want := range map[string]string{
		"/content/plan.pdf%23page=12": "the plan",
		"/content/odd%23page=1":       "its name holds a fragment",
	} {
		if w := do(s, http.MethodGet, path, ""); w.Code != http.StatusOK || w.Body.String() != want {
			t.Errorf("%s: status %d, body %q", path, w.Code, w.Body)
		}
	}
}

func TestContent_HidesWhatMayNotBeSeenLikeWhatIsNotThere(t *testing.T) {
	lib := newLibrary()
	lib.add("secret.txt", "text/plain", []byte("canary"))
	secret := lib.docs["secret.txt"]
	secret.Access = access.List{Users: []string{"alice"}}
	lib.docs["secret.txt"] = secret
	lib.add("foreign.txt", "text/plain", []byte("canary"))
	foreign := lib.docs["foreign.txt"]
	foreign.Namespace = "other"
	lib.docs["foreign.txt"] = foreign

	s := newServer(t, options{library: lib})
	unknown := do(s, http.MethodGet, "/content/unknown.txt", "")
	for _, path := range []string{"/content/secret.txt", "/content/foreign.txt", "/content/foreign.txt?namespace=other"} {
		w := do(s, http.MethodGet, path, "", "X-User", "alice", "Range", "bytes=0-3")
		if w.Code != http.StatusNotFound || w.Body.String() != unknown.Body.String() {
			t.Errorf("%s: status %d, body %q, want 404 and %q", path, w.Code, w.Body, unknown.Body)
		}
		a, b := w.Header().Clone(), unknown.Header().Clone()
		a.Del("X-Request-Id")
		b.Del("X-Request-Id")
		if !equalHeaders(a, b) {
			t.Errorf("%s: headers %v, want %v", path, a, b)
		}
	}

	deps := s.deps
	deps.Metrics = nil
	deps.Admit = func(*http.Request, wire.Right) (access.Principal, error) {
		return access.Principal{Subject: "alice"}, nil
	}
	if w := do(New(Config{}, deps), http.MethodGet, "/content/secret.txt", ""); w.Body.String() != "canary" {
		t.Errorf("alice gets status %d, body %q", w.Code, w.Body)
	}
}

func equalHeaders(a, b http.Header) bool {
	if len(a) != len(b) {
		return false
	}
	for name := range a {
		if !slices.Equal(a[name], b[name]) {
			return false
		}
	}
	return true
}

func TestContent_TellsNothingOfFaults(t *testing.T) {
	lib := newLibrary()
	lib.add("lost.txt", "text/plain", nil)
	delete(lib.blobs, "sha-of-lost.txt")
	var log bytes.Buffer
	w := do(newServer(t, options{library: lib, log: &log}), http.MethodGet, "/content/lost.txt", "")
	if w.Code != http.StatusInternalServerError || strings.Contains(w.Body.String(), "/var/secret") {
		t.Errorf("status %d, body %q", w.Code, w.Body)
	}
	if !strings.Contains(log.String(), "/var/secret") {
		t.Error("the reason is not in the log")
	}
	lib.err = errors.New("database is locked")
	w = do(newServer(t, options{library: lib}), http.MethodGet, "/content/handbook.txt", "")
	if w.Code != http.StatusInternalServerError || strings.Contains(w.Body.String(), "locked") {
		t.Errorf("status %d, body %q", w.Code, w.Body)
	}
}

// hostilePaths try to leave the corpus; row S7 of HARDENING.md. They are raw request targets.
var hostilePaths = []string{
	"/content/..", "/content/../", "/content/../etc/passwd", "/content/../../etc/passwd", "/content/./handbook.txt",
	"/content/x/../handbook.txt", "/content/%2e%2e", "/content/%2e%2e/%2e%2e/etc/passwd", "/content/%2E%2E/etc/passwd",
	"/content/.%2e/etc/passwd", "/content/%2e./etc/passwd", "/content/..%2fetc%2fpasswd", "/content/%2e%2e%2fetc%2fpasswd",
	"/content/%252e%252e/etc/passwd", "/content/%252e%252e%252fetc%252fpasswd", "/content/%25252e%25252e/x",
	"/content/..%252f..%252fetc/passwd", "/content/..\\..\\etc\\passwd", "/content/..%5c..%5cwindows%5cwin.ini",
	"/content/%5c%5cserver%5cshare", "/content/c:%5cwindows%5cwin.ini", "/content/C:/windows/win.ini",
	"/content/handbook.txt%00", "/content/handbook.txt%00.pdf", "/content/%00handbook.txt", "/content/%00",
	"/content//etc/passwd", "/content/%2fetc/passwd", "/content/%2Fhandbook.txt", "/content//handbook.txt",
	"/content/handbook.txt/", "/content/handbook.txt/.", "/content/handbook.txt/..", "/content/handbook.txt%2f",
	"/content/handbook.txt%20", "/content/%20handbook.txt", "/content/handbook.txt.", "/content/handbook.txt::$DATA",
	"/content/HANDBOOK.TXT", "/content/handbook%2etxt%2f..%2f..%2fetc", "/content/file:///etc/passwd",
	"/content/file:%2f%2f%2fetc%2fpasswd", "/content/http:%2f%2fevil.example/", "/content/%c0%ae%c0%ae/etc/passwd",
	"/content/%c0%ae%c0%ae%c0%afetc", "/content/%e0%80%ae%e0%80%ae/etc", "/content/%f0%80%80%ae/etc",
	"/content/%ff%fe", "/content/%ef%bc%8e%ef%bc%8e/etc/passwd", "/content/%e2%80%a5/etc/passwd",
	"/content/%e2%80%a4%e2%80%a4/etc/passwd", "/content/..%ef%bc%8fetc", "/content/%e2%88%95etc%e2%88%95passwd",
	"/content/%e3%80%82%e3%80%82/etc", "/content/%u002e%u002e/etc", "/content/..;/etc/passwd", "/content/..;x=y/etc",
	"/content/....//....//etc/passwd", "/content/.../etc", "/content/~root/.ssh/id_rsa", "/content/$HOME", "/content/%24%7bx%7d",
	"/content/`id`", "/content/;id", "/content/|id", "/content/con", "/content/nul.txt", "/content/.git/config",
	"/content/.env", "/content/proc/self/environ", "/content/dev/stdin", "/content/parley-data/blobs/sha-of-handbook.txt",
	"/content/sha-of-handbook.txt", "/content/%0d%0aSet-Cookie:x=y", "/content/%0a", "/content/%7f", "/content/*",
	"/content/?", "/content/", "/content/.", "/content/%2e", "/content/%23page=1", "/content/..%23page=1",
	"/content/handbook.txt%23page=1%00", "/content/%e2%80%ae%e2%80%8b", "/content/'%20OR%20'1'='1", "/content/%25",
	"/content/%2525", "/content/%", "/content/%zz", "/content/" + strings.Repeat("a", 5000),
	"/content/" + strings.Repeat("../", 1000) + "etc/passwd", "/content/" + strings.Repeat("%2e%2e/", 1000) + "etc/passwd",
	"/content/" + strings.Repeat("a/", 4000),
}

func TestContent_ServesNothingButDocumentsForHostilePaths(t *testing.T) {
	lib := newLibrary()
	l := start(t, options{library: lib})
	for _, path := range hostilePaths {
		status, body := raw(t, l.addr, "GET "+path+" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
		if status != http.StatusNotFound && status != http.StatusBadRequest {
			t.Errorf("%.80q: status %d, body %q", path, status, body)
		}
		if strings.Contains(body, "covered") {
			t.Errorf("%.80q serves a document: %q", path, body)
		}
	}
	for _, name := range lib.names {
		if strings.ContainsRune(name, 0) || strings.Contains("/"+name+"/", "/../") || strings.HasPrefix(name, "/") {
			t.Errorf("the hostile name %.80q was looked up", name)
		}
	}
}

func FuzzContent(f *testing.F) {
	for _, path := range hostilePaths {
		f.Add(strings.TrimPrefix(path, "/content/"))
	}
	f.Add("handbook.txt")
	f.Fuzz(func(t *testing.T, path string) {
		lib := newLibrary()
		s := newServer(t, options{library: lib})
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.URL = &url.URL{Path: "/content/" + path}
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, r)
		page, cited := strings.CutPrefix(path, "handbook.txt#page=")
		_, err := strconv.ParseUint(page, 10, 32)
		known := path == "handbook.txt" || cited && err == nil
		if known && w.Code != http.StatusOK || !known && w.Code != http.StatusNotFound {
			t.Errorf("%q: status %d", path, w.Code)
		}
		if !known && strings.Contains(w.Body.String(), "covered") {
			t.Errorf("%q serves a document", path)
		}
	})
}
