package ingest

import (
	"strings"
	"testing"

	"parley/internal/access"
	"parley/internal/retrieval"
)

// indexedBefore returns a bench with documents as an earlier version left them, which did not look for restrictions in other
// words: a.md has one.
func indexedBefore(t *testing.T) (*bench, *asideCorpus) {
	b := newBench(t)
	b.cfg.Access = access.List{Users: []string{"ann"}} // with it, the text of the document does not matter
	b.write("a.md", "RESTRICTED text")
	b.write("b.md", "Beta.")
	b.run()
	b.cfg.Access = access.List{}
	for id, p := range b.corpus.docs {
		p.Document.Access, p.Document.Generation = access.List{}, "extract-9/split-2"
		b.corpus.docs[id] = p
	}
	for key, row := range b.corpus.files {
		row.Generation = "extract-9/split-2"
		b.corpus.files[key] = row
	}
	a := &asideCorpus{fakeCorpus: b.corpus, aside: map[string]retrieval.Put{}}
	b.cfg.Store, b.cfg.Workers = a, 1
	return b, a
}

func TestRun_ReadsAgainWhatAnEarlierVersionIndexedAndKeepsItOut(t *testing.T) {
	b, _ := indexedBefore(t)
	b.want(b.run(), counts{Updated: 1, Failed: 1, Deleted: 1})
	b.wantNames("b.md")
}

func TestRebuild_DoesNotMakeAnewWhatAnEarlierVersionShouldHaveKeptOut(t *testing.T) {
	b, a := indexedBefore(t)
	r := b.rebuild(a)
	if len(r.Kept) != 1 || r.Kept[0].Path != "a.md" || r.Kept[0].Reason != BadMetadata || r.Switched != 1 {
		t.Errorf("%+v", r)
	}
}

func TestKeepOut_TakesOutWhatAnEarlierVersionShowsToEverybody(t *testing.T) {
	b, _ := indexedBefore(t)
	b.remove("a.md") // the file is not looked at
	out, err := New(b.cfg).KeepOut(t.Context())
	if err != nil || len(out) != 1 || out[0].Path != "a.md" || out[0].Reason != BadMetadata {
		t.Fatalf("%+v, %v", out, err)
	}
	b.wantNames("b.md")
	for key, row := range b.corpus.files {
		if failed := row.DocumentID == "" && row.Reason == string(BadMetadata) && strings.Contains(row.Detail, "acl"); failed != (key.Path == "a.md") {
			t.Errorf("%s: %+v", key.Path, row)
		}
	}
	if out, err = New(b.cfg).KeepOut(t.Context()); err != nil || len(out) > 0 {
		t.Errorf("again: %+v, %v", out, err)
	}
	b.write("a.md", "Alpha.")
	b.run()
	b.wantNames("a.md", "b.md")
}

func TestKeepOut_LeavesWhatSomeOnlyMaySeeOrThisVersionHasRead(t *testing.T) {
	for name, change := range map[string]func(d *retrieval.Document){
		"restricted": func(d *retrieval.Document) { d.Access.Groups = []string{"hr"} },
		"read":       func(d *retrieval.Document) { d.Generation = generation + "/500-50-100-128" },
	} {
		b, _ := indexedBefore(t)
		for id, p := range b.corpus.docs {
			change(&p.Document)
			b.corpus.docs[id] = p
		}
		if out, err := New(b.cfg).KeepOut(t.Context()); err != nil || len(out) > 0 {
			t.Errorf("%s: %+v, %v", name, out, err)
		}
	}
}
