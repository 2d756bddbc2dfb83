package store_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/retrieval"
	"parley/internal/store"
	"parley/internal/store/storetest"
	"parley/internal/turn"
)

// fillAll stores something in most tables, with texts that PostgreSQL does not take as they are.
func fillAll(t *testing.T, db *store.DB) (original string) {
	t.Helper()
	c := db.Corpus()
	sha, _, err := db.Blobs().Put(t.Context(), strings.NewReader("the original"))
	if err != nil {
		t.Fatal(err)
	}
	revision, err := c.NextRevisions(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	key := retrieval.ChunkKey{Revision: revision}
	_, err = c.Apply(t.Context(), retrieval.Batch{Namespace: "ns", Put: []retrieval.Put{{
		Document: retrieval.Document{ID: "d", Revision: revision, Namespace: "ns", Name: "a\x00.txt", SHA256: sha, Pages: 1, Chunks: 1},
		Pages:    []retrieval.Page{{Number: 1, Text: "nul \x00 and \xff"}},
		Chunks:   []retrieval.Chunk{{Key: key, Text: "nul \x00 and \xff"}},
	}}, AddSegments: []retrieval.Segment{{Generation: "g", Chunks: 1, Revisions: []int64{revision}, Data: []byte("segment\x00")}}})
	if err != nil {
		t.Fatal(err)
	}
	g, err := c.BeginGeneration(t.Context(), retrieval.Generation{Model: "m", Recipe: "r"})
	if err != nil {
		t.Fatal(err)
	}
	batch := retrieval.VectorBatch{Generation: g.ID} // the vector of a refused text is empty
	batch.Vectors = append(batch.Vectors, retrieval.Vector{Hash: retrieval.Hash{1}})
	batch.Links = append(batch.Links, retrieval.VectorLink{Key: key, Hash: retrieval.Hash{1}})
	if _, err := c.PutVectors(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if err := db.State().Save(t.Context(), storetest.Record(i, "")); err != nil {
			t.Fatal(err)
		}
	}
	return sha
}

func TestCopy_TakesEverythingToTheOtherDatabaseAndBack(t *testing.T) {
	from, server, back := open(t), openPostgres(t), open(t)
	sha := fillAll(t, from)
	counts := map[string]int{}
	for _, step := range []struct{ to, from *store.DB }{{server, from}, {server, from}, {back, server}} { // the second goes on
		again := map[string]int{}
		if err := store.Copy(t.Context(), step.to, step.from, func(c store.Copied) { again[c.Table] = c.Rows }); err != nil {
			t.Fatal(err)
		}
		if len(counts) == 0 {
			counts = again
		}
		if diff := cmp.Diff(counts, again); diff != "" {
			t.Errorf("copied rows (-first +this time):\n%s", diff)
		}
	}
	for _, table := range []string{"originals", "documents", "pages", "chunks", "segment_parts", "vectors", "chunk_vectors", "turns", "messages"} {
		if counts[table] == 0 {
			t.Errorf("nothing of %s was copied", table)
		}
	}
	want := storetest.Record(1, "")
	got, err := back.State().Turn(t.Context(), want.Scope, want.ID)
	if want.Seen = 0; err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("turn (-want +got):\n%s", diff)
	}
	f, err := back.Blobs().Open(sha)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if b, err := io.ReadAll(f); err != nil || string(b) != "the original" {
		t.Errorf("original: %q, %v", b, err)
	}
}

func TestCopy_LeavesATargetThatHoldsSomethingElse(t *testing.T) {
	from, to := open(t), open(t)
	other := storetest.Record(7, "")
	if err := to.State().Save(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	err := store.Copy(t.Context(), to, from, func(store.Copied) {})
	if err == nil {
		t.Error("copied into a store that holds something else")
	}
	if _, err := to.State().Turn(t.Context(), other.Scope, other.ID); errors.Is(err, turn.ErrNotFound) {
		t.Error("what the target held is gone")
	}
}
