package retrieval_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/internal/llm/llmtest"
	"parley/internal/retrieval"
)

// newCrowd returns a folder with several namespaces of a few hundred chunks each, and how much memory their indexes take.
func newCrowd(t testing.TB) (dir string, namespaces []string, memory int64) {
	w := newWorld(t, with(&llmtest.Embedder{}))
	for n := range 6 {
		ns := fmt.Sprint("crowd", n)
		puts := colours(60)
		for i := range puts {
			puts[i].Document.ID += ns
			puts[i].Chunks[0].Text += fmt.Sprintf(" It belongs to %s, building %d.", ns, i%7)
		}
		w.apply(retrieval.Batch{Namespace: ns, Put: puts})
		namespaces = append(namespaces, ns)
	}
	w.embed()
	return w.dir, namespaces, w.corpus.Memory().Bytes
}

// ranking returns the results of a search, with the scores.
func ranking(res retrieval.Result) (all []string) {
	for _, p := range res.Passages {
		all = append(all, fmt.Sprintf("%s %d %v %v", p.Document.ID, p.Chunk.Key.Ordinal, p.Score, p.Rank))
	}
	return append(all, string(res.Mode), fmt.Sprint(res.Matched))
}

func TestCorpus_RanksTheSameWhenIndexesLeaveTheMemory(t *testing.T) {
	dir, namespaces, whole := newCrowd(t)
	all := openWorld(t, dir, with(&llmtest.Embedder{}))
	bound := whole / 3
	some := openWorld(t, dir, with(&llmtest.Embedder{}), retrieval.WithMemory(bound))
	if m := some.corpus.Memory(); m.Bytes > bound || m.Namespaces == 0 || m.Namespaces >= len(namespaces) {
		t.Errorf("after the start: %+v", m)
	}
	for round := range 3 {
		for _, ns := range namespaces {
			for _, mode := range []retrieval.Mode{retrieval.Text, retrieval.Vectors, retrieval.Hybrid} {
				q := retrieval.Query{Filter: retrieval.Filter{Namespace: ns}, Mode: mode, Text: fmt.Sprintf("wall w%dx painted brown in building %d", 7*round+3, round)}
				if diff := cmp.Diff(ranking(all.search(q)), ranking(some.search(q))); diff != "" {
					t.Errorf("%s by %s (-whole +budget):\n%s", ns, mode, diff)
				}
			}
			if m := some.corpus.Memory(); m.Bytes > bound {
				t.Errorf("%d bytes are in memory, and the budget is %d", m.Bytes, bound)
			}
		}
	}
	if m := some.corpus.Memory(); m.Dropped < 12 || m.Loaded < m.Dropped {
		t.Errorf("too few indexes left and came back: %+v", m)
	}
	if m := all.corpus.Memory(); m.Dropped != 0 || m.Namespaces != len(namespaces) {
		t.Errorf("without a budget: %+v", m)
	}
}

func TestCorpus_KeepsTheNamespacesThatWereUsedLast(t *testing.T) {
	dir, namespaces, whole := newCrowd(t)
	w := openWorld(t, dir, with(&llmtest.Embedder{}), retrieval.WithMemory(whole/2))
	ask := func(ns string) (loaded bool) {
		before := w.corpus.Memory().Loaded
		w.search(retrieval.Query{Filter: retrieval.Filter{Namespace: ns}, Text: "a brown wall"})
		return w.corpus.Memory().Loaded > before
	}
	for _, ns := range namespaces {
		ask(ns)
	}
	if ask(namespaces[5]) || ask(namespaces[4]) {
		t.Error("namespaces that were used last are read again")
	}
	if !ask(namespaces[0]) {
		t.Error("the namespace that was not used for longest did not leave the memory")
	}
	if ask(namespaces[4]) || ask(namespaces[0]) {
		t.Error("another one than the least recently used left the memory")
	}
}

func TestCorpus_SeesChangesOfNamespacesThatLeftTheMemory(t *testing.T) {
	dir, namespaces, whole := newCrowd(t)
	w := openWorld(t, dir, with(&llmtest.Embedder{}), retrieval.WithMemory(whole/3))
	for _, ns := range namespaces {
		w.search(retrieval.Query{Filter: retrieval.Filter{Namespace: ns}, Text: "a brown wall"})
	}
	p := document("zebra.txt", "A zebra lives in the garden.")
	p.Document.ID = "zebra"
	w.apply(retrieval.Batch{Namespace: namespaces[0], Put: []retrieval.Put{p}, Delete: []string{"id of colour-003.txtcrowd0"}})
	w.embed()
	for _, ns := range namespaces[1:] {
		w.search(retrieval.Query{Filter: retrieval.Filter{Namespace: ns}, Text: "a brown wall"})
	}
	for _, mode := range []retrieval.Mode{retrieval.Text, retrieval.Hybrid} {
		q := retrieval.Query{Filter: retrieval.Filter{Namespace: namespaces[0]}, Mode: mode, Text: "Where does the zebra live?"}
		if got := names(w.search(q)); len(got) == 0 || got[0] != "zebra.txt" {
			t.Errorf("by %s: %v", mode, got)
		}
		q.Text = "The wall number w3x"
		for _, name := range names(w.search(q)) {
			if name == "colour-003.txt" {
				t.Errorf("by %s: a deleted document is found", mode)
			}
		}
	}
}

func TestCorpus_AnswersManyNamespacesAtOnceUnderASmallBudget(t *testing.T) {
	dir, namespaces, _ := newCrowd(t)
	w := openWorld(t, dir, with(&llmtest.Embedder{}), retrieval.WithMemory(1)) // only what is in use is in memory
	var b sync.WaitGroup
	for n := range 24 {
		b.Go(func() {
			ns := namespaces[n%len(namespaces)]
			for i := range 10 {
				q := retrieval.Query{Filter: retrieval.Filter{Namespace: ns}, Mode: retrieval.Hybrid, Text: fmt.Sprintf("wall number w%dx", i)}
				res, err := search(context.Background(), w.corpus, q)
				if err != nil || res.Mode != retrieval.Hybrid || len(res.Passages) == 0 || res.Passages[0].Document.Name != fmt.Sprintf("colour-%03d.txt", i) {
					t.Errorf("%s: %s, %v, %v", ns, res.Mode, names(res), err)
				}
			}
		})
	}
	b.Wait()
	if m := w.corpus.Memory(); m.Namespaces != 1 {
		t.Errorf("after the last search: %+v", m)
	}
	if !strings.Contains(w.log.String(), "takes more than index.memory") {
		t.Error("nothing says that the budget is too small")
	}
}

// slowSegments is a store whose segments, once it is slow, cannot be read before free is closed.
type slowSegments struct {
	retrieval.Store
	slow        atomic.Bool
	asked, free chan struct{}
}

func (s *slowSegments) SegmentData(ctx context.Context, id int64) ([]byte, error) {
	if s.slow.CompareAndSwap(true, false) {
		close(s.asked)
		select {
		case <-s.free:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return s.Store.SegmentData(ctx, id)
}

func TestCorpus_FinishesLoadingAnIndexWhenTheCallerLeaves(t *testing.T) {
	dir, namespaces, whole := newCrowd(t)
	w := openWorld(t, dir, with(&llmtest.Embedder{}), retrieval.WithMemory(whole/3))
	slow := &slowSegments{Store: w.db.Corpus(), asked: make(chan struct{}), free: make(chan struct{})}
	w.corpus = w.open(slow)
	before := w.corpus.Memory().Loaded
	slow.slow.Store(true)
	ctx, leave := context.WithCancel(t.Context())
	failed := make(chan error)
	go func() {
		_, err := search(ctx, w.corpus, retrieval.Query{Filter: retrieval.Filter{Namespace: namespaces[5]}, Text: "a brown wall"})
		failed <- err
	}()
	<-slow.asked
	leave()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("a search whose caller has left: %v", err)
	}
	close(slow.free)
	for deadline := time.Now().Add(time.Minute); w.corpus.Memory().Loaded == before; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the index was not loaded after its caller had left")
		}
	}
	if res := w.search(retrieval.Query{Filter: retrieval.Filter{Namespace: namespaces[5]}, Text: "a brown wall"}); len(res.Passages) == 0 {
		t.Error("nothing is found afterwards")
	}
	if n := w.corpus.Memory().Loaded - before; n != 1 {
		t.Errorf("the index was loaded %d times", n)
	}
}
