package ingest_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/internal/access"
	"parley/internal/documents/ingest"
	"parley/internal/documents/metadata"
	"parley/internal/extract"
	"parley/internal/extract/sandbox"
	"parley/internal/retrieval"
	"parley/test/needs"
)

// stored is everything that is stored of a document, except its revision and time.
type stored struct {
	Document retrieval.Document
	Pages    []retrieval.Page
	Chunks   []string
}

// all returns the stored documents of a namespace, by name.
func (w *whole) all(namespace string) map[string]stored {
	w.t.Helper()
	docs, err := w.db.Corpus().AllDocuments(w.t.Context(), namespace, "", 1000)
	if err != nil {
		w.t.Fatal(err)
	}
	all := map[string]stored{}
	for _, d := range docs {
		pages, err := w.db.Corpus().Pages(w.t.Context(), d.Revision)
		if err != nil {
			w.t.Fatal(err)
		}
		chunks, err := w.db.Corpus().RevisionChunks(w.t.Context(), d.Revision)
		if err != nil {
			w.t.Fatal(err)
		}
		s := stored{Document: d, Pages: pages}
		for _, c := range chunks {
			s.Chunks = append(s.Chunks, fmt.Sprintf("%q %v %s", c.Headings, c.Spans, c.Text))
		}
		s.Document.Revision, s.Document.IndexedAt = 0, time.Time{}
		all[d.Name] = s
	}
	return all
}

// With the same extractors and splitter, a rebuild makes the same documents again, whatever they came
// from and whatever their metadata. The files that held the metadata may be gone.
func TestRebuild_MakesTheSameOfEverything(t *testing.T) {
	s := newSite(t)
	cfg := ingest.Config{
		Corpus: s.corpus, Store: s.db.Corpus(), Blobs: s.db.Blobs(), Extractor: newPool(t), Namespace: "default", DataDir: s.data,
		Supports: extract.Supports, Workers: 2, MayName: func(string) bool { return true },
	}
	long := "# Start\n\n" + strings.Repeat("A sentence that fills the chunks of this file with words.\n\n", 200) + "# References\n\nNobody reads these.\n"
	s.write("plain.md", long)
	s.write("own.md", "---\ntitle: Mine\nurl: https://example.com/mine\ncategory: own\nusers: [eve]\n---\n"+long)
	s.write("cut.md", long)
	s.write("cut.md.parley.yaml", "title: Cut\nskip_sections: [references]\nmax_chunks: 3\ngroups: [staff]\n")
	s.write("elsewhere.md", long)
	s.write("other.md", long)
	s.write("bundle.zip", zipOf(t, "in.md", long, "sub/mail.eml", "From: ann\nSubject: Hello\n\nThe mail says so.\n"))
	s.write("parley.yaml", "category: all\nfiles:\n  bundle.zip: {skip_sections: [References]}\n  elsewhere.md: {namespace: team, max_chunks: 2}\n")
	if _, err := ingest.New(cfg).Run(t.Context(), []string{s.dir}, nil); err != nil {
		t.Fatal(err)
	}
	uploads := filepath.Join(s.data, "uploads", "ann")
	if err := os.MkdirAll(uploads, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"mine.md": long, "mine.md.parley.yaml": string(metadata.Sidecar(metadata.Limits{SkipSections: []string{"References"}, MaxChunks: 4}))} {
		if err := os.WriteFile(filepath.Join(uploads, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	of := cfg
	of.Uploads, of.Owner, of.Access, of.MayName = uploads, "ann", access.List{Users: []string{"ann"}}, nil
	if _, err := ingest.New(of).Run(t.Context(), []string{uploads}, nil); err != nil {
		t.Fatal(err)
	}
	s.page("/", "Start", "<h1>Page</h1><p>"+strings.Repeat("The page has a sentence that is long enough to count as one. ", 80)+"</p><h2>References</h2><p>Nobody reads these.</p>")
	s.set("/wiki/Alster?action=raw", file("text/x-wiki; charset=UTF-8", "{{Infobox river\n| length = 56 km\n}}\nThe '''Alster''' flows.\n\n== Course ==\nIt rises in a [[bog]].\n\n== References ==\nNobody."))
	s.set("/wiki/Elbe?action=raw", file("text/x-wiki; charset=UTF-8", "The ''Elbe'' is a river."))
	s.crawl(ingest.Site{URL: "/wiki/Elbe", MediaWiki: true})
	s.crawl(ingest.Site{URL: "/", SkipSections: []string{"References"}, MaxChunks: 2})
	s.crawl(ingest.Site{URL: "/wiki/Alster", MediaWiki: true, SkipSections: []string{"References"}})

	spaces := []string{"default", "team"}
	before := map[string]map[string]stored{}
	for _, ns := range spaces {
		before[ns] = s.all(ns)
	}
	if n := len(before["default"]); n != 10 {
		t.Errorf("there are %d documents: %q", n, slices.Sorted(maps.Keys(before["default"])))
	}
	if err := os.RemoveAll(s.dir); err != nil {
		t.Fatal(err)
	}
	for _, ns := range spaces {
		cfg.Namespace = ns
		r, err := ingest.New(cfg).Rebuild(t.Context(), s.corpus, nil)
		if err != nil || len(r.Kept) > 0 || r.Switched != len(before[ns]) {
			t.Errorf("%s: %+v (%v)", ns, r, err)
		}
		if diff := cmp.Diff(before[ns], s.all(ns)); diff != "" {
			t.Errorf("%s (-before +after):\n%s", ns, diff)
		}
	}
}

func newPool(t *testing.T) *sandbox.Pool {
	pool := sandbox.NewPool(sandbox.Options{Workers: 2, CacheDir: needs.ParserCache()})
	t.Cleanup(func() { pool.Close() })
	return pool
}

// zipOf returns an archive of files, by name and content in turn.
func zipOf(t *testing.T, files ...string) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i+1 < len(files); i += 2 {
		w, err := z.Create(files[i])
		if err == nil {
			_, err = w.Write([]byte(files[i+1]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
