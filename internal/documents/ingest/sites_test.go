package ingest_test

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/internal/access"
	"parley/internal/documents/ingest"
	"parley/internal/extract"
	"parley/internal/retrieval"
)

func TestRunSites_IndexesTheMainContentOfPages(t *testing.T) {
	s := newSite(t)
	s.page("/docs/", "Start", prose, "bikes?utm_campaign=x", "plan.md", "/docs/bikes#top", "logo.png", "data.json", "/elsewhere")
	s.page("/docs/bikes", "Bicycle rules", prose+`<h2>Prices</h2><table><tr><th>Plan<th>Price</tr><tr><td>Plus<td>$5</tr></table>`)
	s.set("/docs/plan.md", file("text/plain", "# The plan\n\nPaint the shed."))
	s.set("/docs/data.json", file("application/json", `{"a": 1}`))
	r := s.crawl(ingest.Site{URL: "/docs/", Depth: 1})
	s.wantRun(r, 3, 0, 0, 0, "skipped /docs/data.json unsupported")
	s.wantNames("docs", "docs/bikes", "docs/plan.md")
	d, chunks := s.document("docs/bikes")
	if d.Title != "Bicycle rules" || d.URL != s.base+"/docs/bikes" || d.MediaType != "text/html" {
		t.Errorf("%+v", d)
	}
	text := textOf(chunks)
	for _, word := range []string{"Navigation", "Bannerwort", "Werbung", "Impressum"} {
		if strings.Contains(text, word) {
			t.Errorf("%q is in the chunks:\n%s", word, text)
		}
	}
	if !strings.Contains(text, "Plan: Plus; Price: $5") && !strings.Contains(text, "Plus") {
		t.Errorf("the table is lost:\n%s", text)
	}
	if last := chunks[len(chunks)-1].Headings; !slices.Equal(last, []string{"Bicycle rules", "Prices"}) && !slices.Equal(last, []string{"Bicycle rules"}) {
		t.Errorf("headings %q", last)
	}
	if got := s.find(access.Anonymous, "paint the shed"); !slices.Contains(got, s.host+"/docs/plan.md") {
		t.Errorf("found %q", got)
	}
}

// busyOnce is too busy for each file when it first sees it.
type busyOnce struct {
	ingest.Extractor
	mu   sync.Mutex
	seen map[string]bool
}

func (b *busyOnce) Extract(ctx context.Context, r extract.Request) (*extract.Result, error) {
	b.mu.Lock()
	seen := b.seen[r.Name]
	b.seen[r.Name] = true
	b.mu.Unlock()
	if !seen {
		return nil, &extract.Error{Reason: extract.Busy, Detail: "as asked"}
	}
	return b.Extractor.Extract(ctx, r)
}

// If the machine is too busy to read a page, the same run tries it again, like any file.
func TestRunSites_TriesPagesAgainUntilTheMachineHasTimeForThem(t *testing.T) {
	s := newSite(t)
	s.reads(&busyOnce{Extractor: s.extractor, seen: map[string]bool{}})
	s.page("/docs/", "Start", prose, "bikes")
	s.page("/docs/bikes", "Bicycle rules", prose+"<p>Paint the shed.</p>")
	s.wantRun(s.crawl(ingest.Site{URL: "/docs/", Depth: 1}), 2, 0, 0, 0)
	s.wantNames("docs", "docs/bikes")
}

func TestRunSites_WritesNothingWhenNothingHasChanged(t *testing.T) {
	s := newSite(t)
	s.set("/robots.txt", file("text/plain", "User-agent: *\nDisallow: /no/\n"))
	s.page("/", "Start", prose, "/a", "/b", "/copy", "/empty", "/no/x")
	s.page("/a", "A", "<p>aaaa"+prose)
	s.page("/b", "B", "<p>bb"+prose)
	s.set("/empty", file("text/html", "<html><body></body></html>"))
	s.set("/copy", file("text/html", "<link rel=canonical href=/a>"+prose))
	all := ingest.Site{URL: "/", Depth: 2}
	s.wantRun(s.crawl(all), 3, 0, 0, 0, "skipped /empty empty", "skipped /no/x robots")
	asked, _ := s.take()
	if slices.Contains(asked, "/no/x") {
		t.Errorf("asked for what robots.txt forbids: %q", asked)
	}
	before, err := s.db.Corpus().Version(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	stored := s.stored()
	r := s.crawl(all)
	s.wantRun(r, 0, 0, 3, 0, "skipped /empty empty", "skipped /no/x robots")
	if r.Duplicates != 1 {
		t.Errorf("%d duplicates", r.Duplicates)
	}
	for _, f := range r.Skipped {
		if !f.Known {
			t.Errorf("%s is told as if it were new", f.Path)
		}
	}
	asked, bodies := s.take()
	slices.Sort(asked)
	want := []string{"/ if changed", "/a if changed", "/b if changed", "/copy if changed", "/empty if changed", "/robots.txt if changed"}
	if diff := cmp.Diff(want, asked); diff != "" || bodies != 0 {
		t.Errorf("%d bodies were sent; requests (-want +got):\n%s", bodies, diff)
	}
	if after, err := s.db.Corpus().Version(t.Context()); after != before || err != nil {
		t.Errorf("version %d became %d (%v)", before, after, err)
	}
	if diff := cmp.Diff(stored, s.stored()); diff != "" {
		t.Errorf("stored (-before +after):\n%s", diff)
	}
}

func TestRunSites_WritesNothingForTheSameBodyWithoutValidators(t *testing.T) {
	s := newSite(t)
	body := "<h1>Plain</h1>" + prose
	s.set("/", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, body)
	})
	s.wantRun(s.crawl(ingest.Site{URL: "/"}), 1, 0, 0, 0)
	before, _ := s.db.Corpus().Version(t.Context())
	s.wantRun(s.crawl(ingest.Site{URL: "/"}), 0, 0, 1, 0)
	if after, _ := s.db.Corpus().Version(t.Context()); after != before {
		t.Errorf("version %d became %d", before, after)
	}
	body = "<h1>Changed</h1>" + prose
	s.wantRun(s.crawl(ingest.Site{URL: "/"}), 0, 1, 0, 0)
	if d, _ := s.document(""); d.Title != "Changed" {
		t.Errorf("title %q", d.Title)
	}
}

func TestRunSites_DeletesWhatIsGoneAndKeepsWhatFails(t *testing.T) {
	s := newSite(t)
	s.page("/", "Start", prose, "/a", "/b", "/c", "/d")
	for _, p := range []string{"/a", "/b", "/c", "/d"} {
		s.page(p, "Page "+p, "<p>Only on "+p+" stands this."+prose)
	}
	all := ingest.Site{URL: "/", Depth: 1}
	s.wantRun(s.crawl(all), 5, 0, 0, 0)
	s.set("/a", status(http.StatusNotFound))
	s.set("/b", status(http.StatusInternalServerError))
	s.set("/c", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	s.page("/", "Start", prose+"<p>news", "/a", "/b", "/c") // /d is linked no more, and still there
	s.wantRun(s.crawl(all), 0, 1, 1, 1, "skipped /a not-found", "failed /b status", "failed /c unreachable")
	s.wantNames("", "b", "c", "d")
	s.set("/d", status(http.StatusGone))
	s.set("/robots.txt", status(http.StatusOK)) // what was forbidden nowhere stays allowed
	s.page("/b", "Page b again", prose)
	s.page("/c", "Page c", prose+"x")
	s.wantRun(s.crawl(all), 0, 2, 1, 1, "skipped /a not-found")
	s.wantNames("", "b", "c")
	s.set("/robots.txt", file("text/plain", "User-agent: parley\nDisallow: /b"))
	s.wantRun(s.crawl(all), 0, 0, 2, 1, "skipped /a not-found", "skipped /b robots")
	s.server.Close()
	s.wantRun(s.crawl(all), 0, 0, 0, 0, "failed / unreachable", "failed / unreachable", "failed /a unreachable", "failed /b unreachable")
	s.wantNames("", "c")
}

func TestRunSites_GoesOnWhereItWasCutShort(t *testing.T) {
	s := newSite(t)
	var links []string
	for i := range 12 {
		path := fmt.Sprintf("/p%02d", i)
		links = append(links, path)
		s.page(path, path, "<p>"+path+prose)
	}
	s.page("/", "Start", prose, links...)
	ctx, cancel := context.WithCancel(t.Context())
	s.onGet = func(path string) {
		if path != "/p06" {
			return
		}
		defer cancel()
		for range 600 { // a batch is committed by its age
			if stats, err := s.db.Corpus().Stats(ctx, "default"); err != nil || stats.Documents > 0 {
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
	all := ingest.Site{URL: s.base + "/", Depth: 1}
	if _, err := s.in.RunSites(ctx, []ingest.Site{all}, nil); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v", err)
	}
	done := len(s.names())
	if done == 0 || done == 13 {
		t.Fatalf("%d documents when the run was cut short", done)
	}
	s.onGet = nil
	known, err := s.in.Sites(t.Context())
	again := all
	again.Again = true
	if diff := cmp.Diff([]ingest.Site{again}, known); diff != "" || err != nil {
		t.Errorf("the site is not known (%v):\n%s", err, diff)
	}
	s.take()
	s.wantRun(s.crawl(all), 13-done, 0, done, 0)
	if asked, bodies := s.take(); bodies != 13-done+1 { // and robots.txt, which is not there
		t.Errorf("%d bodies: %q", bodies, asked)
	}
}

func TestRunSites_TakesOptionsThatChange(t *testing.T) {
	s := newSite(t)
	s.page("/", "Rules", prose+"<h2>See also</h2><p>Unwanted words."+prose+"<h3>Deeper</h3><p>More of them.<h2>Prices</h2><p>Wanted words.")
	s.wantRun(s.crawl(ingest.Site{URL: "/"}), 1, 0, 0, 0)
	without := ingest.Site{URL: "/", SkipSections: []string{"see  ALSO"}}
	s.wantRun(s.crawl(without), 0, 1, 0, 0)
	_, chunks := s.document("")
	if text := textOf(chunks); strings.Contains(text, "Unwanted") || strings.Contains(text, "Deeper") || !strings.Contains(text, "Wanted words") {
		t.Errorf("chunks:\n%s", text)
	}
	s.wantRun(s.crawl(without), 0, 0, 1, 0)
	s.page("/", "Rules", strings.Repeat(prose, 20))
	s.wantRun(s.crawl(ingest.Site{URL: "/", MaxChunks: 2}), 0, 1, 0, 0)
	if d, chunks := s.document(""); len(chunks) != 2 || d.Chunks != 2 {
		t.Errorf("%d chunks", len(chunks))
	}
	s.wantRun(s.crawl(ingest.Site{URL: "/", MaxChunks: 2, Force: true}), 0, 1, 0, 0)
}

func TestRunSites_ReadsOnePageOfAKnownSite(t *testing.T) {
	s := newSite(t)
	s.page("/", "Start", prose, "/a", "/b")
	s.page("/a", "A", "<p>a"+prose)
	s.page("/b", "B", "<p>b"+prose)
	s.crawl(ingest.Site{URL: "/", Depth: 1})
	s.take()
	s.page("/a", "A new", prose+"<p>more")
	s.wantRun(s.crawl(ingest.Site{URL: "/a"}), 0, 1, 0, 0)
	if asked, _ := s.take(); !slices.Equal(asked, []string{"/robots.txt", "/a if changed"}) {
		t.Errorf("requests %q", asked)
	}
	s.wantNames("", "a", "b")
	s.wantRun(s.crawl(ingest.Site{URL: "/", Depth: 1}), 0, 0, 3, 0)
	// A larger site that holds pages of another one leaves these to it.
	s.page("/new", "New", prose+"n", "/a", "/c")
	s.page("/c", "C", prose+"c")
	s.wantRun(s.crawl(ingest.Site{URL: "/new", Prefix: "/", Depth: 1}), 2, 0, 0, 0)
	s.wantNames("", "a", "b", "c", "new")
}

func TestSurveySites_ChangesNothing(t *testing.T) {
	s := newSite(t)
	s.page("/", "Start", prose, "/a")
	s.page("/a", "A", prose+"a")
	before := s.stored()
	var seen []string
	r, err := s.in.SurveySites(t.Context(), []ingest.Site{{URL: s.base + "/", Depth: 1}}, func(p retrieval.Put) error {
		seen = append(seen, fmt.Sprintf("%s %d", strings.TrimPrefix(p.Document.Name, s.host), len(p.Chunks)))
		return nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(seen)
	if diff := cmp.Diff([]string{" 1", "/a 1"}, seen); diff != "" || r.Indexed != 2 || r.Chunks != 2 {
		t.Errorf("%+v (-want +got):\n%s", r, diff)
	}
	if diff := cmp.Diff(before, s.stored()); diff != "" {
		t.Errorf("stored (-before +after):\n%s", diff)
	}
	if known, _ := s.in.Sites(t.Context()); len(known) != 0 {
		t.Errorf("sites %+v", known)
	}
}

func TestRunSites_ReadsArticlesOfAWiki(t *testing.T) {
	s := newSite(t)
	const article = `{{Infobox river
| name = Alster
| length = 56 km
}}
The '''Alster''' flows through [[Hamburg (city)|Hamburg]].<ref>Some book</ref>

== Course ==
It rises in a bog in the north, and is dammed in the middle of the city to form two lakes that many boats use.

== References ==
{{reflist}} A list of books that nobody searches for.
`
	s.set("/wiki/Alster?action=raw", file("text/x-wiki; charset=UTF-8", article))
	s.set("/wiki/Hamburg_(city)?action=raw", file("text/x-wiki; charset=UTF-8", "'''Hamburg''' is a city on the [[Elbe]]."))
	s.wantRun(s.crawl(ingest.Site{URL: "/wiki/Alster", MediaWiki: true, Depth: 1, SkipSections: []string{"References"}}), 2, 0, 0, 0)
	s.wantNames("wiki/Alster", "wiki/Hamburg_(city)")
	d, chunks := s.document("wiki/Alster")
	text := textOf(chunks)
	if d.Title != "Alster" || d.URL != s.base+"/wiki/Alster" || !strings.Contains(text, "length: 56 km") || strings.Contains(text, "nobody") || strings.Contains(text, "[[") {
		t.Errorf("%+v\n%s", d, text)
	}
	if d, _ := s.document("wiki/Hamburg_(city)"); d.Title != "Hamburg (city)" {
		t.Errorf("title %q", d.Title)
	}
}

func TestRunSites_SurvivesHostileServers(t *testing.T) {
	s := newSite(t)
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	_, _ = z.Write(bytes.Repeat([]byte("<p>boom "), 1<<20))
	_ = z.Close()
	latin := file("text/html; charset=windows-1252", "<h1>Caf\xe9</h1>"+prose)
	wrong := file("text/html; charset=utf-16", "<meta charset=utf-8><h1>Grüße</h1>"+prose)
	s.page("/", "Start", prose, "/bomb", "/endless", "/latin", "/wrong", "/deep", "/private", "/loop", "/fake.pdf", "http://169.254.169.254/")
	s.set("/bomb", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(bomb.Bytes())
	})
	s.set("/endless", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		for range 4 << 10 {
			if _, err := w.Write(bytes.Repeat([]byte("<p>on "), 100)); err != nil {
				return
			}
		}
	})
	s.set("/latin", latin)
	s.set("/wrong", wrong)
	s.set("/deep", file("text/html", "<title>Deep</title>"+strings.Repeat("<div>", 20_000)+"deep down"))
	s.set("/private", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://10.0.0.1/", http.StatusFound)
	})
	s.set("/loop", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/loop", http.StatusFound) })
	s.set("/fake.pdf", file("application/pdf", "this is no PDF"))
	r := s.crawl(ingest.Site{URL: "/", Depth: 1})
	var damaged []string
	r.Failed = slices.DeleteFunc(r.Failed, func(f ingest.FileResult) bool {
		if strings.HasSuffix(f.Path, "fake.pdf") {
			damaged = append(damaged, string(f.Reason))
			return true
		}
		return false
	})
	s.wantRun(r, 4, 0, 0, 0, "skipped /bomb too-large", "skipped /endless too-large", "skipped /loop redirect",
		"skipped /private redirect")
	if len(damaged) != 1 {
		t.Errorf("the PDF that is none: %q", damaged)
	}
	if d, chunks := s.document("latin"); !strings.Contains(textOf(chunks), "Café") {
		t.Errorf("%s: %s", d.Title, textOf(chunks))
	}
	if _, chunks := s.document("wrong"); !strings.Contains(textOf(chunks), "Grüße") {
		t.Errorf("%s", textOf(chunks))
	}
}

func TestRunSites_LeavesAPageThatNeverEnds(t *testing.T) {
	s := newSiteWithTimeout(t, 3*time.Second)
	s.page("/", "Start", prose, "/slow")
	s.set("/slow", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		for r.Context().Err() == nil {
			fmt.Fprint(w, "a")
			_ = http.NewResponseController(w).Flush()
			time.Sleep(50 * time.Millisecond)
		}
	})
	s.wantRun(s.crawl(ingest.Site{URL: "/", Depth: 1}), 1, 0, 0, 0, "failed /slow unreachable")
}

func TestRunSites_OpensWhatItWasAskedForByName(t *testing.T) {
	s := newSite(t)
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range []string{"a.md", "sub/b.txt"} {
		w, err := z.Create(name)
		if err == nil {
			_, err = fmt.Fprintf(w, "# About %s\n\nSome words.", name)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	s.set("/all.zip", file("application/zip", b.String()))
	s.wantRun(s.crawl(ingest.Site{URL: "/all.zip"}), 2, 0, 0, 0)
	s.wantNames("all.zip/a.md", "all.zip/sub/b.txt")
	s.wantRun(s.crawl(ingest.Site{URL: "/all.zip"}), 0, 0, 2, 0)
	s.set("/all.zip", status(http.StatusGone))
	s.wantRun(s.crawl(ingest.Site{URL: "/all.zip"}), 0, 0, 0, 2, "failed /all.zip not-found")
	s.wantNames()
}

func TestRunSites_RefusesWhatIsNoSite(t *testing.T) {
	s := newSite(t)
	for _, bad := range []ingest.Site{
		{}, {URL: "file:///etc/passwd"}, {URL: "example.com"}, {URL: "http://me@example.com/"}, {URL: "http://example.com/", Depth: -1},
		{URL: "http://example.com/", Pages: -1}, {URL: "http://example.com/", Prefix: "ftp://x/"}, {URL: "http://example.com/", MaxChunks: -1},
	} {
		_, err := s.in.RunSites(t.Context(), []ingest.Site{bad}, nil)
		if _, ok := errors.AsType[*ingest.SiteError](err); !ok {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	s.page("/", "Start", prose)
	if r := s.crawl(ingest.Site{URL: "/"}); r.Indexed != 1 {
		t.Errorf("%+v", r)
	}
}
