package formats_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"parley/internal/access"
	"parley/internal/documents/ingest"
	"parley/internal/extract"
	"parley/internal/extract/extracttest"
	"parley/internal/format"
	"parley/internal/retrieval"
	"parley/internal/store"
)

// inProcess reads files without a child process.
type inProcess struct{ extract.Extractor }

func (p *inProcess) Extract(ctx context.Context, r extract.Request) (*extract.Result, error) {
	f, err := os.Open(r.Path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	doc, err := p.File(ctx, extract.Input{Name: r.Name, Content: f, Size: info.Size()})
	return &extract.Result{Document: doc}, err
}

// A row of format.Table and a reader are all that a new format needs.
func TestNewFormat_IsKnownEverywhere(t *testing.T) {
	extracttest.AddFormat(t, format.Format{
		Name: "toy", Extensions: []string{"toy"}, View: format.Slide, Web: true, Members: true, Signatures: []string{"TOY!"},
		Media: []format.Media{{Type: "text/x-toy", Extensions: []string{"toy"}, Page: "toy"}},
	})
	for what, known := range map[string]bool{
		"a file is read for its name":       extract.Supports("a.toy", nil),
		"a file is read for its content":    extract.Supports("a", []byte("TOY!")),
		"a page is read for its media type": ingest.AcceptsPage("text/x-toy", "https://h/a"),
		"a page is read for its name":       ingest.AcceptsPage("application/octet-stream", "https://h/a.toy"),
		"a name is taken for a citation":    slices.Contains(format.OfDocuments(), "toy"),
		"it is known to have members":       format.HasMembers("toy"),
		"it is fuzzed": slices.ContainsFunc(extracttest.FuzzSeeds(), func(seed [2]string) bool {
			return seed[0] == "a.toy" && strings.HasPrefix(seed[1], "TOY!")
		}),
	} {
		if !known {
			t.Errorf("not true: %s", what)
		}
	}

	dir, data := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{"a.toy": "TOY! Penguins swim.", "b.txt": "TOY! Whales sing."} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	db, err := store.Open(t.Context(), data, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	corpus, err := retrieval.Open(t.Context(), db.Corpus(), nil)
	if err != nil {
		t.Fatal(err)
	}
	in := ingest.New(ingest.Config{
		Corpus: corpus, Store: db.Corpus(), Blobs: db.Blobs(), Extractor: &inProcess{},
		Namespace: "default", DataDir: data, Supports: extract.Supports,
	})
	report, err := in.Run(t.Context(), []string{dir}, nil)
	if err != nil || report.Formats["toy"][ingest.OutcomeIndexed] != 2 {
		t.Fatalf("%v, %+v", err, report)
	}
	found, err := corpus.Search(t.Context(), retrieval.Query{
		Filter: retrieval.Filter{Namespace: "default", Principal: access.Anonymous}, Text: "penguins", Limit: 1,
	})
	if err != nil || len(found.Passages) != 1 {
		t.Fatalf("%v, %+v", err, found)
	}
	if d := found.Passages[0].Document; d.MediaType != "text/x-toy" || format.ViewOf(d.MediaType) != format.Slide {
		t.Errorf("it is stored as %q and shown as %q", d.MediaType, format.ViewOf(d.MediaType))
	}
}
