package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"parley/internal/retrieval"
)

func TestCheck_FindsDamageThatWouldHideRows(t *testing.T) {
	whole := damagedSource(t)
	for _, broken := range []bool{false, true} {
		dir := t.TempDir()
		path := filepath.Join(dir, "corpus.db")
		if err := os.WriteFile(path, whole, 0o600); err != nil {
			t.Fatal(err)
		}
		if broken {
			zeroIndexOfRevisions(t, dir)
		}
		db, err := Open(t.Context(), dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		found, err := db.Corpus().Chunks(t.Context(), "ns", []retrieval.ChunkKey{{Revision: 1}})
		if err != nil || broken == (len(found) > 0) {
			t.Fatalf("broken: %v, but %d chunks are found, %v: nothing is hidden, and so nothing tested", broken, len(found), err)
		}
		err = db.Check(t.Context())
		if e, ok := errors.AsType[*DamagedError](err); ok != broken || ok && e.Path != path {
			t.Errorf("broken: %v; Check: %v", broken, err)
		}
	}
}

func TestCheck_ReadsAllPagesOfALargeDatabase(t *testing.T) {
	before := checkLimit
	t.Cleanup(func() { checkLimit = before })
	checkLimit = 0 // treats every database as large
	whole := damagedSource(t)
	pages := len(whole) / 4096
	for _, page := range []int{0, 1, 63, 64, pages - 1} { // 0 damages nothing
		if page >= pages {
			t.Fatalf("only %d pages", pages)
		}
		dir := t.TempDir()
		path := filepath.Join(dir, "corpus.db")
		broken := slices.Clone(whole)
		if page > 0 {
			broken[page*4096+100] ^= 4
		}
		if err := os.WriteFile(path, broken, 0o600); err != nil {
			t.Fatal(err)
		}
		db, err := Open(t.Context(), dir, nil)
		if err == nil {
			err = errors.Join(db.Check(t.Context()), db.Close())
		}
		if e, ok := errors.AsType[*DamagedError](err); ok != (page > 0) || ok && e.Path != path || !ok && err != nil {
			t.Errorf("damage to page %d of %d: %v", page+1, pages, err)
		}
	}
}

// zeroIndexOfRevisions zeroes the cell pointers of the index from documents to chunks, in a page
// that another program has left without a checksum.
func zeroIndexOfRevisions(t *testing.T, dir string) {
	t.Helper()
	db, err := Open(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	var root, size int64
	err = db.corpus.db.read.QueryRow("SELECT rootpage FROM sqlite_master WHERE name = 'sqlite_autoindex_documents_2'").Scan(&root)
	err = errors.Join(err, db.corpus.db.read.QueryRow("PRAGMA page_size").Scan(&size), db.Close())
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "corpus.db")
	err = errors.Join(overwrite(path, (root-1)*size+8, strings.Repeat("\x00", 240)), overwrite(path, root*size-4, "\x00\x00\x00\x00"))
	if err != nil {
		t.Fatal(fmt.Errorf("page %d: %w", root, err))
	}
}
