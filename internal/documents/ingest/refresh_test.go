package ingest

import (
	"path/filepath"
	"testing"
)

// refresh ingests paths of the folder that have changed.
func (b *bench) refresh(paths ...string) Report {
	b.t.Helper()
	for i, p := range paths {
		paths[i] = filepath.Join(b.dir, p)
	}
	r, err := New(b.cfg).Refresh(b.t.Context(), paths, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

func TestRefresh_LooksAtTheGivenPathsOnly(t *testing.T) {
	b := newBench(t)
	b.write("a.md", "Alpha.")
	b.write("sub/b.md", "Beta.")
	b.write("sub/deep/c.md", "Gamma.")
	b.run()
	b.write("a.md", "Alpha, changed.")
	b.write("sub/b.md", "Beta, changed.")
	b.write("sub/new.md", "Delta.")
	b.want(b.refresh("sub/b.md"), counts{Updated: 1})
	b.want(b.refresh("sub", "sub/b.md", "sub/deep/c.md"), counts{Indexed: 1, Unchanged: 2})
	b.want(b.refresh("."), counts{Updated: 1, Unchanged: 3})
	b.wantNames("a.md", "sub/b.md", "sub/deep/c.md", "sub/new.md")
}

func TestRefresh_ForgetsWhatIsGone(t *testing.T) {
	b := newBench(t)
	for _, p := range []string{"a.md", "sub/b.md", "sub/deep/c.md", "was/d.md"} {
		b.write(p, "Text.")
	}
	b.want(b.run(), counts{Indexed: 4})
	b.wantNames("a.md", "sub/b.md", "sub/deep/c.md", "was/d.md")
	for _, p := range []string{"a.md", "sub", "was"} {
		b.remove(p)
	}
	b.write("was", "not a folder any more")
	b.want(b.refresh("a.md", "sub/deep", "was/d.md", "never.md"), counts{Deleted: 3})
	b.wantNames("sub/b.md")
	b.want(b.refresh("sub"), counts{Deleted: 1})
	b.wantNames()
}

func TestRefresh_AFolderThatIsGoneAsAWholeKeepsItsDocuments(t *testing.T) {
	b := newBench(t)
	b.write("a.md", "Alpha.")
	b.run()
	b.remove(".")
	b.want(b.refresh(".", "a.md"), counts{})
	b.wantNames("a.md")
}

func TestRefresh_WhatIsSaidOfADocumentReachesIt(t *testing.T) {
	b := newBench(t)
	b.write("a.md", "Alpha.")
	b.write("sub/b.md", "Beta.")
	b.run()
	b.write("a.md.parley.yaml", "title: Of the sidecar")
	b.want(b.refresh("a.md.parley.yaml"), counts{Updated: 1})
	if got := b.corpus.doc(t, "a.md").Document.Title; got != "Of the sidecar" {
		t.Errorf("the title is %q", got)
	}
	b.write("sub/parley.yaml", "category: letters")
	b.want(b.refresh("sub/parley.yaml"), counts{Updated: 1})
	if got := b.corpus.doc(t, "sub/b.md").Document.Category; got != "letters" {
		t.Errorf("the category is %q", got)
	}
}

func TestRefresh_LeavesAloneWhatWasNeverIngested(t *testing.T) {
	b := newBench(t)
	b.write("in/a.md", "Alpha.")
	b.write("out/b.md", "Beta.")
	b.run("in")
	b.want(b.refresh("out", "out/b.md", "in/.hidden.md", "in/node_modules/x.md"), counts{})
	b.wantNames("a.md")
}

func TestIgnores(t *testing.T) {
	b := newBench(t)
	for path, want := range map[string]bool{
		".": false, "a.md": false, "sub/a.md": false, ".git": true, ".git/x": true, "sub/.x": true, "..": true,
	} {
		if got := New(b.cfg).Ignores(b.dir, filepath.Join(b.dir, path)); got != want {
			t.Errorf("%s: %t", path, got)
		}
	}
}
