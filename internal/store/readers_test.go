package store

import (
	"context"
	"testing"
	"time"

	"parley/internal/retrieval"
)

// A read that held one connection while it waited for another would hang for good as soon as all
// connections were held so, by the first searches after a start.
func TestReads_NeedOneConnectionEach(t *testing.T) {
	db, err := Open(t.Context(), t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for range readers - 1 {
		conn, err := db.corpus.db.read.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
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
