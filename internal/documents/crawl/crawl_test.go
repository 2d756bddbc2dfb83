package crawl

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"parley/internal/fetch"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// answer is the answer of a test's site at a path.
type answer struct {
	status  int    // 0 means 200
	media   string // "" means text/html
	body    string
	etag    string
	to      string // Location header
	headers map[string]string
}

// web is a site on loopback. The first path segment of an address names its host, so that the tests can
// have several hosts.
type web struct {
	t      *testing.T
	server *httptest.Server
	client *fetch.Client
	base   string

	mu     sync.Mutex
	pages  map[string]answer // keys are paths with queries
	asked  []string          // "GET /path", "cond /path" for a conditional request
	bodies int               // how many bodies were sent
}

func newWeb(t *testing.T, pages map[string]answer) *web {
	w := &web{t: t, pages: pages}
	w.server = httptest.NewServer(w)
	w.client = fetch.New(fetch.Options{Timeout: 20 * time.Second, Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	w.base = w.server.URL
	t.Cleanup(func() { w.client.Close(); w.server.Close() })
	return w
}

func (w *web) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	key, how := r.URL.RequestURI(), "GET "
	a, ok := w.pages[key]
	conditional := r.Header.Get("If-None-Match") != ""
	if conditional {
		how = "cond "
	}
	w.asked = append(w.asked, how+key)
	w.mu.Unlock()
	if !ok {
		http.NotFound(rw, r)
		return
	}
	for k, v := range a.headers {
		rw.Header().Set(k, v)
	}
	if a.etag != "" {
		rw.Header().Set("ETag", a.etag)
		if r.Header.Get("If-None-Match") == a.etag {
			rw.WriteHeader(http.StatusNotModified)
			return
		}
	}
	if a.media == "" {
		a.media = "text/html; charset=utf-8"
	}
	rw.Header().Set("Content-Type", a.media)
	if a.to != "" {
		rw.Header().Set("Location", a.to)
		a.status = max(a.status, http.StatusMovedPermanently)
	}
	w.mu.Lock()
	w.bodies++
	w.mu.Unlock()
	rw.WriteHeader(max(a.status, http.StatusOK))
	fmt.Fprint(rw, a.body)
}

// take returns the requests since it was last called.
func (w *web) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	asked := w.asked
	w.asked = nil
	return asked
}

// walk visits a site. It returns what happened to each address, sorted and in short form, and the state
// to remember.
func (w *web) walk(site Site, memory map[string]Remembered, opts ...func(*Options)) (visits []string, state map[string]Remembered) {
	w.t.Helper()
	o := Options{Delay: -1}
	for _, set := range opts {
		set(&o)
	}
	site.URL = w.base + site.URL
	state = maps.Clone(memory)
	if state == nil {
		state = map[string]Remembered{}
	}
	for v, err := range New(w.client, o).Walk(w.t.Context(), site, memory) {
		if err != nil {
			w.t.Fatal(err)
		}
		path := strings.TrimPrefix(v.URL, w.base)
		switch v.Outcome {
		case Fetched:
			visits = append(visits, "fetched "+path)
			state[v.URL] = Remembered{State: v.State, SHA256: v.SHA256, Live: true}
		case Unchanged:
			visits = append(visits, "unchanged "+path)
		case Duplicate:
			visits = append(visits, "duplicate "+path+" of "+strings.TrimPrefix(v.To, w.base))
			state[v.URL] = Remembered{State: v.State, SHA256: v.SHA256, Detail: v.Detail}
		case Gone:
			visits = append(visits, "gone "+path)
			delete(state, v.URL)
		case Refused:
			visits = append(visits, "refused "+path+" "+string(v.Reason))
		case Failed:
			visits = append(visits, "failed "+path+" "+string(v.Reason))
		case Noted:
			state[v.URL] = Remembered{State: v.State}
		case Stopped:
			visits = append(visits, "stopped "+string(v.Reason))
		}
	}
	slices.Sort(visits)
	return visits, state
}

func (w *web) want(got []string, want ...string) {
	w.t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		w.t.Errorf("visits (-want +got):\n%s", diff)
	}
}

func link(paths ...string) string {
	var b strings.Builder
	for _, p := range paths {
		fmt.Fprintf(&b, "<p><a href='%s'>%s</a>", p, p)
	}
	return b.String()
}

func TestWalk_StaysWithinPrefixAndDepth(t *testing.T) {
	w := newWeb(t, map[string]answer{
		"/docs/":           {body: link("a.html", "/docs/sub/b#x", "/docs/sub/b", "/other", "//example.com/docs/x", "javascript:alert(1)", "mailto:a@b", "pic.png", "x.zip")},
		"/docs/a.html":     {body: link("c.html") + "a"},
		"/docs/c.html":     {body: link("d.html") + "c"},
		"/docs/d.html":     {body: "too far"},
		"/docs/sub/b":      {body: link("../", "../../docs2/", "c.html") + "b"},
		"/docs/sub/c.html": {body: "deep c"},
		"/docs2/":          {body: "outside"},
	})
	got, _ := w.walk(Site{URL: "/docs/", Depth: 2}, nil)
	w.want(got, "fetched /docs/", "fetched /docs/a.html", "fetched /docs/c.html", "fetched /docs/sub/b", "fetched /docs/sub/c.html")
	got, _ = w.walk(Site{URL: "/docs/", Depth: 0}, nil)
	w.want(got, "fetched /docs/")
	got, _ = w.walk(Site{URL: "/docs/", Depth: 9, Prefix: "/docs/sub/"}, nil)
	w.want(got, "fetched /docs/", "fetched /docs/sub/b", "fetched /docs/sub/c.html")
}

func TestWalk_AsksOnlyWhetherWhatItRemembersHasChanged(t *testing.T) {
	w := newWeb(t, map[string]answer{
		"/robots.txt": {body: "User-agent: *\nDisallow: /private/\nSitemap: /nowhere\n", etag: `"r"`, media: "text/plain"},
		"/":           {body: link("/a", "/b", "/private/x"), etag: `"1"`},
		"/a":          {body: link("/c") + "a", etag: `"2"`},
		"/b":          {body: "b", etag: `"3"`},
		"/c":          {body: "c", etag: `"4"`},
		"/private/x":  {body: "secret"},
	})
	got, memory := w.walk(Site{URL: "/", Depth: 3}, nil)
	w.want(got, "fetched /", "fetched /a", "fetched /b", "fetched /c", "refused /private/x robots")
	if asked := w.take(); slices.Contains(asked, "GET /private/x") {
		t.Errorf("asked for what robots.txt forbids: %q", asked)
	}
	w.bodies = 0
	got, _ = w.walk(Site{URL: "/", Depth: 3}, memory)
	w.want(got, "refused /private/x robots", "unchanged /", "unchanged /a", "unchanged /b", "unchanged /c")
	if diff := cmp.Diff([]string{"cond /robots.txt", "cond /", "cond /a", "cond /b", "cond /c"}, w.take()); diff != "" || w.bodies != 0 {
		t.Errorf("%d bodies, requests (-want +got):\n%s", w.bodies, diff)
	}
}

func TestWalk_GivesEachContentOneAddress(t *testing.T) {
	w := newWeb(t, map[string]answer{
		"/":          {body: link("/a?utm_source=x&id=1", "/a?id=1#top", "/old", "/copy", "/canonical", "/loop1", "/twin", "/soft")},
		"/a?id=1":    {body: "a"},
		"/old":       {to: "/new?fbclid=1"},
		"/new":       {body: "new"},
		"/copy":      {body: "<link rel='nofollow canonical' href='/original'>copy"},
		"/original":  {body: "original"},
		"/canonical": {body: "<link rel=canonical href='https://elsewhere.example/x'>ours"},
		"/loop1":     {to: "/loop2"},
		"/loop2":     {to: "/loop1"},
		"/twin":      {body: "a"},
		"/soft":      {body: "<meta http-equiv=Refresh content='0; URL=/target'>moved"},
		"/target":    {body: "target"},
	})
	got, memory := w.walk(Site{URL: "/", Depth: 1}, nil)
	want := []string{"duplicate /copy of /original", "duplicate /old of /new", "duplicate /soft of /target", "duplicate /twin of /a?id=1",
		"fetched /", "fetched /a?id=1", "fetched /canonical", "fetched /new", "fetched /original", "fetched /target",
		"refused /loop1 redirect", "refused /loop2 redirect"}
	w.want(got, want...)
	again, _ := w.walk(Site{URL: "/", Depth: 1}, memory)
	w.want(again, want...)
}

func TestWalk_KeepsAPageWhoseCanonicalAddressIsNotThere(t *testing.T) {
	w := newWeb(t, map[string]answer{
		"/":  {body: link("/a", "/b", "/c")},
		"/a": {body: "<link rel=canonical href=/gone>a", etag: `"a"`},
		"/b": {body: "<link rel=canonical href=/c>b", etag: `"b"`},
		"/c": {body: "<link rel=canonical href=/b>c", etag: `"c"`},
	})
	got, memory := w.walk(Site{URL: "/", Depth: 1}, nil)
	w.want(got, "duplicate /c of /b", "fetched /", "fetched /a", "fetched /b", "gone /gone")
	got, memory = w.walk(Site{URL: "/", Depth: 1}, memory)
	w.want(got, "duplicate /c of /b", "fetched /", "unchanged /a", "unchanged /b")
	w.pages["/c"] = answer{body: "c is the one now", etag: `"c2"`}
	got, _ = w.walk(Site{URL: "/", Depth: 1}, memory)
	if !slices.Contains(got, "fetched /c") {
		t.Error(got)
	}
}

func TestWalk_TellsGoneFromNotThereAtTheMoment(t *testing.T) {
	w := newWeb(t, map[string]answer{
		"/": {body: link("/a", "/b")}, "/a": {body: "a"}, "/b": {body: link("/c") + "b"}, "/c": {body: "c"}, "/alone": {body: "alone"},
	})
	_, memory := w.walk(Site{URL: "/", Depth: 2}, nil)
	memory[w.base+"/alone"] = Remembered{Live: true}
	memory[w.base+"/lost"] = Remembered{Live: true}
	w.pages["/a"] = answer{status: 410}
	w.pages["/b"] = answer{status: 500}
	got, _ := w.walk(Site{URL: "/", Depth: 2}, memory)
	w.want(got, "failed /b status", "fetched /", "fetched /alone", "fetched /c", "gone /a", "gone /lost")
}

func TestWalk_FollowsRedirectsOfTheFirstPage(t *testing.T) {
	w := newWeb(t, map[string]answer{
		"/start": {to: "/manual/v2/"}, "/manual/v2/": {body: link("a", "/start/x")}, "/manual/v2/a": {body: "a"}, "/start/x": {body: "x"},
	})
	got, _ := w.walk(Site{URL: "/start", Depth: 1}, nil)
	w.want(got, "duplicate /start of /manual/v2/", "fetched /manual/v2/", "fetched /manual/v2/a")
	got, _ = w.walk(Site{URL: "/start", Depth: 1, Prefix: "/start"}, nil)
	w.want(got, "refused /start redirect")
}

func TestWalk_TellsWhenARedirectLeadsToNoPage(t *testing.T) {
	w := newWeb(t, map[string]answer{"/": {body: link("/a", "/b")}, "/a": {to: "/c"}, "/b": {to: "/d"}, "/d": {status: 500}})
	got, _ := w.walk(Site{URL: "/", Depth: 1}, nil)
	w.want(got, "failed /b status", "failed /d status", "fetched /", "gone /c", "refused /a redirect")
}

func TestWalk_EndsRedirectsAtFive(t *testing.T) {
	pages := map[string]answer{"/": {body: link("/0")}}
	for i := range 20 {
		pages[fmt.Sprintf("/%d", i)] = answer{to: fmt.Sprintf("/%d", i+1)}
	}
	w := newWeb(t, pages)
	got, _ := w.walk(Site{URL: "/", Depth: 1}, nil)
	if !slices.Contains(got, "refused /5 redirect") || slices.ContainsFunc(w.take(), func(s string) bool { return s == "GET /6" }) {
		t.Error(got)
	}
}

func TestWalk_HeedsWhatPagesAskForOfRobots(t *testing.T) {
	w := newWeb(t, map[string]answer{
		"/":       {body: link("/meta", "/header", "/both", "/other") + "<a rel='ugc nofollow' href=/never>"},
		"/meta":   {body: "<meta name=ROBOTS content='NoIndex'>" + link("/from-meta")},
		"/header": {headers: map[string]string{"X-Robots-Tag": "otherbot: all, parley: none"}, body: link("/from-header")},
		"/both":   {body: "<meta name=parley content=nofollow>" + link("/from-both")},
		"/other":  {headers: map[string]string{"X-Robots-Tag": "otherbot: noindex"}, body: "other"},
		"/never":  {body: "never"}, "/from-meta": {body: "1"}, "/from-header": {body: "2"}, "/from-both": {body: "3"},
	})
	got, _ := w.walk(Site{URL: "/", Depth: 2}, nil)
	w.want(got, "fetched /", "fetched /both", "fetched /from-meta", "fetched /other", "refused /header noindex", "refused /meta noindex")
}

func TestWalk_AsksForNothingWhileRobotsCannotBeRead(t *testing.T) {
	for status, want := range map[int][]string{
		http.StatusNotFound:           {"fetched /"},
		http.StatusForbidden:          {"fetched /"},
		http.StatusTooManyRequests:    {"failed / unreachable"},
		http.StatusServiceUnavailable: {"failed / unreachable"},
	} {
		w := newWeb(t, map[string]answer{"/": {body: "x"}, "/robots.txt": {status: status}})
		got, _ := w.walk(Site{URL: "/"}, nil)
		w.want(got, want...)
	}
}

func TestWalk_IsBoundedOnALinkFarm(t *testing.T) {
	var n int
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "text/html")
		if r.URL.Path == "/robots.txt" {
			http.NotFound(rw, r)
			return
		}
		n++
		for i := range 3000 {
			fmt.Fprintf(rw, "<a href='%d/%d'>x</a>", n, i)
		}
	}))
	defer server.Close()
	w := newWeb(t, nil)
	w.base = server.URL
	got, _ := w.walk(Site{URL: "/", Depth: 100, Pages: 10}, nil)
	if n != 10 || len(got) != 11 || got[10] != "stopped limit" {
		t.Errorf("%d requests: %q", n, got)
	}
}

func TestWalk_IsBoundedWhereNothingIsAPage(t *testing.T) {
	pages := map[string]answer{"/": {}}
	var links []string
	for i := range 900 {
		links = append(links, fmt.Sprintf("/missing%d", i))
	}
	pages["/"] = answer{body: link(links...)}
	w := newWeb(t, pages)
	got, _ := w.walk(Site{URL: "/", Depth: 1, Pages: 10}, nil)
	if asked := len(w.take()); asked > 4*10+22 || !slices.Contains(got, "stopped limit") {
		t.Errorf("%d requests", asked)
	}
}

func TestWalk_LeavesAHostAloneThatIsDown(t *testing.T) {
	w := newWeb(t, map[string]answer{
		"/":  {body: link("/1", "/2", "/3", "/4", "/5")},
		"/1": {status: 503}, "/2": {status: 429}, "/3": {status: 503}, "/4": {body: "4"}, "/5": {body: "5"},
	})
	memory := map[string]Remembered{w.base + "/5": {Live: true}}
	got, _ := w.walk(Site{URL: "/", Depth: 1}, memory)
	w.want(got, "failed /1 status", "failed /2 status", "failed /3 status", "fetched /", "stopped unreachable")
}

func TestWalk_DialsNoPrivateAddress(t *testing.T) {
	w := newWeb(t, map[string]answer{
		"/": {body: link("/a", "http://10.0.0.1/", "http://169.254.169.254/latest/")}, "/a": {to: "http://[::1]:1/x"},
	})
	got, _ := w.walk(Site{URL: "/", Depth: 1}, nil)
	w.want(got, "fetched /", "refused /a redirect")
	private := fetch.New(fetch.Options{}) // with no exception for loopback
	defer private.Close()
	w.client = private
	got, _ = w.walk(Site{URL: "/"}, nil)
	w.want(got, "failed / private-address")
}

func TestWalk_ReadsSitemaps(t *testing.T) {
	w := newWeb(t, map[string]answer{"/docs/": {body: "start"}, "/docs/a": {body: "a"}, "/docs/b": {body: "b"}, "/x": {body: "x"}})
	w.pages["/robots.txt"] = answer{body: "Sitemap: " + w.base + "/map.xml\nSitemap: http://example.com/map.xml"}
	w.pages["/map.xml"] = answer{etag: `"m"`, media: "application/xml",
		body: "<!DOCTYPE x [<!ENTITY e 'x'>]><sitemapindex><sitemap><loc>" + w.base + "/more.xml</loc></sitemap></sitemapindex>"}
	w.pages["/more.xml"] = answer{etag: `"n"`, media: "application/xml", body: "<urlset><url><loc> " + w.base + "/docs/a </loc></url><url><loc>" +
		w.base + "/x</loc></url><url><loc>" + w.base + "/docs/b#y</loc></url><url><loc>http://10.0.0.1/docs/z</loc></url></urlset>"}
	want := []string{"fetched /docs/", "fetched /docs/a", "fetched /docs/b"}
	got, memory := w.walk(Site{URL: "/docs/", Depth: 1}, nil)
	w.want(got, want...)
	w.take()
	got, _ = w.walk(Site{URL: "/docs/", Depth: 1}, memory)
	w.want(got, want...)
	if asked := w.take(); !slices.Contains(asked, "cond /map.xml") || !slices.Contains(asked, "cond /more.xml") {
		t.Error(asked)
	}
	got, _ = w.walk(Site{URL: "/docs/", Depth: 0}, nil)
	w.want(got, "fetched /docs/")
}

func TestWalk_ReadsCompressedSitemaps(t *testing.T) {
	w := newWeb(t, map[string]answer{"/docs/": {body: "start"}, "/docs/a": {body: "a"}, "/docs/b": {body: "b"}})
	w.pages["/robots.txt"] = answer{body: "Sitemap: " + w.base + "/map.xml.gz"}
	w.pages["/map.xml.gz"] = answer{media: "application/x-gzip", body: gzipped(t,
		"<sitemapindex><sitemap><loc>"+w.base+"/a.xml.gz</loc></sitemap><sitemap><loc>"+w.base+"/b</loc></sitemap>"+
			"<sitemap><loc>"+w.base+"/broken.xml.gz</loc></sitemap></sitemapindex>")}
	w.pages["/a.xml.gz"] = answer{media: "text/xml", body: gzipped(t, "<urlset><url><loc>"+w.base+"/docs/a</loc></url></urlset>")}
	w.pages["/b"] = answer{media: "application/octet-stream", body: gzipped(t, "<urlset><url><loc>"+w.base+"/docs/b</loc></url></urlset>")}
	w.pages["/broken.xml.gz"] = answer{media: "application/gzip", body: "\x1f\x8b\x08 no gzip"}
	got, _ := w.walk(Site{URL: "/docs/", Depth: 1}, nil)
	w.want(got, "fetched /docs/", "fetched /docs/a", "fetched /docs/b")
}

// 20 MB of blanks become 20 kB. ReadSitemap must not read beyond its limit.
func TestReadSitemap_DecompressesNoFurtherThanItsBound(t *testing.T) {
	link := func(name string) string { return "<url><loc>https://example.com/" + name + "</loc></url>" }
	body := gzipped(t, "<urlset>"+link("a")+strings.Repeat(" ", 2*maxSitemapBytes)+link("b")+"</urlset>")
	pages, _ := readSitemap([]byte(body))
	if want := []string{"https://example.com/a"}; !slices.Equal(pages, want) {
		t.Errorf("%d bytes gave %v, want %v", len(body), pages, want)
	}
}

func gzipped(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestWalk_ReadsTheSourceOfWikiArticles(t *testing.T) {
	wiki := func(s string) answer { return answer{media: "text/x-wiki; charset=UTF-8", body: s} }
	w := newWeb(t, map[string]answer{
		"/wiki/Rhine?action=raw":                 wiki("The '''Rhine''' [[lake Constance|lake]] [[File:X.jpg]] [[Category:Y]] [[:de:Rhein]] [[2001: A Space Odyssey]] [[Main (river)#Top]] [[Rhein]]"),
		"/wiki/Lake_Constance?action=raw":        wiki("A lake."),
		"/wiki/2001:_A_Space_Odyssey?action=raw": wiki("A film."),
		"/wiki/Main_(river)?action=raw":          {body: "<html>not MediaWiki"},
		"/wiki/Rhein?action=raw":                 wiki("#REDIRECT [[Rhine]]"),
	})
	got, _ := w.walk(Site{URL: "/wiki/Rhine", Depth: 1, MediaWiki: true}, nil)
	w.want(got, "duplicate /wiki/Rhein of /wiki/Rhine", "fetched /wiki/2001:_A_Space_Odyssey", "fetched /wiki/Lake_Constance",
		"fetched /wiki/Main_(river)", "fetched /wiki/Rhine")
}

func TestWalk_ReadsArticlesAsTheyAreShownWhereTheSourceIsKept(t *testing.T) {
	w := newWeb(t, map[string]answer{
		"/wiki/A?action=raw": {status: 403}, "/wiki/A": {body: link("/wiki/B", "/w/index.php?title=A&action=edit") + "shown"},
		"/wiki/B?action=raw": {status: 403}, "/wiki/B": {status: 403},
	})
	got, _ := w.walk(Site{URL: "/wiki/A", Depth: 1, MediaWiki: true}, nil)
	w.want(got, "failed /wiki/B status", "fetched /wiki/A")
	w.pages["/robots.txt"] = answer{body: "User-agent: *\nDisallow: /*?action=raw"}
	w.take()
	got, _ = w.walk(Site{URL: "/wiki/A", MediaWiki: true}, nil)
	w.want(got, "fetched /wiki/A")
	if asked := w.take(); slices.Contains(asked, "GET /wiki/A?action=raw") {
		t.Errorf("asked for what robots.txt forbids: %q", asked)
	}
}

func TestWalk_KeepsItsPace(t *testing.T) {
	w := newWeb(t, map[string]answer{"/": {body: link("/a")}, "/a": {body: "a"}, "/robots.txt": {body: "User-agent: *\nCrawl-delay: 600"}})
	began := time.Now()
	w.walk(Site{URL: "/", Depth: 1}, nil, func(o *Options) { o.Delay, o.MostDelay = 20*time.Millisecond, 60*time.Millisecond })
	if took := time.Since(began); took < 120*time.Millisecond {
		t.Errorf("two pages came within %v", took)
	}
}

func TestWalk_EndsWithItsCaller(t *testing.T) {
	w := newWeb(t, map[string]answer{"/": {body: link("/a")}, "/a": {body: "a"}})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	var last error
	for _, err := range New(w.client, Options{Delay: time.Hour}).Walk(ctx, Site{URL: w.base + "/", Depth: 1}, nil) {
		last = err
	}
	if !errors.Is(last, context.DeadlineExceeded) {
		t.Errorf("the walk ended with %v", last)
	}
	for range New(w.client, Options{Delay: -1}).Walk(t.Context(), Site{URL: w.base + "/", Depth: 1}, nil) {
		break
	}
	if asked := w.take(); slices.Contains(asked, "GET /a") {
		t.Errorf("a walk went on after its caller had left: %q", asked)
	}
}

func TestNormalise_GivesOnePageOneAddress(t *testing.T) {
	for raw, want := range map[string]string{
		"HTTP://Example.COM:80":                                                    "http://example.com/",
		"https://example.com:443/a/./b/../c?#frag":                                 "https://example.com/a/c",
		"https://example.com./%7Euser/%c3%a9?a=%2f":                                "https://example.com/~user/%C3%A9?a=%2F",
		"https://example.com/x?utm_source=a&b=1&UTM_medium=c&&gclid=2&PHPSESSID=3": "https://example.com/x?b=1",
		"https://example.com/a;jsessionid=AB12/b":                                  "https://example.com/a/b",
		"https://example.com//a//b":                                                "https://example.com/a//b",
		"https://bücher.example/straße":                                            "https://xn--bcher-kva.example/stra%C3%9Fe",
		"http://[::1]:8080/":                                                       "http://[::1]:8080/",
		" https://example.com/a b ":                                                "https://example.com/a%20b",
		"https://example.com/../../etc/passwd":                                     "https://example.com/etc/passwd",
		"https://example.com/%2e%2e/%2e%2e/etc":                                    "https://example.com/etc",
		"ftp://example.com/":                                                       "", "https:///x": "", "http://user:pw@example.com/": "", "javascript:alert(1)": "",
		"http://example.com/%00": "", "http://example.com/" + strings.Repeat("a", 3000): "", "http:example.com": "", "://": "",
	} {
		got, err := Normalise(raw)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q gives %q, %v; want %q", raw, got, err, want)
		}
		if again, _ := Normalise(got); got != "" && again != got {
			t.Errorf("%q gives %q the second time", got, again)
		}
	}
}

func TestName_IsACleanPath(t *testing.T) {
	for address, want := range map[string]string{
		"https://example.com/":                     "example.com",
		"https://example.com/docs/":                "example.com/docs",
		"https://example.com:8443/a//b/caf%C3%A9":  "example.com:8443/a/b/café",
		"https://example.com/wiki?title=A/B&x=%20": "example.com/wiki?title=A_B&x= ",
		"https://example.com/a%2F..%2Fb":           "example.com/a/__/b",
	} {
		if got := Name(address); got != want {
			t.Errorf("Name(%q) = %q, want %q", address, got, want)
		}
	}
}

func TestScope_OfAWikiHoldsItsArticles(t *testing.T) {
	for _, c := range []struct {
		first, address string
		want           bool
	}{
		{"https://w/wiki/A", "https://w/wiki/B/C", true},
		{"https://w/wiki/A/B", "https://w/wiki/C", true},
		{"https://w/wiki/A", "https://w/w/index.php?title=B", false},
		{"https://w/A", "https://w/B", true},
		{"https://w/w/index.php?title=A", "https://w/w/index.php?title=B", true},
		{"https://w/w/index.php?title=A", "https://w/w/index.php?action=edit&title=B", false},
	} {
		s, err := newScope(c.first, Site{MediaWiki: true})
		u, _ := url.Parse(c.address)
		if err != nil || s.holds(u) != c.want {
			t.Errorf("the wiki of %s holds %s: %v, %v", c.first, c.address, s.holds(u), err)
		}
	}
}

func TestScope_HoldsWhatLiesBelow(t *testing.T) {
	for _, c := range []struct {
		first, prefix, address string
		want                   bool
	}{
		{"https://h/docs/x.html", "", "https://h/docs/y", true},
		{"https://h/docs/x.html", "", "https://h/docs2", false},
		{"https://h/docs", "", "https://h/docs/", true},
		{"https://h/docs", "", "https://h/docs/a/b?c=d", true},
		{"https://h/docs", "", "https://h/docs2", false},
		{"https://h/docs/a", "/docs/", "http://h/docs/b", true},
		{"https://h/docs/a", "https://h/", "https://h/x", true},
		{"https://h/", "", "https://h.evil.example/", false},
		{"https://h/", "", "https://h:8443/", false},
		{"https://h/w/index.php", "/w/index.php?title=", "https://h/w/index.php?title=A", true},
		{"https://h/w/index.php", "/w/index.php?title=", "https://h/w/index.php?action=edit", false},
	} {
		s, err := newScope(c.first, Site{Prefix: c.prefix})
		u, _ := url.Parse(c.address)
		if err != nil || s.holds(u) != c.want {
			t.Errorf("scope of %s with prefix %q holds %s: %v, %v", c.first, c.prefix, c.address, s.holds(u), err)
		}
	}
}

func TestWalk_WaitsForNoRobotsFileForEver(t *testing.T) {
	w := newWeb(t, map[string]answer{"/": {body: "x"}})
	hangs := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer hangs.Close()
	w.client = fetch.New(fetch.Options{Timeout: 50 * time.Millisecond, Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	defer w.client.Close()
	w.base = hangs.URL
	got, _ := w.walk(Site{URL: "/"}, nil)
	w.want(got, "failed / unreachable")
	endless := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		for range 1 << 10 {
			if _, err := rw.Write([]byte(strings.Repeat("Allow: /\n", 100))); err != nil {
				return
			}
		}
	}))
	defer endless.Close()
	small := fetch.New(fetch.Options{MaxBytes: 1 << 16, Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	defer small.Close()
	w.client, w.base = small, endless.URL
	got, _ = w.walk(Site{URL: "/"}, nil)
	w.want(got, "failed / unreachable")
}
