package ingest_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/internal/documents/crawl"
	"parley/internal/documents/ingest"
	"parley/internal/extract"
	"parley/internal/extract/sandbox"
	"parley/internal/fetch"
	"parley/internal/retrieval"
	"parley/test/needs"
)

// site is a web site on loopback, and a corpus that follows it.
type site struct {
	*whole
	base, host string
	server     *httptest.Server
	crawler    *crawl.Crawler
	extractor  ingest.Extractor // the program's extractor

	mu     sync.Mutex
	pages  map[string]http.HandlerFunc
	asked  []string // paths; those of conditional requests end with "?"
	bodies int      // number of answers other than 304
	onGet  func(path string)
}

func newSite(t *testing.T) *site { return newSiteWithTimeout(t, 15*time.Second) }

// newSiteWithTimeout is newSite with another time limit for each page.
func newSiteWithTimeout(t *testing.T, timeout time.Duration) *site {
	t.Helper()
	s := &site{whole: newWhole(t), pages: map[string]http.HandlerFunc{}}
	s.server = httptest.NewServer(http.HandlerFunc(s.serve))
	s.base, s.host = s.server.URL, strings.ReplaceAll(strings.TrimPrefix(s.server.URL, "http://"), ":", "_")
	client := fetch.New(fetch.Options{Timeout: timeout, MaxBytes: 1 << 20, Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	pool := sandbox.NewPool(sandbox.Options{Workers: 1, CacheDir: needs.ParserCache()})
	t.Cleanup(func() { client.Close(); s.server.Close(); pool.Close() })
	s.crawler, s.extractor = crawl.New(client, crawl.Options{Delay: -1, Accept: ingest.AcceptsPage}), pool
	s.reads(pool)
	return s
}

// reads makes x the extractor of the site's files from now on.
func (s *site) reads(x ingest.Extractor) {
	s.in = ingest.New(ingest.Config{
		Corpus: s.corpus, Store: s.db.Corpus(), Blobs: s.db.Blobs(), Extractor: x,
		Namespace: "default", DataDir: s.data, Supports: extract.Supports, Workers: 1, Crawler: s.crawler,
	})
}

func (s *site) serve(w http.ResponseWriter, r *http.Request) {
	path := r.URL.RequestURI()
	s.mu.Lock()
	h, onGet := s.pages[path], s.onGet
	if asked := path; r.Header.Get("If-None-Match")+r.Header.Get("If-Modified-Since") != "" {
		s.asked = append(s.asked, asked+" if changed")
	} else {
		s.asked = append(s.asked, asked)
	}
	s.mu.Unlock()
	if onGet != nil {
		onGet(path)
	}
	if h == nil {
		h = http.NotFound
	}
	count := &statusRecorder{ResponseWriter: w}
	h(count, r)
	if count.status != http.StatusNotModified {
		s.mu.Lock()
		s.bodies++
		s.mu.Unlock()
	}
}

type statusRecorder struct {
	http.ResponseWriter
	status int
}

func (r *statusRecorder) WriteHeader(status int) {
	r.status = status
	r.ResponseWriter.WriteHeader(status)
}

func (s *site) set(path string, h http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pages[path] = h
}

// file serves a body with an ETag that changes with it.
func file(media, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", media)
		w.Header().Set("ETag", fmt.Sprintf(`"%x-%d"`, len(body), strings.Count(body, "a")))
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(body))
	}
}

// page serves a web page with the navigation around the text that real pages have.
func (s *site) page(path, title, body string, links ...string) {
	var nav strings.Builder
	for _, l := range links {
		fmt.Fprintf(&nav, `<li><a href="%s">Navigation entry %s</a>`, l, l)
	}
	s.set(path, file("text/html; charset=utf-8", fmt.Sprintf(`<!doctype html><html><head><title>%s</title></head><body>
		<nav><ul>%s</ul></nav><header>Bannerwort <form><input name=q></form></header>
		<main><h1>%s</h1>%s</main><aside>Werbung for things</aside><footer>Impressum and copyright</footer></body></html>`, title, nav.String(), title, body)))
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

func (s *site) take() (asked []string, bodies int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked, bodies = s.asked, s.bodies
	s.asked, s.bodies = nil, 0
	return asked, bodies
}

func (s *site) crawl(site ingest.Site) ingest.Report {
	s.t.Helper()
	if !strings.Contains(site.URL, "://") {
		site.URL = s.base + site.URL
	}
	r, err := s.in.RunSites(s.t.Context(), []ingest.Site{site}, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

// wantRun compares the counts of a run, and the reasons why pages gave no document.
func (s *site) wantRun(r ingest.Report, indexed, updated, unchanged, deleted int, reasons ...string) {
	s.t.Helper()
	var got []string
	for _, f := range r.Skipped {
		got = append(got, "skipped "+strings.TrimPrefix(f.Path, s.base)+" "+string(f.Reason))
	}
	for _, f := range r.Failed {
		got = append(got, "failed "+strings.TrimPrefix(f.Path, s.base)+" "+string(f.Reason))
	}
	if diff := cmp.Diff(reasons, got); diff != "" ||
		[4]int{r.Indexed, r.Updated, r.Unchanged, r.Deleted} != [4]int{indexed, updated, unchanged, deleted} {
		s.t.Errorf("%d indexed, %d updated, %d unchanged, %d deleted; want %d, %d, %d, %d; reasons (-want +got):\n%s",
			r.Indexed, r.Updated, r.Unchanged, r.Deleted, indexed, updated, unchanged, deleted, diff)
	}
}

// names returns the documents' names, without the host.
func (s *site) names() (names []string) {
	s.t.Helper()
	docs, err := s.db.Corpus().AllDocuments(s.t.Context(), "default", "", 1000)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, d := range docs {
		names = append(names, strings.TrimPrefix(strings.TrimPrefix(d.Name, s.host), "/"))
	}
	return names
}

func (s *site) wantNames(names ...string) {
	s.t.Helper()
	if diff := cmp.Diff(names, s.names()); diff != "" {
		s.t.Errorf("documents (-want +got):\n%s", diff)
	}
}

// document returns a document with the texts of its chunks.
func (s *site) document(name string) (retrieval.Document, []retrieval.Chunk) {
	s.t.Helper()
	full := s.host
	if name != "" {
		full += "/" + name
	}
	d, err := s.db.Corpus().Document(s.t.Context(), retrieval.Filter{Namespace: "default"}, full)
	if err != nil {
		s.t.Fatal(err)
	}
	chunks, err := s.db.Corpus().RevisionChunks(s.t.Context(), d.Revision)
	if err != nil {
		s.t.Fatal(err)
	}
	return d, chunks
}

func textOf(chunks []retrieval.Chunk) string {
	var b strings.Builder
	for _, c := range chunks {
		b.WriteString(c.Text + "\n")
	}
	return b.String()
}

const prose = `<p>Employees of the northern branch may borrow a bicycle for up to three weeks, if the caretaker agrees and the
	bicycle has lights. The insurance covers thefts from locked sheds, as the form on the notice board explains in detail.</p>`
