package retrieval_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"parley/internal/retrieval"
)

func TestCorpus_FindsWhatIsPutAndNotWhatIsReplacedOrDeleted(t *testing.T) {
	w := newWorld(t)
	if res := w.ask("zebra"); len(res.Passages) != 0 || len(res.Terms) != 1 || res.Terms[0].Known {
		t.Fatalf("an empty corpus gave %+v", res)
	}
	w.put(document("a.txt", "The zebra is striped."), document("b.txt", "The giraffe is tall."))
	if diff := cmp.Diff([]string{"a.txt"}, names(w.ask("zebra"))); diff != "" {
		t.Errorf("after Put (-want +got):\n%s", diff)
	}

	next := document("a.txt", "The okapi is shy.")
	next.Document.Title = "Shy animals"
	w.put(next)
	if got := names(w.ask("zebra")); len(got) != 0 {
		t.Errorf("the old version was found in %v", got)
	}
	res := w.ask("okapi")
	if diff := cmp.Diff([]string{"a.txt"}, names(res)); diff != "" {
		t.Fatalf("after a replacement (-want +got):\n%s", diff)
	}
	if d := res.Passages[0].Document; d.Title != "Shy animals" || d.ID != next.Document.ID || d.Chunks != 1 {
		t.Errorf("document %+v", d)
	}

	w.apply(retrieval.Batch{Namespace: "ns", Delete: []string{next.Document.ID}})
	if got := names(w.ask("okapi shy zebra giraffe")); !cmp.Equal(got, []string{"b.txt"}) {
		t.Errorf("after a deletion: %v", got)
	}
	for _, term := range w.ask("okapi giraffe").Terms {
		if want := term.Word == "giraffe"; term.Known != want {
			t.Errorf("%q is known: %v", term.Word, term.Known)
		}
	}
}

func TestCorpus_DocumentsWithoutChunksDoNoHarm(t *testing.T) {
	w := newWorld(t)
	w.put(document("empty.txt"), document("a.txt", "The zebra is striped."), document("also-empty.txt"))
	if diff := cmp.Diff([]string{"a.txt"}, names(w.ask("zebra"))); diff != "" {
		t.Errorf("found (-want +got):\n%s", diff)
	}
	if again := openWorld(t, w.dir); again.log.Len() > 0 {
		t.Errorf("opening repaired something: %s", again.log)
	}
}

// TestSearch_SeesEveryChangeThatWasAppliedBefore makes reading the index slow and the changes of
// two processes alternate, so that searches would be served by what is a little old if they could.
func TestSearch_SeesEveryChangeThatWasAppliedBefore(t *testing.T) {
	for name, reload := range map[string]error{"in time": nil, "after a failed load": errors.New("no such luck")} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			other := openWorld(t, w.dir)
			slow := &slowStore{Store: w.db.Corpus(), delay: 20 * time.Millisecond}
			w.corpus = w.open(slow)
			for i := range 10 {
				word := fmt.Sprintf("w%dx", i)
				w.ask(word) // loads, or knows that it is current
				other.put(document("other-"+word, "something else"))
				slow.fail(reload)
				w.put(document(word, "about "+word))
				slow.fail(nil)
				if got := names(w.ask(word)); len(got) == 0 || got[0] != word {
					t.Fatalf("a search for %s after Apply found %v", word, got)
				}
			}
		})
	}
}

// slowStore takes its time for snapshots, and fails to take them when told to.
type slowStore struct {
	retrieval.Store
	delay time.Duration
	mu    sync.Mutex
	err   error
}

func (s *slowStore) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

func (s *slowStore) Snapshot(ctx context.Context, namespace string) (retrieval.Snapshot, error) {
	time.Sleep(s.delay)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return retrieval.Snapshot{}, s.err
	}
	return s.Store.Snapshot(ctx, namespace)
}

func TestCorpus_FollowsItsOwnChangesWithoutReadingTheIndexAgain(t *testing.T) {
	w := newWorld(t)
	counting := &countingStore{Store: w.db.Corpus()}
	w.corpus = w.open(counting)
	puts := colours(40)
	w.put(puts[0])
	other := document("other.txt", "The zebra lives elsewhere.")
	w.apply(retrieval.Batch{Namespace: "elsewhere", Put: []retrieval.Put{other}})
	before := counting.snapshots
	for i, p := range puts {
		w.put(p)
		w.ask("wall painted red")
		if i%3 == 0 {
			w.apply(retrieval.Batch{Namespace: "ns", Delete: []string{p.Document.ID}})
		}
		w.search(retrieval.Query{Filter: retrieval.Filter{Namespace: "elsewhere"}, Text: "zebra"})
	}
	if n := counting.snapshots - before; n != 0 {
		t.Errorf("the index was read %d times", n)
	}
	got := w.search(retrieval.Query{Text: "wall painted red", Limit: 100})
	fresh := w.open(w.db.Corpus())
	want, err := search(t.Context(), fresh, retrieval.Query{Text: "wall painted red", Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what followed the changes differs from what was read (-read +followed):\n%s", diff)
	}
}

func TestApply_MovesADocumentToAnotherNamespaceAtOnce(t *testing.T) {
	w := newWorld(t)
	counting := &countingStore{Store: w.db.Corpus()}
	w.corpus = w.open(counting)
	w.put(document("zoo.txt", "The zebra lives here."), document("farm.txt", "The goat lives here."))
	w.apply(retrieval.Batch{Namespace: "elsewhere", Put: []retrieval.Put{document("barn.txt", "The cow lives there.")}})
	elsewhere := func(text string) []string {
		return names(w.search(retrieval.Query{Filter: retrieval.Filter{Namespace: "elsewhere"}, Text: text}))
	}
	w.ask("zebra")
	before := counting.snapshots
	moved := document("moved.txt", "The zebra lives there.")
	w.apply(retrieval.Batch{Namespace: "ns", Delete: []string{document("zoo.txt").Document.ID},
		Others: []retrieval.Batch{{Namespace: "elsewhere", Put: []retrieval.Put{moved}}}})
	if got := names(w.ask("zebra")); len(got) != 0 {
		t.Errorf("the old namespace still finds %v", got)
	}
	if got := elsewhere("zebra"); !slices.Equal(got, []string{"moved.txt"}) {
		t.Errorf("the new namespace finds %v", got)
	}
	if got := elsewhere("cow"); !slices.Equal(got, []string{"barn.txt"}) {
		t.Errorf("what was in the new namespace is gone: it finds %v", got)
	}
	if counting.snapshots != before {
		t.Errorf("the index was read %d times", counting.snapshots-before)
	}
}

// countingStore counts snapshots. It serves one goroutine.
type countingStore struct {
	retrieval.Store
	snapshots int
}

func (s *countingStore) Snapshot(ctx context.Context, namespace string) (retrieval.Snapshot, error) {
	s.snapshots++
	return s.Store.Snapshot(ctx, namespace)
}

// eventually calls ok until it returns true.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for !ok() {
		if ctx.Err() != nil {
			t.Fatalf("%s: not within a minute", what)
		}
	}
}

func TestSearch_SeesTheChangesOfAnotherProcess(t *testing.T) {
	w := newWorld(t)
	w.put(colours(20)...)
	other := openWorld(t, w.dir)
	other.put(document("animal.txt", "The zebra is striped."))
	eventually(t, "see a new document", func() bool { return len(names(w.ask("zebra"))) == 1 })

	// What is gone is never seen, however fresh the index is.
	other.put(document("animal.txt", "The okapi is shy."))
	if got := names(w.ask("zebra")); len(got) != 0 {
		t.Errorf("a version that was replaced is found: %v", got)
	}
	if got := names(w.ask("okapi")); len(got) != 1 {
		t.Errorf("its successor is not found: %v", got)
	}
	other.apply(retrieval.Batch{Namespace: "ns", Delete: []string{"id of animal.txt"}})
	if got := names(w.ask("okapi")); len(got) != 0 {
		t.Errorf("a deleted document is found: %v", got)
	}
	// Both merge segments at the same time as the other.
	for i := range 40 {
		w.put(document(fmt.Sprintf("w%dx", i), fmt.Sprintf("mine%dx", i)))
		other.put(document(fmt.Sprintf("o%dx", i), fmt.Sprintf("theirs%dx", i)))
	}
	for _, x := range []*world{w, other, openWorld(t, w.dir)} {
		for i := range 40 {
			eventually(t, "see both documents", func() bool {
				return len(names(x.ask(fmt.Sprintf("mine%dx theirs%dx", i, i)))) == 2
			})
		}
		if strings.Contains(x.log.String(), "repair") {
			t.Errorf("an index needed repair: %s", x.log)
		}
	}
}

// TestSearch_SeesTheOldVersionOrTheNew replaces a document again and again, in this process and
// in another, and requires of each search all chunks of one version, never of none or of two.
func TestSearch_SeesTheOldVersionOrTheNew(t *testing.T) {
	rounds := 150
	if testing.Short() {
		rounds = 40
	}
	const chunks = 6
	version := func(n int) retrieval.Put {
		texts := make([]string, chunks)
		for i := range texts {
			texts[i] = fmt.Sprintf("The handbook in version%dx says part%dx.", n, i)
		}
		return document("handbook.txt", texts...)
	}
	w := newWorld(t)
	w.put(append(colours(30), version(0))...)
	other := openWorld(t, w.dir)

	ctx, stop := context.WithCancel(t.Context())
	var readers sync.WaitGroup
	searches := make([]int, 2)
	for i, x := range []*world{w, other} {
		readers.Go(func() {
			for ctx.Err() == nil {
				res, err := search(t.Context(), x.corpus, retrieval.Query{Text: "handbook", Limit: 50})
				if err != nil {
					t.Errorf("search: %v", err)
					return
				}
				revisions := map[int64]int{}
				for _, p := range res.Passages {
					revisions[p.Chunk.Key.Revision]++
				}
				if len(revisions) != 1 || len(res.Passages) != chunks {
					t.Errorf("search %d saw the revisions %v", searches[i], revisions)
					return
				}
				searches[i]++
			}
		})
	}
	for n := 1; n <= rounds; n++ {
		x := w
		if n%4 == 0 {
			x = other
		}
		x.put(version(n))
		if got := x.ask(fmt.Sprintf("version%dx", n)); len(got.Passages) == 0 {
			t.Fatalf("version %d was put and not found", n)
		}
	}
	stop()
	readers.Wait()
	t.Logf("%v searches beside %d replacements", searches, rounds)
	if searches[0] == 0 || searches[1] == 0 {
		t.Error("a reader never searched")
	}
}

// brokenStore commits batches, and then does as if the process had died before it was told.
type brokenStore struct{ retrieval.Store }

var errDied = errors.New("died")

func (s brokenStore) Apply(ctx context.Context, b retrieval.Batch) (retrieval.Applied, error) {
	if _, err := s.Store.Apply(ctx, b); err != nil {
		return retrieval.Applied{}, err
	}
	return retrieval.Applied{}, errDied
}

func TestCorpus_SurvivesADeathBetweenTheCommitAndTheIndexInMemory(t *testing.T) {
	w := newWorld(t)
	w.put(colours(20)...)
	dying := w.open(brokenStore{w.db.Corpus()})
	b := retrieval.Batch{Namespace: "ns", Put: []retrieval.Put{document("zebra.txt", "The zebra is striped.")}}
	if err := dying.Apply(t.Context(), b); !errors.Is(err, errDied) {
		t.Fatalf("Apply: %v", err)
	}
	eventually(t, "see what was committed, in the same process", func() bool {
		res, err := search(t.Context(), dying, retrieval.Query{Text: "zebra"})
		if err != nil {
			t.Fatal(err)
		}
		return len(res.Passages) == 1
	})
	again := openWorld(t, w.dir)
	if got := names(again.ask("zebra")); !cmp.Equal(got, []string{"zebra.txt"}) {
		t.Errorf("found after the next start: %v", got)
	}
	if again.log.Len() > 0 {
		t.Errorf("the next start logged %s", again.log)
	}
}

func TestApply_ChangesNothingWhenItFails(t *testing.T) {
	w := newWorld(t)
	w.put(colours(5)...)
	want := w.ask("wall painted red")
	taken := document("colour-001.txt", "The zebra is striped.")
	taken.Document.ID = "another id"
	err := w.corpus.Apply(t.Context(), retrieval.Batch{
		Namespace: "ns", Delete: []string{"id of colour-000.txt"},
		Put: []retrieval.Put{document("zebra.txt", "The zebra is striped."), taken},
	})
	if err == nil {
		t.Fatal("two documents have one name")
	}
	if got := names(w.ask("zebra")); len(got) != 0 {
		t.Errorf("found after a failed Apply: %v", got)
	}
	if diff := cmp.Diff(want, w.ask("wall painted red")); diff != "" {
		t.Errorf("a failed Apply changed results (-before +after):\n%s", diff)
	}
}

func TestCompaction_KeepsResultsAndFewSegments(t *testing.T) {
	batches := 500
	if testing.Short() {
		batches = 120
	}
	single, atOnce := newWorld(t), newWorld(t)
	puts := colours(batches)
	atOnce.put(puts...)
	most := 0
	for i := range puts {
		single.put(puts[i])
		most = max(most, single.segments())
	}
	if most > 24 {
		t.Errorf("there were up to %d segments", most)
	}
	ignoreNumbers := cmpopts.IgnoreFields(retrieval.Document{}, "Revision", "IndexedAt")
	same := func(when string) {
		t.Helper()
		for _, q := range []string{"wall painted red", "w17x", "green door", "outside of wall w33x or w44x", "nothing here"} {
			want, got := atOnce.search(retrieval.Query{Text: q, Limit: 30}), single.search(retrieval.Query{Text: q, Limit: 30})
			diff := cmp.Diff(want, got, ignoreNumbers, cmpopts.IgnoreFields(retrieval.ChunkKey{}, "Revision"))
			if diff != "" {
				t.Fatalf("%s: %q in one segment and in many (-one +many):\n%s", when, q, diff)
			}
		}
	}
	same("after single batches")

	var gone []string
	for i := range puts {
		if i%4 != 0 {
			gone = append(gone, puts[i].Document.ID)
		}
	}
	for _, w := range []*world{single, atOnce} {
		w.apply(retrieval.Batch{Namespace: "ns", Delete: gone})
	}
	for i := range puts {
		found := names(single.ask(fmt.Sprintf("w%dx", i)))
		if want := i%4 == 0; want != (len(found) > 0) {
			t.Fatalf("document %d: found %v", i, found)
		}
	}
	// Three of four documents are gone, so everything was rewritten and their words are forgotten.
	same("after deletions")
	single.apply(retrieval.Batch{Namespace: "ns", Delete: ids(puts)})
	if n := single.segments(); n != 0 {
		t.Errorf("%d segments are left of nothing", n)
	}
}

func ids(puts []retrieval.Put) (all []string) {
	for _, p := range puts {
		all = append(all, p.Document.ID)
	}
	return all
}
