package ingest

import (
	"os"
	"path/filepath"
	"testing"

	"parley/internal/access/accesstest"
	"parley/internal/extract"
)

func TestRun_KeepsDocumentsOfAFolderThatCannotBeRead(t *testing.T) {
	if accesstest.RanAsNobody(t) {
		return
	}
	b := newBench(t)
	b.write("a.md", "Alpha.")
	b.write("sub/b.md", "Beta.")
	b.run()
	if err := os.Chmod(filepath.Join(b.dir, "sub"), 0); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(filepath.Join(b.dir, "sub"), 0o755)
	b.want(b.run(), counts{Unchanged: 1, Failed: 1})
	b.wantNames("a.md", "sub/b.md")
}

func TestRun_TriesAnUnreadableFileAgain(t *testing.T) {
	if accesstest.RanAsNobody(t) {
		return
	}
	b := newBench(t)
	b.write("a.md", "Alpha.")
	path := filepath.Join(b.dir, "a.md")
	if err := os.Chmod(path, 0); err != nil {
		t.Fatal(err)
	}
	r := b.run()
	b.want(r, counts{Failed: 1})
	if r.Failed[0].Reason != extract.Unreadable {
		t.Errorf("%+v", r.Failed)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	b.want(b.run(), counts{Indexed: 1})
}
