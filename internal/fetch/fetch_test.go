package fetch

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// recorder records and refuses every dial, so that no test leaves the machine.
type recorder struct {
	mu     sync.Mutex
	dialed []string
}

var errRefused = errors.New("refused by the test")

func (r *recorder) dial(_ context.Context, _, address string) (net.Conn, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dialed = append(r.dialed, address)
	return nil, errRefused
}

// guarded returns a client that resolves names from a table and whose dials are refused.
func guarded(names map[string][]string) (*Client, *recorder) {
	c, r := New(Options{Timeout: 5 * time.Second}), &recorder{}
	c.dial = r.dial
	c.lookup = func(_ context.Context, _, host string) ([]netip.Addr, error) {
		list, ok := names[host]
		if !ok {
			return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
		}
		var out []netip.Addr
		for _, s := range list {
			out = append(out, netip.MustParseAddr(s))
		}
		return out, nil
	}
	return c, r
}

func TestGet_DialsNoAddressThatIsNotPublic(t *testing.T) {
	names := map[string][]string{
		"localhost": {"127.0.0.1", "::1"}, "intranet.example": {"10.1.2.3"},
		"mixed.example": {"192.168.0.1", "fd00::1", "169.254.169.254"}, "metadata.google.internal": {"169.254.169.254"},
		// A C library's resolver accepts odd spellings of numeric addresses.
		"127.1": {"127.0.0.1"}, "0": {"0.0.0.0"}, "2130706433": {"127.0.0.1"}, "0x7f000001": {"127.0.0.1"},
		"0177.0.0.1": {"127.0.0.1"}, "0x7f.1": {"127.0.0.1"}, "017700000001": {"127.0.0.1"}, "127.0.1": {"127.0.0.1"},
		"2852039166": {"169.254.169.254"}, "0xa9fea9fe": {"169.254.169.254"},
		"127.0.0.1.nip.io": {"127.0.0.1"}, "spoofed.burpcollaborator.net": {"127.0.0.1"}, "zone.example": {"fe80::1%eth0"},
		"①②⑦.⓪.⓪.①": {"127.0.0.1"}, "localhost.": {"127.0.0.1"}, "LOCALHOST": {"127.0.0.1"},
	}
	for _, raw := range []string{
		"http://localhost/", "http://LOCALHOST/", "http://localhost./", "http://intranet.example/", "http://mixed.example/",
		"http://metadata.google.internal/computeMetadata/v1/", "http://127.0.0.1/", "http://127.0.0.1:8000/healthz",
		"http://127.1/", "http://127.0.1/", "http://0/", "http://0.0.0.0/", "http://2130706433/", "http://0x7f000001/",
		"http://0177.0.0.1/", "http://0x7f.1/", "http://017700000001/", "http://127.255.255.254/",
		"http://10.0.0.1/", "http://10.255.255.255/", "http://172.16.0.1/", "http://172.31.255.255/", "http://192.168.1.1/",
		"http://169.254.169.254/latest/meta-data/", "http://2852039166/", "http://0xa9fea9fe/", "http://100.64.0.1/",
		"http://100.100.100.200/", "http://192.0.0.192/", "http://192.0.2.1/", "http://198.18.0.1/", "http://198.51.100.1/",
		"http://203.0.113.1/", "http://192.88.99.1/", "http://224.0.0.1/", "http://239.255.255.255/", "http://240.0.0.1/", "http://255.255.255.255/",
		"http://[::]/", "http://[::1]/", "http://[0:0:0:0:0:0:0:1]/", "http://[::ffff:127.0.0.1]/", "http://[::ffff:7f00:1]/",
		"http://[::ffff:169.254.169.254]/", "http://[::127.0.0.1]/", "http://[64:ff9b::7f00:1]/", "http://[64:ff9b::169.254.169.254]/",
		"http://[64:ff9b:1::a9fe:a9fe]/", "http://[fe80::1]/", "http://[fe80::1%25eth0]/", "http://[fec0::1]/", "http://[fc00::1]/",
		"http://[fd00:ec2::254]/", "http://[ff02::1]/", "http://[2001::1]/", "http://[2001:db8::1]/", "http://[2002:7f00:1::]/",
		"http://[2002:a9fe:a9fe::]/", "http://[3fff::1]/", "http://[100::1]/", "http://[5f00::1]/", "http://127.0.0.1.nip.io/", "http://spoofed.burpcollaborator.net/",
		"http://zone.example/", "http://①②⑦.⓪.⓪.①/", "http://unknown.example/",
		"file:///etc/passwd", "gopher://127.0.0.1:6379/_INFO", "ftp://127.0.0.1/", "dict://127.0.0.1:11211/", "jar:http://127.0.0.1!/",
		"data:text/html,hi", "javascript:alert(1)", "unix:///var/run/docker.sock", "http://user@127.0.0.1/", "http://example.com@127.0.0.1/",
		"http://127.0.0.1#@example.com/", "http://127.0.0.1\\@example.com/", "http:///etc/passwd", "http://", "//127.0.0.1/", "/etc/passwd", "", "http://[::1", "http://127.0.0.1:0/",
		"http://127.0.0.1\r\nHost: example.com/", "http://" + strings.Repeat("a", 3000),
	} {
		c, dials := guarded(names)
		page, err := c.Get(t.Context(), raw, Known{})
		e, ok := errors.AsType[*Error](err)
		if page != nil || !ok || e.Msg == "" {
			t.Errorf("%q: page %v, error %v", raw, page, err)
		}
		if page, err := c.Hop(t.Context(), raw, Known{}, nil); page != nil || kindOf(err) != e.Kind {
			t.Errorf("%q without redirects: page %v, error %v", raw, page, err)
		}
		if len(dials.dialed) > 0 {
			t.Errorf("%q: dialled %v", raw, dials.dialed)
		}
	}
}

func TestGet_DialsPrivateAddressesOfAllowedHostsOnly(t *testing.T) {
	c, dials := guarded(map[string][]string{
		"wiki.corp": {"10.1.2.3"}, "other.corp": {"10.1.2.3"}, "a.wiki.corp": {"10.1.2.3"}, "wiki.corp.evil.example": {"10.1.2.3"}, "WIKI.corp.": {"10.1.2.3"},
	})
	c.opts.AllowHosts, c.opts.Allow = []string{"Wiki.Corp"}, networks("10.9.0.0/16", "fd00:1::/32")
	for _, raw := range []string{"http://other.corp/", "http://a.wiki.corp/", "http://wiki.corp.evil.example/", "http://10.1.2.3/", "http://[::ffff:10.1.2.3]/", "http://[fd00:2::1]/"} {
		if _, err := c.Get(t.Context(), raw, Known{}); kindOf(err) != KindForbidden {
			t.Errorf("%s: %v", raw, err)
		}
	}
	if len(dials.dialed) > 0 {
		t.Errorf("dialled %v", dials.dialed)
	}
	for _, raw := range []string{"http://wiki.corp/", "https://WIKI.corp./", "http://10.9.1.1:8080/", "http://[::ffff:10.9.1.1]/", "http://[fd00:1::1]/"} {
		_, _ = c.Get(t.Context(), raw, Known{})
	}
	if got := strings.Join(dials.dialed, " "); got != "10.1.2.3:80 10.1.2.3:443 10.9.1.1:8080 10.9.1.1:80 [fd00:1::1]:80" {
		t.Errorf("dialled %s", got)
	}
}

func TestHop_TellsARedirectInsteadOfFollowingIt(t *testing.T) {
	asked := 0
	c, base := local(t, Options{}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		w.Header().Set("X-Robots-Tag", "noindex")
		w.Header().Add("X-Robots-Tag", "parley: nofollow")
		switch r.URL.Path {
		case "/nowhere":
			w.WriteHeader(http.StatusFound)
		default:
			http.Redirect(w, r, "/x", http.StatusFound)
		}
	}))
	page, err := c.Hop(t.Context(), base+"/a", Known{}, nil)
	if err != nil || page.Location != "/x" || page.Body != nil || page.Robots != "noindex, parley: nofollow" || asked != 1 {
		t.Errorf("page %+v, %v after %d requests", page, err, asked)
	}
	if _, err := c.Hop(t.Context(), base+"/nowhere", Known{}, nil); kindOf(err) != KindStatus {
		t.Errorf("a redirect to nowhere: %v", err)
	}
}

func TestHop_ReadsNoBodyThatIsNotWanted(t *testing.T) {
	c, base := local(t, Options{Timeout: time.Minute}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/untyped" {
			w.Header()["Content-Type"] = nil
			fmt.Fprint(w, "\x89PNG\r\n\x1a\n")
			return
		}
		w.Header().Set("Content-Type", "Video/MP4")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done() // a body that never arrives
	}))
	var seen []string
	accept := func(mediaType string) bool { seen = append(seen, mediaType); return false }
	for _, path := range []string{"/film", "/untyped"} {
		if _, err := c.Hop(t.Context(), base+path, Known{}, accept); kindOf(err) != KindType {
			t.Errorf("%s: %v", path, err)
		}
	}
	if got := strings.Join(seen, " "); got != "video/mp4 image/png" {
		t.Errorf("asked about %s", got)
	}
}

func TestGet_DialsOnlyThePublicAddressesOfAName(t *testing.T) {
	c, dials := guarded(map[string][]string{"both.example": {"10.0.0.1", "93.184.216.34", "::1", "2606:2800:220:1::1"}})
	if _, err := c.Get(t.Context(), "https://both.example/x", Known{}); err == nil {
		t.Fatal("no error")
	}
	if got := strings.Join(dials.dialed, " "); got != "93.184.216.34:443 [2606:2800:220:1::1]:443" {
		t.Errorf("dialled %s", got)
	}
}

func TestGet_ResolvesANameOnceForEachConnection(t *testing.T) {
	c, dials := guarded(nil)
	answers := [][]netip.Addr{{netip.MustParseAddr("93.184.216.34")}, {netip.MustParseAddr("127.0.0.1")}}
	asked := 0
	c.lookup = func(context.Context, string, string) ([]netip.Addr, error) {
		asked++
		return answers[min(asked, len(answers))-1], nil
	}
	_, _ = c.Get(t.Context(), "http://rebinding.example/", Known{})
	if got := strings.Join(dials.dialed, " "); got != "93.184.216.34:80" || asked != 1 {
		t.Errorf("dialled %s after %d questions", got, asked)
	}
}

// local returns a client that may read a loopback test server, and the server's URL.
func local(t *testing.T, opts Options, h http.Handler) (*Client, string) {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	opts.Allow = networks("127.0.0.0/8")
	c := New(opts)
	t.Cleanup(c.Close)
	return c, s.URL
}

func kindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return ""
}

func TestGet_ReadsAPage(t *testing.T) {
	c, base := local(t, Options{}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/old" {
			http.Redirect(w, r, "/new?x=1#part", http.StatusMovedPermanently)
			return
		}
		w.Header().Set("Content-Type", "Text/HTML; charset=ISO-8859-1")
		w.Header().Set("ETag", `"v1"`)
		if r.Header.Get("If-None-Match") == `"v1"` {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		fmt.Fprint(w, "<p>hello")
	}))
	page, err := c.Get(t.Context(), base+"/old#top", Known{})
	if err != nil {
		t.Fatal(err)
	}
	if page.URL != base+"/new?x=1" || page.MediaType != "text/html" || page.Charset != "ISO-8859-1" ||
		string(page.Body) != "<p>hello" || page.ETag != `"v1"` {
		t.Errorf("page = %+v", page)
	}
	page, err = c.Get(t.Context(), base+"/new", Known{ETag: page.ETag})
	if err != nil || !page.NotModified || page.Body != nil {
		t.Errorf("page = %+v, %v", page, err)
	}
}

func TestGet_ChecksWhereARedirectLeads(t *testing.T) {
	c, base := local(t, Options{}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.URL.Query().Get("to"), http.StatusFound)
	}))
	for to, want := range map[string]Kind{
		"http://169.254.169.254/latest": KindForbidden, "http://[::1]:1/": KindForbidden, "http://10.0.0.1/": KindForbidden,
		"file:///etc/passwd": KindURL, "http://me:pw@127.0.0.1/": KindURL, "gopher://127.0.0.1/": KindURL,
	} {
		if _, err := c.Get(t.Context(), base+"/?to="+to, Known{}); kindOf(err) != want {
			t.Errorf("%s: %v", to, err)
		}
	}
}

func TestGet_KeepsItsLimits(t *testing.T) {
	hops := 0
	c, base := local(t, Options{MaxBytes: 1000, Timeout: time.Minute}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/loop":
			hops++
			http.Redirect(w, r, "/loop", http.StatusFound)
		case "/large":
			_, _ = w.Write(make([]byte, 1001))
		case "/bomb":
			w.Header().Set("Content-Encoding", "gzip")
			var b bytes.Buffer
			z := gzip.NewWriter(&b)
			_, _ = z.Write(make([]byte, 1<<20))
			_ = z.Close()
			_, _ = w.Write(b.Bytes())
		case "/slow":
			<-r.Context().Done()
		case "/gone":
			w.WriteHeader(http.StatusGone)
		}
	}))
	for path, want := range map[string]Kind{
		"/loop": KindRedirects, "/large": KindTooLarge, "/bomb": KindTooLarge, "/gone": KindStatus,
	} {
		if _, err := c.Get(t.Context(), base+path, Known{}); kindOf(err) != want {
			t.Errorf("%s: %v", path, err)
		}
	}
	hasty := New(Options{Timeout: 50 * time.Millisecond, Allow: networks("127.0.0.0/8")})
	t.Cleanup(hasty.Close)
	if _, err := hasty.Get(t.Context(), base+"/slow", Known{}); kindOf(err) != KindTimeout {
		t.Errorf("/slow: %v", err)
	}
	if hops != 6 {
		t.Errorf("%d hops", hops)
	}
}

func TestGet_EndsWithItsCaller(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c, base := local(t, Options{}, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	}))
	if _, err := c.Get(ctx, base, Known{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestGet_UsesNoProxyOfTheEnvironment(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	t.Setenv("http_proxy", "http://127.0.0.1:1")
	c, dials := guarded(map[string][]string{"example.com": {"93.184.216.34"}})
	_, _ = c.Get(t.Context(), "http://example.com/", Known{})
	if got := strings.Join(dials.dialed, " "); got != "93.184.216.34:80" {
		t.Errorf("dialled %s", got)
	}
}

func TestRetryAfter_ReadsSecondsAndDates(t *testing.T) {
	in := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(http.TimeFormat) }
	for value, want := range map[string]time.Duration{
		"": 0, "soon": 0, "-5": 0, "7": 7 * time.Second, in(-time.Hour): 0, in(time.Hour): time.Hour,
	} {
		if got := retryAfter(value); got < want-2*time.Second || got > want {
			t.Errorf("%q: %v, want %v", value, got, want)
		}
	}
}

func networks(list ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(list))
	for i, s := range list {
		out[i] = netip.MustParsePrefix(s)
	}
	return out
}
