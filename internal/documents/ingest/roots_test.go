package ingest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"parley/internal/documents/metadata"
	"parley/internal/extract"
	"parley/internal/text"
)

func TestRun_LeavesOtherRootsAlone(t *testing.T) {
	b := newBench(t)
	b.write("one/a.md", "Alpha.")
	b.write("two/b.md", "Beta.")
	b.run("one")
	b.want(b.run("two"), counts{Indexed: 1})
	b.wantNames("a.md", "b.md")
}

func TestRun_ChangesNothingWhenAPathIsMissing(t *testing.T) {
	b := newBench(t)
	b.write("one/a.md", "Alpha.")
	b.write("two/b.md", "Beta.")
	b.run("one", "two")
	b.remove("one")
	b.remove("two/b.md")
	_, err := b.try(context.Background(), "one", "two")
	var pathErr *PathError
	if !errors.As(err, &pathErr) || !strings.Contains(err.Error(), "no such file or folder") {
		t.Errorf("error %v", err)
	}
	b.wantNames("a.md", "b.md")
}

func TestRun_RefusesTheDataFolder(t *testing.T) {
	b := newBench(t)
	if _, err := New(b.cfg).Run(context.Background(), []string{b.data}, nil); err == nil {
		t.Error("no error")
	}
	b.cfg.DataDir = filepath.Join(b.dir, "store")
	b.write("store/x.md", "Never.")
	b.write("a.md", "Alpha.")
	b.want(b.run(), counts{Indexed: 1})
}

func TestRun_NamesASingleFileByItsBaseName(t *testing.T) {
	b := newBench(t)
	b.write("deep/er/a.md", "Alpha.")
	b.want(b.run("deep/er/a.md"), counts{Indexed: 1})
	b.wantNames("a.md")
	b.want(b.run("deep/er/a.md"), counts{Unchanged: 1})
}

func TestRun_PrefixesRootsThatCollide(t *testing.T) {
	b := newBench(t)
	for _, p := range []string{"x/docs/a.md", "y/docs/a.md", "y/docs/b.md", "z/docs/b.md", "w/a.md"} {
		b.write(p, "Text of "+p+".")
	}
	b.run("x/docs")
	b.run("y/docs")
	b.run("z/docs") // b.md itself is free
	b.run("w/a.md")
	b.wantNames("a.md", "b.md", "docs/a.md", "docs/b.md", "w/a.md")
	b.write("v/docs/b.md", "One more.")
	b.run("v/docs")
	b.wantNames("a.md", "b.md", "docs-2/b.md", "docs/a.md", "docs/b.md", "w/a.md")

	// A later collision of one file does not move the others of its root.
	b.write("z/docs/a.md", "Late.")
	b.run("z/docs")
	b.wantNames("a.md", "b.md", "docs-2/a.md", "docs-2/b.md", "docs/a.md", "docs/b.md", "w/a.md")
	b.want(b.run("x/docs", "y/docs", "z/docs", "w/a.md", "v/docs"), counts{Unchanged: 7})
}

func TestRun_ReplacesCharactersThatBreakCitations(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("such names cannot exist")
	}
	b := newBench(t)
	names := []string{"a?b.md", "a#b.md", "a_b.md", "new\nline.md", "[x] 100%.md", "bad\xff.md", "bad\xfe.md",
		"rtl\u202eexe.md", "e\u0301.md", `back\slash.md`, strings.Repeat("n", 252) + ".md"}
	for _, n := range names {
		b.write(n, "Text of "+fmt.Sprintf("%q", n)+".")
	}
	b.want(b.run(), counts{Indexed: len(names)})
	for _, n := range b.corpus.names() {
		if strings.ContainsAny(n, "[]#?%<>\\\"|\n\u202e") || !utf8.ValidString(n) {
			t.Errorf("name %q", n)
		}
	}
	b.wantNames("_x_ 100_.md", "a_b-2.md", "a_b-3.md", "a_b.md", "back_slash.md", "bad_-2.md", "bad_.md",
		"new_line.md", strings.Repeat("n", 252)+".md", "rtl_exe.md", "\u00e9.md")
	if d := b.corpus.doc(t, "_x_ 100_.md"); d.Document.Title != "[x] 100%" {
		t.Errorf("title %q", d.Document.Title)
	}
	b.want(b.run(), counts{Unchanged: len(names)})
}

// Titles and names never contain invisible characters, though a document, its sidecar or its file name
// may.
func TestRun_GivesTitlesAndNamesThatHideNothing(t *testing.T) {
	b := newBench(t)
	const hiding = "in\u202efdp\u2066\u2069voi\u200bce\u2060"
	b.write("b.md", "Two.")
	b.write("b.md.parley.yaml", "title: \""+hiding+"\"\n")
	b.write("d-"+hiding+".md", "Four.")
	b.run()
	for _, n := range b.corpus.names() {
		d := b.corpus.doc(t, n).Document
		if strings.ContainsFunc(d.Name+d.Title, text.IsUnseen) || !strings.Contains(d.Title, "infdpvoice") {
			t.Errorf("name %q, title %q", d.Name, d.Title)
		}
	}
	b.wantNames("b.md", "d-in_fdp__voi_ce_.md")
	for name, doc := range map[string]*extract.Document{"its own": {Title: hiding}, "of its front matter": {Meta: extract.Meta{Title: hiding}}} {
		if m, err := (metadata.Said{}).Of(doc, "a.md"); err != nil || m.Title != "infdpvoice" {
			t.Errorf("the title %s is %q, %v", name, m.Title, err)
		}
	}
}

func TestRun_ReadsAFileOnceWhenPathsOverlap(t *testing.T) {
	b := newBench(t)
	b.write("docs/a.md", "Alpha.")
	b.write("docs/sub/b.md", "Beta.")
	b.want(b.run("docs", "docs/sub", "docs/a.md", "docs"), counts{Indexed: 2})
	b.wantNames("a.md", "sub/b.md")

	// A part of a root brings only that part up to date.
	b.remove("docs/a.md")
	b.write("docs/sub/b.md", "Changed.")
	b.write("docs/sub/c.md", "Gamma.")
	b.want(b.run("docs/sub"), counts{Indexed: 1, Updated: 1})
	b.wantNames("a.md", "sub/b.md", "sub/c.md")
	b.remove("docs/sub/c.md")
	b.want(b.run("docs/sub"), counts{Unchanged: 1, Deleted: 1})
	b.want(b.run("docs"), counts{Unchanged: 1, Deleted: 1})
}

func TestRun_TakesOverRootsWithinANewOne(t *testing.T) {
	b := newBench(t)
	b.write("docs/sub/b.md", "Beta.")
	b.write("docs/sub/c.md", "Gamma.")
	b.write("docs/a.md", "Alpha.")
	b.run("docs/sub")
	id := b.corpus.doc(t, "b.md").Document.ID
	b.remove("docs/sub/c.md")
	b.want(b.run("docs"), counts{Indexed: 1, Updated: 1, Deleted: 1})
	b.wantNames("a.md", "sub/b.md")
	if got := b.corpus.doc(t, "sub/b.md").Document.ID; got != id {
		t.Error("the document has a new id")
	}
	if len(b.corpus.roots) != 1 || len(b.corpus.files) != 2 {
		t.Errorf("roots %v, rows %v", b.corpus.roots, b.corpus.files)
	}
	b.want(b.run("docs"), counts{Unchanged: 2})
}

func TestRun_DoesNotFollowLinksOutOfTheRoot(t *testing.T) {
	b := newBench(t)
	b.write("secret.md", "Secret.")
	b.write("docs/..data/a.md", "Mounted.")
	b.write("docs/b.md", "Beta.")
	for link, to := range map[string]string{
		"docs/a.md": "..data/a.md", "docs/out.md": "../secret.md", "docs/abs.md": "/etc/passwd",
		"docs/loop": ".", "docs/broken.md": "nowhere",
	} {
		if err := os.Symlink(to, filepath.Join(b.dir, link)); err != nil {
			t.Skip(err)
		}
	}
	b.want(b.run("docs"), counts{Indexed: 2, Skipped: 3})
	b.wantNames("a.md", "b.md")
}

func TestRun_FollowsTheLinkThatIsTheRoot(t *testing.T) {
	b := newBench(t)
	b.write("docs/a.md", "Alpha.")
	if err := os.Symlink("docs", filepath.Join(b.dir, "link")); err != nil {
		t.Skip(err)
	}
	b.run("link")
	b.want(b.run("docs"), counts{Unchanged: 1})
}
