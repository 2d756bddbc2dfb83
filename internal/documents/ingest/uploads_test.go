package ingest

import (
	"path/filepath"
	"slices"
	"testing"

	"parley/internal/access"
	"parley/internal/documents/metadata"
)

// The ingested folder contains the data folder, and that the uploads.
func TestRun_UploadsAndTheFolderAroundThemLeaveEachOtherAlone(t *testing.T) {
	b := newBench(t)
	b.cfg.DataDir = filepath.Join(b.dir, "data")
	const below = "data/uploads/files/default/shared"
	uploads := filepath.Join(b.dir, below)
	b.write("a.md", "Alpha.")
	b.write(below+"/up.md", "Uploaded.")
	b.write(below+"/a.md", "Another alpha.")
	b.want(b.run(), counts{Indexed: 1})
	if _, err := b.try(t.Context(), below); err == nil {
		t.Error("the data folder was ingested without being told that these are uploads")
	}
	around := b.cfg
	var outcomes []string
	b.cfg.Uploads, b.cfg.Owner, b.cfg.Access = uploads, "ann", access.List{Users: []string{"ann"}}
	b.cfg.Outcome = func(o Outcome) {
		outcomes = append(outcomes, o.Path)
		if o.DocumentID == "" || o.Unchanged || o.Chunks != 1 || o.Tokens == 0 {
			t.Errorf("the outcome is %+v", o)
		}
	}
	b.want(b.run(below), counts{Indexed: 2})
	slices.Sort(outcomes)
	if want := []string{"a.md", "up.md"}; !slices.Equal(outcomes, want) {
		t.Errorf("told of %q, want %q", outcomes, want)
	}
	b.wantNames("a.md", "uploads/a.md", "uploads/up.md")
	if doc := b.corpus.doc(t, "uploads/up.md").Document; doc.Owner != "ann" || !slices.Equal(doc.Access.Users, []string{"ann"}) {
		t.Errorf("the document is %+v", doc)
	}
	if root := b.corpus.roots[len(b.corpus.roots)-1].Path; root != UploadsRoot("ann") {
		t.Errorf("the root is %q", root)
	}
	b.cfg = around
	b.want(b.run(), counts{Unchanged: 1})
	b.wantNames("a.md", "uploads/a.md", "uploads/up.md")
}

func TestRun_ASidecarLimitsTheChunksOfAFile(t *testing.T) {
	b := newBench(t)
	long := ""
	for range 400 {
		long += "A sentence that fills the chunks of this file with words.\n\n"
	}
	b.write("a.md", long)
	b.run()
	all := len(b.corpus.doc(t, "a.md").Chunks)
	b.write("a.md.parley.yaml", string(metadata.Sidecar(metadata.Limits{SkipSections: []string{"References"}, MaxChunks: 2})))
	b.want(b.run(), counts{Updated: 1})
	if got := len(b.corpus.doc(t, "a.md").Chunks); got != 2 || all <= 2 {
		t.Errorf("%d of %d chunks are left, want 2", got, all)
	}
	b.want(b.run(), counts{Unchanged: 1})
	b.write("a.md.parley.yaml", "max_chunks: 0\n")
	if r := b.run(); len(r.Failed) != 1 || r.Failed[0].Reason != BadMetadata {
		t.Errorf("no chunks at all: %+v", r)
	}
}
