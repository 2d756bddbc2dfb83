package storetest

import (
	"testing"

	"parley/internal/retrieval"
)

// aside returns a rebuilt version of a document.
func (c corpus) aside(of retrieval.Put) retrieval.Put {
	c.Helper()
	p := c.put(retrieval.AsideID(of.Document), of.Document.Name)
	p.Document.Namespace, p.Document.Generation = retrieval.Aside("ns"), "g2"
	return p
}

func testSwitchAside(t *testing.T, c corpus) {
	ctx := t.Context()
	a, b, kept := c.put(id(1), "a.pdf"), c.put(id(2), "b.pdf"), c.put(id(3), "c.pdf")
	row := func(p retrieval.Put) retrieval.File {
		return retrieval.File{
			FileKey:    retrieval.FileKey{Root: "/r", Path: p.Document.Name},
			DocumentID: p.Document.ID, Generation: "g1",
		}
	}
	waiting := row(a)
	waiting.Generation += "+waiting"
	c.apply(retrieval.Batch{
		Namespace: "ns", Put: []retrieval.Put{a, b, kept}, PutFiles: []retrieval.File{waiting, row(b), row(kept)},
		AddSegments: []retrieval.Segment{{Generation: "old", Data: []byte("old")}},
	})
	g := c.begin(retrieval.Generation{Model: "m"})
	c.embed(g, a, b, kept)
	c.must(c.SwitchGeneration(ctx, g.ID))
	newA, newB := c.aside(a), c.aside(b)
	newA.Document.Notes = "Pages 4–5 have no text layer."
	c.apply(retrieval.Batch{
		Namespace: retrieval.Aside("ns"), Put: []retrieval.Put{newA, newB},
		AddSegments: []retrieval.Segment{{Generation: "new", Data: []byte("new")}},
	})
	c.embed(g, newA)
	changed := c.put(id(2), "b.pdf") // after its rebuilt version was made
	c.apply(retrieval.Batch{Namespace: "ns", Put: []retrieval.Put{changed}})

	namespaces, err := c.Namespaces(ctx)
	c.must(err)
	c.equal("namespaces", []string{"ns"}, namespaces)
	all, err := c.Documents(ctx, everyone, "", 10)
	c.must(err)
	c.equal("documents before the switch", []retrieval.Document{a.Document, changed.Document, kept.Document}, all)

	before, err := c.Version(ctx)
	c.must(err)
	vectors := c.vectorVersion()
	done, n, err := c.SwitchAside(ctx, retrieval.Switch{
		Namespace: "ns", Generation: "g2", AddSegments: []retrieval.Segment{{Generation: "kept", Data: []byte("kept")}},
	})
	c.must(err)
	c.equal("revisions that are gone", []int64{a.Document.Revision}, done.Gone)
	if n != 1 || done.Before != before || done.Version != before+1 {
		t.Errorf("%d documents switched, versions %d to %d after %d", n, done.Before, done.Version, before)
	}
	newA.Document.ID, newA.Document.Namespace = a.Document.ID, "ns"
	all, err = c.Documents(ctx, everyone, "", 10)
	c.must(err)
	c.equal("documents after it", []retrieval.Document{newA.Document, changed.Document, kept.Document}, all)
	chunks, err := c.RevisionChunks(ctx, newA.Document.Revision)
	c.must(err)
	c.equal("chunks", newA.Chunks, chunks)
	snap, err := c.Snapshot(ctx, "ns")
	c.must(err)
	var generations []string
	for _, s := range snap.Segments {
		generations = append(generations, s.Generation)
	}
	c.equal("segments", []string{"new", "kept"}, generations)
	files, err := c.Files(ctx, "ns", "/r")
	c.must(err)
	generations = nil
	var notes []string
	for _, f := range files {
		generations, notes = append(generations, f.Generation), append(notes, f.Detail)
	}
	c.equal("generations of the files", []string{"g2+waiting", "g1", "g1"}, generations)
	c.equal("what could not be read of the files", []string{newA.Document.Notes, "", ""}, notes)
	if linked := c.linked("ns", g, vectors, c.vectorVersion()); len(linked) != len(newA.Chunks) {
		t.Errorf("vectors that came with the switch: %v", linked)
	}

	c.sweepReplaced()
	c.gone(a)
	c.gone(newB)
	again, err := c.Snapshot(ctx, "ns")
	c.must(err)
	c.equal("the snapshot after the sweep", snap, again)
}

// sweepReplaced sweeps one document at a time until nothing is left to sweep.
func (c corpus) sweepReplaced() {
	c.Helper()
	for i := 0; ; i++ {
		n, err := c.SweepReplaced(c.Context(), 1)
		c.must(err)
		if n == 0 {
			break
		}
		if n > 1 || i > 100 {
			c.Fatalf("sweep %d deleted %d", i, n)
		}
	}
}
