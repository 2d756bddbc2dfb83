package retrieval_test

import (
	"context"
	"testing"
	"time"

	"parley/internal/llm/llmtest"
	"parley/internal/retrieval"
)

// slowIndex is an index of vectors whose first build ends when free is closed.
type slowIndex struct {
	retrieval.VectorIndex
	building, free chan struct{}
	follows        int
}

func (*slowIndex) Suits(int) bool { return true }

func (*slowIndex) Sizes(context.Context) (map[string]int, error) {
	return map[string]int{"ns": 1 << 30}, nil
}

func (*slowIndex) Ready(context.Context, string, int64) (bool, error) { return false, nil }

func (*slowIndex) Keep(context.Context, []retrieval.IndexKey) error { return nil }

func (x *slowIndex) Follow(ctx context.Context, _ string, _ retrieval.Generation) error {
	if x.follows++; x.follows > 1 {
		return nil
	}
	close(x.building)
	select {
	case <-x.free:
	case <-ctx.Done():
	}
	return ctx.Err()
}

func TestEmbed_GivesDocumentsVectorsWhileAnIndexIsBuilt(t *testing.T) {
	index := &slowIndex{building: make(chan struct{}), free: make(chan struct{})}
	w := newWorld(t, with(&llmtest.Embedder{}), retrieval.WithMemory(1<<30), retrieval.WithVectorIndex(index))
	w.put(colours(20)...)
	ended := make(chan error)
	go func() {
		_, err := w.corpus.Embed(context.Background(), nil)
		ended <- err
	}()
	<-index.building
	w.put(document("late.txt", "A zebra came while the index was built."))
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		without, err := w.db.Corpus().Unembedded(t.Context(), w.generations()[0].ID, retrieval.ChunkKey{}, 10)
		if err != nil {
			t.Fatal(err)
		}
		if len(without) == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("a document that came while the index was built has no vector")
		}
	}
	close(index.free)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if index.follows != 2 {
		t.Errorf("the index was brought up to date %d times, want a second time for what came meanwhile", index.follows)
	}
	if got := names(w.byVectors("A zebra came while the index was built.")); len(got) == 0 || got[0] != "late.txt" {
		t.Errorf("found %v", got)
	}
}
