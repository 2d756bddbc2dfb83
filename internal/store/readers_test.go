package store

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/internal/retrieval"
)

// If a read held one connection while it waited for another, the first searches after a start could
// hold all connections and hang for ever.
func TestReads_NeedOneConnectionEach(t *testing.T) {
	db, err := Open(t.Context(), t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for range readers() - 1 {
		conn, err := db.corpus.db.read.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	failed := make(chan error, 1)
	go func() {
		_, err := db.Corpus().Chunks(ctx, "ns", []retrieval.ChunkKey{{Revision: 1}})
		failed <- err
	}()
	select {
	case err := <-failed:
		if err != nil {
			t.Error(err)
		}
	case <-ctx.Done():
		t.Fatal("the read waits for a connection while it holds one")
	}
}

func TestChunks_OfALargeCorpusComeInTheOrderOfKeysToo(t *testing.T) {
	dir := t.TempDir()
	db := mustOpen(t, dir)
	if err := fillCorpus(t.Context(), db.Corpus()); err != nil {
		t.Fatal(err)
	}
	var keys []retrieval.ChunkKey
	for i := range 2 * maxReaders {
		keys = append(keys, retrieval.ChunkKey{Revision: int64(2*maxReaders - i), Ordinal: i % 5})
	}
	keys = slices.Insert(keys, 3, retrieval.ChunkKey{Revision: 1 << 20}) // a key that no chunk has
	want, err := db.Corpus().Chunks(t.Context(), "ns", keys)
	if err != nil || len(want) != len(keys)-1 {
		t.Fatalf("%d passages, %v", len(want), err)
	}
	db.Corpus().large = 0
	got, err := db.Corpus().Chunks(t.Context(), "ns", keys)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("read side by side (-want +got), %v:\n%s", err, diff)
	}
}
