package ingest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"parley/internal/extract"
	"parley/internal/retrieval"
)

// asideCorpus also keeps the rebuilt documents beside the others, until it switches to them.
type asideCorpus struct {
	*fakeCorpus
	aside    map[string]retrieval.Put // by id
	switched string                   // the generation switched to
	onAside  func() error             // called for each batch; an error refuses the batch
}

func (a *asideCorpus) Apply(ctx context.Context, b retrieval.Batch) error {
	if b.Namespace != retrieval.Aside("default") {
		return a.fakeCorpus.Apply(ctx, b)
	}
	if a.onAside != nil {
		if err := a.onAside(); err != nil {
			return err
		}
	}
	for _, id := range b.Delete {
		delete(a.aside, id)
	}
	for _, p := range b.Put {
		a.aside[p.Document.ID] = p
	}
	return nil
}

func (a *asideCorpus) AllDocuments(ctx context.Context, namespace, after string, limit int) ([]retrieval.Document, error) {
	if namespace != retrieval.Aside("default") {
		return a.fakeCorpus.AllDocuments(ctx, namespace, after, limit)
	}
	other := newFakeCorpus()
	other.docs = a.aside
	return other.AllDocuments(ctx, namespace, after, limit)
}

func (a *asideCorpus) SwitchAside(_ context.Context, _, generation string) (int, error) {
	a.switched = generation
	return len(a.aside), nil
}

// ingested returns a bench with some documents, and its corpus, which can be rebuilt.
func ingested(t *testing.T) (*bench, *asideCorpus) {
	b := newBench(t)
	for _, name := range []string{"a.md", "b.md", "c.md"} {
		b.write(name, "Text of "+name+".")
	}
	b.run()
	a := &asideCorpus{fakeCorpus: b.corpus, aside: map[string]retrieval.Put{}}
	b.cfg.Store, b.cfg.Workers = a, 1
	return b, a
}

func (b *bench) rebuild(a *asideCorpus) RebuildReport {
	b.t.Helper()
	r, err := New(b.cfg).Rebuild(b.t.Context(), a, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

func TestRebuild_MakesDocumentsAnewFromTheirOriginals(t *testing.T) {
	b, a := ingested(t)
	b.remove("a.md") // the file is not looked at
	b.write("b.md", "Changed.")
	r := b.rebuild(a)
	if r.Switched != 3 || r.Pages != 3 || r.Chunks != 3 || len(r.Kept) > 0 || a.switched != generation {
		t.Errorf("%+v, switched to %q", r, a.switched)
	}
	for _, p := range b.corpus.docs {
		made := a.aside[retrieval.AsideID(p.Document)]
		if made.Document.Name != p.Document.Name || len(made.Chunks) != 1 || made.Chunks[0].Text != p.Chunks[0].Text {
			t.Errorf("%s was made anew as %+v", p.Document.Name, made)
		}
	}
}

func TestRebuild_KeepsWhatCannotBeReadAnyMore(t *testing.T) {
	b, a := ingested(t)
	sha := b.corpus.doc(t, "a.md").Document.SHA256
	if err := os.Remove(filepath.Join(b.blobs.dir, sha)); err != nil {
		t.Fatal(err)
	}
	d := b.corpus.doc(t, "b.md").Document
	if err := os.WriteFile(filepath.Join(b.blobs.dir, d.SHA256), []byte("DAMAGED"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := b.rebuild(a)
	var kept []string
	for _, k := range r.Kept {
		kept = append(kept, k.Path+" "+string(k.Reason))
	}
	if want := []string{"a.md unreadable", "b.md " + string(extract.Damaged)}; r.Switched != 1 || !slices.Equal(kept, want) {
		t.Errorf("%d switched, kept %q, want %q", r.Switched, kept, want)
	}
}

func TestRebuild_GoesOnWhereItStopped(t *testing.T) {
	b, a := ingested(t)
	b.write("d.md", strings.Repeat("A sentence of a large document. ", maxBatchText/32+1)) // a batch of its own
	b.write("e.md", "Text of e.md.")
	b.run()
	batches := 0
	a.onAside = func() error {
		if batches++; batches == 2 {
			return errors.New("the disk is full")
		}
		return nil
	}
	if _, err := New(b.cfg).Rebuild(t.Context(), a, nil); err == nil || a.switched != "" {
		t.Fatalf("error %v, switched to %q", err, a.switched)
	}
	if len(a.aside) != 4 {
		t.Fatalf("%d documents were made before it stopped, want 4", len(a.aside))
	}
	a.onAside = nil
	b.write("a.md", "Changed meanwhile.")
	b.corpus.docs[b.corpus.doc(t, "a.md").Document.ID] = changedDocument(b.corpus.doc(t, "a.md"))
	r := b.rebuild(a)
	if r.Resumed != 3 || r.Pages != 2 || len(a.aside) != 5 {
		t.Errorf("%+v, %d documents aside", r, len(a.aside))
	}
}

// changedDocument returns a document in a later revision.
func changedDocument(p retrieval.Put) retrieval.Put {
	p.Document.Revision++
	return p
}

func TestRebuild_OneAtATime(t *testing.T) {
	b, a := ingested(t)
	unlock, err := Locks{Dir: b.data}.ingestion()
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	if _, err := New(b.cfg).Rebuild(t.Context(), a, nil); !errors.As(err, new(*LockedError)) {
		t.Errorf("error %v", err)
	}
}

// Passwords are not stored; a rebuild reads them from where they were.
func TestRebuild_OpensFilesWithThePasswordsBesideThem(t *testing.T) {
	b := newBench(t)
	b.write("own.txt", "locked with sesame")
	b.write("own.txt.parley.yaml", "password: sesame\n")
	b.write("sub/deep/folder.txt", "locked with folder")
	b.write("sub/entry.txt", "locked with entry")
	b.write("sub/parley.yaml", "passwords: [wrong, folder]\nfiles: {entry.txt: {password: entry}}\n")
	b.write("z.zip", zipped(t, "in/a.txt", "locked with zip"))
	b.write("z.zip.parley.yaml", "password: zip\n")
	b.write("lost.txt", "locked with lost")
	b.write("lost.txt.parley.yaml", "password: lost\n")
	b.want(b.run(), counts{Indexed: 5})
	b.remove("lost.txt.parley.yaml")
	a := &asideCorpus{fakeCorpus: b.corpus, aside: map[string]retrieval.Put{}}
	b.cfg.Store = a
	r := b.rebuild(a)
	if r.Switched != 4 || len(r.Kept) != 1 || r.Kept[0].Path != "lost.txt" || r.Kept[0].Reason != extract.Encrypted {
		t.Errorf("%+v", r)
	}
	alone := newBench(t)
	alone.write("own.txt", "locked with sesame")
	alone.write("own.txt.parley.yaml", "password: sesame\n")
	alone.want(alone.run("own.txt"), counts{Indexed: 1})
	a = &asideCorpus{fakeCorpus: alone.corpus, aside: map[string]retrieval.Put{}}
	alone.cfg.Store = a
	if r := alone.rebuild(a); r.Switched != 1 {
		t.Errorf("a root that is a file: %+v", r)
	}
}
