package ingest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/access"
	"parley/internal/retrieval"
)

// survey returns the documents that Survey shows, with their names and numbers of chunks.
func (w *whole) survey() (seen []string) {
	w.t.Helper()
	temporary := w.t.TempDir()
	for _, name := range []string{"TMPDIR", "TMP", "TEMP"} {
		w.t.Setenv(name, temporary)
	}
	r, err := w.in.Survey(context.Background(), []string{w.dir}, func(p retrieval.Put) error {
		seen = append(seen, fmt.Sprintf("%s: %d chunks", p.Document.Name, len(p.Chunks)))
		return nil
	}, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	if left, err := os.ReadDir(os.TempDir()); len(left) > 0 || err != nil {
		w.t.Errorf("a survey leaves %v behind (%v)", left, err)
	}
	slices.Sort(seen)
	if n := r.Indexed + r.Updated; n != len(seen) {
		w.t.Errorf("%d documents in the report, %d shown", n, len(seen))
	}
	return seen
}

// stored returns everything that a survey might change.
func (w *whole) stored() (all []string) {
	w.t.Helper()
	ctx := context.Background()
	version, err := w.db.Corpus().Version(ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	err = filepath.WalkDir(w.data, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			all = append(all, path)
		}
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return append(all, fmt.Sprint("version ", version))
}

func TestSurvey_ShowsWhatRunWouldPutAndChangesNothing(t *testing.T) {
	w := newWhole(t)
	w.write("a.md", "# Alpha\n\nThe first letter.\n")
	w.write("b.txt", "The same text.\n")
	w.write("c.txt", "The same text.\n")
	w.write("broken.docx", "PK\x03\x04 and nothing more")
	before := w.stored()
	want := []string{"a.md: 1 chunks", "b.txt: 1 chunks", "c.txt: 1 chunks"}
	for range 2 {
		if diff := cmp.Diff(want, w.survey()); diff != "" {
			t.Errorf("shown (-want +got):\n%s", diff)
		}
	}
	if diff := cmp.Diff(before, w.stored()); diff != "" {
		t.Errorf("the data folder (-before +after):\n%s", diff)
	}
	w.run()
	w.write("b.txt", "A zebra.\n")
	if diff := cmp.Diff([]string{"b.txt: 1 chunks"}, w.survey()); diff != "" {
		t.Errorf("shown of what has changed (-want +got):\n%s", diff)
	}
	w.wantFound(access.Anonymous, "zebra")
}

func TestSurvey_EndsWithTheErrorOfItsVisitor(t *testing.T) {
	w := newWhole(t)
	w.write("a.md", "Alpha.")
	enough := errors.New("enough")
	_, err := w.in.Survey(context.Background(), []string{w.dir}, func(retrieval.Put) error { return enough }, nil)
	if !errors.Is(err, enough) {
		t.Errorf("error %v, want %v", err, enough)
	}
	if _, err := w.in.Survey(context.Background(), []string{w.dir + "/missing"}, nil, nil); err == nil {
		t.Error("a missing path was surveyed")
	}
}
