package ingest_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/access"
	"parley/internal/documents/ingest"
	"parley/internal/extract"
	"parley/internal/extract/sandbox"
	"parley/internal/retrieval"
	"parley/internal/store"
	"parley/test/needs"
)

// whole is an ingester with all its real parts, put together as in the program.
type whole struct {
	t      *testing.T
	dir    string
	data   string
	db     *store.DB
	corpus *retrieval.Corpus
	in     *ingest.Ingester
}

func newWhole(t *testing.T) *whole {
	ctx, data := context.Background(), t.TempDir()
	db, err := store.Open(ctx, data, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	corpus, err := retrieval.Open(ctx, db.Corpus(), nil)
	if err != nil {
		t.Fatal(err)
	}
	pool := sandbox.NewPool(sandbox.Options{CacheDir: needs.ParserCache()})
	t.Cleanup(func() { pool.Close() })
	return &whole{t: t, dir: t.TempDir(), data: data, db: db, corpus: corpus, in: ingest.New(ingest.Config{
		Corpus: corpus, Store: db.Corpus(), Blobs: db.Blobs(), Extractor: pool,
		Namespace: "default", DataDir: data, Supports: extract.Supports,
		Sweep: func(ctx context.Context) (int, error) { return db.SweepBlobs(ctx, 0) },
	})}
}

func (w *whole) write(name, text string) {
	w.t.Helper()
	if err := os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

func (w *whole) run() ingest.Report {
	w.t.Helper()
	r, err := w.in.Run(context.Background(), []string{w.dir}, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// find returns the names of the documents with passages for a question.
func (w *whole) find(who access.Principal, question string) []string {
	w.t.Helper()
	res, err := w.corpus.Search(context.Background(), retrieval.Query{
		Filter: retrieval.Filter{Namespace: "default", Principal: who}, Text: question, Limit: 10,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	var names []string
	for _, p := range res.Passages {
		if !slices.Contains(names, p.Document.Name) {
			names = append(names, p.Document.Name)
		}
	}
	slices.Sort(names)
	return names
}

func (w *whole) wantFound(who access.Principal, question string, want ...string) {
	w.t.Helper()
	if diff := cmp.Diff(want, w.find(who, question)); diff != "" {
		w.t.Errorf("%q: %s", question, diff)
	}
}

func TestIngestion_EndToEnd(t *testing.T) {
	w := newWhole(t)
	w.write("birds.md", "# Birds\n\n## Penguins\n\nPenguins cannot fly, but they swim well.\n")
	w.write("fish.txt", "Salmon swim up the river to spawn.\n")
	w.write("staff.csv", "Name,Room\nAnn Miller,17\nBob Stone,18\n")
	w.write("page.html", "<html><title>Whales</title><body><h1>Whales</h1><p>Whales are mammals that live in the sea and sing.</p></body></html>")
	w.write("picture.svg", "<svg/>")
	w.write("broken.docx", "PK\x03\x04 and nothing more")
	w.write("secret.md", "---\ngroups: [board]\n---\nThe merger with Otters Inc is planned.\n")

	r := w.run()
	if r.Indexed != 5 || len(r.Skipped) != 1 || len(r.Failed) != 1 || r.Chunks != 5 {
		t.Fatalf("%+v", r)
	}
	w.wantFound(access.Anonymous, "Can penguins fly?", "birds.md")
	w.wantFound(access.Anonymous, "merger with otters")
	w.wantFound(access.Principal{Subject: "ann", Groups: []string{"board"}}, "merger with otters", "secret.md")
	w.wantFound(access.Anonymous, "room of Ann Miller", "staff.csv")
	if r := w.run(); r.Unchanged != 5 || r.Indexed+r.Updated+r.Deleted != 0 {
		t.Errorf("again: %+v", r)
	}

	w.write("birds.md", "# Birds\n\nOstriches run fast.\n")
	w.write("fish.txt.parley.yaml", "users: [ann]\n")
	if err := os.Remove(filepath.Join(w.dir, "page.html")); err != nil {
		t.Fatal(err)
	}
	if r := w.run(); r.Updated != 2 || r.Deleted != 1 || r.Unchanged != 2 {
		t.Errorf("after changes: %+v", r)
	}
	w.wantFound(access.Anonymous, "penguins")
	w.wantFound(access.Anonymous, "salmon")
	w.wantFound(access.Principal{Subject: "ann"}, "salmon", "fish.txt")
	w.wantFound(access.Anonymous, "ostriches", "birds.md")
	w.wantFound(access.Anonymous, "whales")
	if n, err := w.db.SweepBlobs(context.Background(), 0); n != 0 || err != nil {
		t.Errorf("%d originals were left without a document: %v", n, err)
	}
}

func TestIngestion_ManyFiles(t *testing.T) {
	w := newWhole(t)
	for i := range 200 {
		w.write(fmt.Sprintf("f%03d.txt", i), fmt.Sprintf("This file tells of subject%d alone.\n", i))
	}
	if r := w.run(); r.Indexed != 200 {
		t.Fatalf("%+v", r)
	}
	w.wantFound(access.Anonymous, "subject137", "f137.txt")
	if r := w.run(); r.Unchanged != 200 {
		t.Errorf("%+v", r)
	}
}

// TestIngestion_OfTheNorthwindHandbooks reads real files, which are not part of the project.
func TestIngestion_OfTheNorthwindHandbooks(t *testing.T) {
	if needs.Race {
		t.Skip("compiling PDFium takes minutes with the race detector")
	}
	dir, err := filepath.Abs("../../../../shared/data/northwind")
	if err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*", "*.pdf"))
	more, _ := filepath.Glob(filepath.Join(dir, "*.pdf"))
	if files = append(files, more...); len(files) == 0 {
		needs.Missing(t, "the handbooks of the folder shared")
	}
	w := newWhole(t)
	w.dir = dir
	r := w.run()
	if r.Indexed < len(files) || len(r.Failed) > 0 {
		t.Fatalf("%d files: %+v", len(files), r)
	}
	docs, err := w.db.Corpus().AllDocuments(context.Background(), "default", "", 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range docs {
		chunks, err := w.db.Corpus().RevisionChunks(context.Background(), d.Revision)
		if err != nil {
			t.Fatal(err)
		}
		pages, err := w.db.Corpus().Pages(context.Background(), d.Revision)
		if err != nil {
			t.Fatal(err)
		}
		text := map[int]string{}
		for _, p := range pages {
			text[p.Number] = p.Text
		}
		for _, c := range chunks {
			var parts []string
			for _, s := range c.Spans {
				parts = append(parts, text[s.Page][s.Start:s.End])
			}
			if got := strings.Join(parts, "\n"); got != c.Text {
				t.Fatalf("%s: a chunk is %q, its spans %q", d.Name, c.Text, got)
			}
		}
	}
}
