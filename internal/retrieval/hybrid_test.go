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

	"parley/internal/access"
	"parley/internal/llm"
	"parley/internal/llm/llmtest"
	"parley/internal/retrieval"
)

// meanings is an embedder that knows what texts are about: each has the directions of the topics
// that it mentions.
type meanings map[string]int

func (m meanings) Embed(_ context.Context, req llm.EmbedRequest) (llm.Embeddings, error) {
	var out llm.Embeddings
	for _, text := range req.Texts {
		v := make([]float32, 8)
		v[7] = 0.1
		for word, topic := range m {
			if strings.Contains(text, word) {
				v[topic]++
			}
		}
		out.Vectors = append(out.Vectors, v)
		out.Usage.Input += len(text)
	}
	return out, nil
}

// pets are documents of which two mean the same without sharing a word.
var pets = meanings{"dog": 0, "hound": 0, "cat": 1, "feline": 1, "ledger": 2, "invoice": 2, "barking": 0}

func petWorld(t *testing.T) *world {
	w := newWorld(t, with(pets))
	w.put(document("dogs", "A dog sleeps in the garden."), document("hounds", "The hound rests on grass."),
		document("cats", "A cat watches birds."), document("felines", "Every feline purrs."),
		document("ledgers", "The ledger lists what was paid."), document("invoices", "An invoice demands money."))
	w.embed()
	return w
}

func TestSearch_FindsByMeaningWhatWordsMiss(t *testing.T) {
	w := petWorld(t)
	if got := names(w.search(retrieval.Query{Text: "dog", Mode: retrieval.Text})); !slices.Equal(got, []string{"dogs"}) {
		t.Errorf("by words: %v", got)
	}
	for _, mode := range []retrieval.Mode{retrieval.Vectors, retrieval.Hybrid, ""} {
		res := w.search(retrieval.Query{Text: "dog", Mode: mode, Limit: 2})
		slices.Sort(names(res))
		if got := names(res); len(got) != 2 || !slices.Contains(got, "dogs") || !slices.Contains(got, "hounds") {
			t.Errorf("by %q: %v, want dogs and hounds", mode, got)
		}
		if want := map[retrieval.Mode]retrieval.Mode{"": retrieval.Hybrid}; res.Mode != mode && res.Mode != want[mode] {
			t.Errorf("by %q: searched by %s", mode, res.Mode)
		}
	}
	// Of two that mean the same, hybrid puts the one with the word first.
	if got := names(w.search(retrieval.Query{Text: "hound"}))[0]; got != "hounds" {
		t.Errorf("first by both: %s, want hounds", got)
	}
}

func TestSearch_ScoresAreCosinesWhereThereAreVectors(t *testing.T) {
	w := petWorld(t)
	w.put(document("dog", "A dog."))
	res := w.search(retrieval.Query{Text: "dog"})
	for _, p := range res.Passages {
		switch {
		case p.Document.Name == "dog":
			if p.Scores.Vector != nil || p.Scores.BM25 == nil || p.Score != 1 {
				t.Errorf("without a vector: score %v, %+v; want 1, BM25 in relation to the best", p.Score, p.Scores)
			}
		case p.Scores.Vector == nil || p.Score != *p.Scores.Vector || p.Score < 0 || p.Score > 1.000001:
			t.Errorf("%s: score %v, cosine %v", p.Document.Name, p.Score, p.Scores.Vector)
		case (p.Scores.BM25 != nil) != (p.Document.Name == "dogs"):
			t.Errorf("%s: BM25 %v", p.Document.Name, p.Scores.BM25)
		}
	}
	if got := names(res)[:3]; !slices.Contains(got, "dog") {
		t.Errorf("the best are %v, want the one without a vector among them", got)
	}
	for _, p := range w.search(retrieval.Query{Text: "dog", MinScore: .9}).Passages {
		if p.Score < .9 {
			t.Errorf("%s has the score %v", p.Document.Name, p.Score)
		}
	}
	if res := w.search(retrieval.Query{Text: "dog", Mode: retrieval.Vectors, MinScore: .9}); len(res.Passages) != 2 || res.Matched != 6 {
		t.Errorf("%d passages of %d, want 2 of 6", len(res.Passages), res.Matched)
	}
}

// Cosines of unlike texts are high with many models; what reads passages further needs to know how far they are apart.
func TestSearch_RanksInRelationToTheBestWhateverFoundIt(t *testing.T) {
	w := petWorld(t)
	for _, mode := range []retrieval.Mode{retrieval.Text, retrieval.Vectors, retrieval.Hybrid} {
		found := w.search(retrieval.Query{Text: "dog", Mode: mode}).Passages
		if len(found) == 0 || found[0].Rank != 1 {
			t.Fatalf("%s: %+v", mode, found)
		}
		for _, p := range found {
			if p.Rank < 0 || p.Rank > 1 || mode == retrieval.Text && p.Rank != p.Score {
				t.Errorf("%s: %s has the rank %v and the score %v", mode, p.Document.Name, p.Rank, p.Score)
			}
		}
	}
}

func TestSearch_DoesWithoutAnEmbedderThatFails(t *testing.T) {
	refused := &llm.Error{Status: 401, Err: errors.New("the key sk-123 is not valid")}
	for name, fault := range map[string]llmtest.EmbedFault{
		"an error":         {Err: refused},
		"wrong dimensions": {Spoil: llmtest.WrongDimensions},
		"no number":        {Spoil: llmtest.NoNumber},
		"a zero vector":    {Spoil: llmtest.ZeroVector},
		"no vector":        {Spoil: llmtest.TooFew},
		"no answer":        {Wait: make(chan struct{})},
	} {
		t.Run(name, func(t *testing.T) {
			e, timeout := &llmtest.Embedder{}, time.Minute
			if fault.Wait != nil {
				timeout = time.Second
			}
			w := newWorld(t, retrieval.WithEmbedding(retrieval.Embedding{Embedders: embedders{"fake:hashed": e}, Model: "fake:hashed", Timeout: timeout}))
			w.put(colours(20)...)
			w.embed()
			e.Faults = append(make([]llmtest.EmbedFault, len(e.Requests())), fault)
			res := w.search(retrieval.Query{Text: "wall w7x"})
			if res.Mode != retrieval.Text || res.HasVector || res.Note != "the question could not be embedded" || names(res)[0] != "colour-007.txt" {
				t.Errorf("searched by %s, %v, %q, found %v", res.Mode, res.HasVector, res.Note, names(res))
			}
			for _, p := range res.Passages {
				if p.Scores.Vector != nil {
					t.Errorf("%s has a cosine", p.Document.Name)
				}
			}
			// What failed is not remembered.
			if res := w.search(retrieval.Query{Text: "wall w7x"}); res.Mode != retrieval.Hybrid || res.Note != "" {
				t.Errorf("then searched by %s, %q", res.Mode, res.Note)
			}
		})
	}
}

func TestSearch_EndsWithItsContextWhileTheQuestionIsEmbedded(t *testing.T) {
	e := &llmtest.Embedder{}
	w := newWorld(t, with(e))
	w.put(colours(20)...)
	w.embed()
	ctx, cancel := context.WithCancel(t.Context())
	e.Faults = append(make([]llmtest.EmbedFault, len(e.Requests())), llmtest.EmbedFault{Do: cancel, Wait: make(chan struct{})})
	if _, err := search(ctx, w.corpus, retrieval.Query{Text: "wall"}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
	if strings.Contains(w.log.String(), "could not be embedded") {
		t.Errorf("a caller who left is logged:\n%s", w.log)
	}
}

func TestSearch_TellsWhatEmbeddingTheQuestionTook(t *testing.T) {
	e := &llmtest.Embedder{}
	w := newWorld(t, with(e))
	w.put(colours(20)...)
	w.embed()
	first := w.search(retrieval.Query{Text: "which wall is red"})
	if first.Usage.Input != 4 || first.Model != "fake:hashed" || first.EmbedTime <= 0 {
		t.Errorf("usage %+v of %s in %v", first.Usage, first.Model, first.EmbedTime)
	}
	again := w.search(retrieval.Query{Text: "which wall is red", Mode: retrieval.Vectors})
	if again.Usage != (llm.Usage{}) || again.Model != "" || !again.HasVector || e.Texts(llm.ForQuery) != 1 {
		t.Errorf("the same question again: usage %+v of %q, %d calls", again.Usage, again.Model, e.Texts(llm.ForQuery))
	}
	if res := w.search(retrieval.Query{Text: "which wall is blue", Mode: retrieval.Text}); res.HasVector || e.Texts(llm.ForQuery) != 1 {
		t.Error("a search by words embeds its question")
	}
	// Many others make it be forgotten.
	for i := range 300 {
		w.search(retrieval.Query{Text: fmt.Sprintf("question %d", i)})
	}
	if res := w.search(retrieval.Query{Text: "which wall is red"}); res.Usage.Input != 4 {
		t.Errorf("after 300 others: usage %+v", res.Usage)
	}
}

func TestSearch_AsksNoModelWhereThereAreNoVectors(t *testing.T) {
	e := &llmtest.Embedder{}
	w := newWorld(t, with(e))
	w.apply(retrieval.Batch{Namespace: "other", Put: []retrieval.Put{document("a", "Some text.")}})
	w.embed()
	w.put(colours(5)...)
	for _, text := range []string{"wall", ""} {
		res := w.search(retrieval.Query{Text: text})
		if res.Mode != retrieval.Text || res.Note != "the documents have no vectors yet" || e.Texts(llm.ForQuery) != 0 {
			t.Errorf("%q: searched by %s, %q, %d questions embedded", text, res.Mode, res.Note, e.Texts(llm.ForQuery))
		}
	}
	w.embed()
	if res := w.search(retrieval.Query{Text: " "}); res.Mode != retrieval.Text || e.Texts(llm.ForQuery) != 0 {
		t.Errorf("an empty question: searched by %s, %d embedded", res.Mode, e.Texts(llm.ForQuery))
	}
}

func TestSearch_ForgetsTheVectorsOfWhatIsGone(t *testing.T) {
	e := &llmtest.Embedder{}
	w := newWorld(t, with(e))
	w.put(colours(40)...)
	w.embed()
	other := openWorld(t, w.dir, with(e))
	question := retrieval.Query{Text: "The wall number w7x is painted black on the outside.", Mode: retrieval.Vectors, Limit: 80}
	steps := []struct {
		name string
		do   func()
		want int // documents that are found
	}{
		{"nothing", func() {}, 40},
		{"a document is deleted", func() { w.apply(retrieval.Batch{Namespace: "ns", Delete: []string{"id of colour-007.txt"}}) }, 39},
		{"one is replaced", func() { w.put(document("colour-008.txt", "Something else.")) }, 38},
		{"that is embedded", func() { w.embed() }, 39},
		{"most are deleted", func() {
			var ids []string
			for i := 10; i < 40; i++ {
				ids = append(ids, fmt.Sprintf("id of colour-%03d.txt", i))
			}
			w.apply(retrieval.Batch{Namespace: "ns", Delete: ids})
		}, 9},
		{"another one comes", func() { w.put(document("new", "A new one.")); w.embed() }, 10},
		{"all are deleted", func() {
			var ids []string
			for i := range 10 {
				ids = append(ids, fmt.Sprintf("id of colour-%03d.txt", i))
			}
			w.apply(retrieval.Batch{Namespace: "ns", Delete: append(ids, "id of new")})
		}, 0},
	}
	for _, s := range steps {
		s.do()
		res := w.search(question)
		if s.want > 0 && res.Mode != retrieval.Vectors || len(names(res)) != s.want {
			t.Errorf("%s: %d documents by %s, want %d", s.name, len(names(res)), res.Mode, s.want)
		}
		eventually(t, "see in another process: "+s.name, func() bool { return len(names(other.search(question))) == s.want })
	}
}

func TestSearch_FollowsVectorsOfAnotherProcess(t *testing.T) {
	e := &llmtest.Embedder{}
	w := newWorld(t, with(e))
	w.put(colours(20)...)
	other := openWorld(t, w.dir, with(e))
	if res := other.ask("wall"); res.Mode != retrieval.Text {
		t.Errorf("searched by %s before anything is embedded", res.Mode)
	}
	w.embed()
	if res := other.ask("wall"); res.Mode != retrieval.Hybrid {
		t.Errorf("searched by %s after another process has embedded", res.Mode)
	}
	w.put(document("new", "Zebra crossing."))
	w.embed()
	eventually(t, "find what another process has added and embedded", func() bool {
		return slices.Contains(names(other.search(retrieval.Query{Text: "zebras crossing", Mode: retrieval.Vectors, Limit: 1})), "new")
	})
	fresh := openWorld(t, w.dir, with(e))
	want, got := w.ask("which wall is painted red"), fresh.ask("which wall is painted red")
	if diff := cmp.Diff(names(want), names(got)); diff != "" || got.Mode != retrieval.Hybrid {
		t.Errorf("a process that opens the folder finds by %s (-want +got):\n%s", got.Mode, diff)
	}
}

func TestSearch_FiltersVectorsBeforeTheBestAreChosen(t *testing.T) {
	w := newWorld(t, with(&llmtest.Embedder{}))
	secretly := access.List{Groups: []string{"board"}}
	var puts []retrieval.Put
	for i := range 3000 {
		puts = append(puts, restricted(document(fmt.Sprintf("hidden-%d", i), "merger talks"), secretly))
	}
	for i := range 12 {
		puts = append(puts, document(fmt.Sprintf("open-%d", i), "something else entirely, and a word of mergers"))
	}
	w.put(puts...)
	w.embed()
	for _, mode := range []retrieval.Mode{retrieval.Vectors, retrieval.Hybrid} {
		res := w.search(retrieval.Query{Text: "merger talks", Mode: mode})
		if len(res.Passages) != 10 || res.Matched != 12 || res.Mode != mode {
			t.Errorf("%s: %d passages of %d, want 10 of 12", res.Mode, len(res.Passages), res.Matched)
		}
	}
}

func TestSearch_StaysWithinTheRevisionsThatAreNamed(t *testing.T) {
	w := petWorld(t)
	revisions := map[string]int64{}
	for _, p := range w.search(retrieval.Query{Text: "dog cat ledger", Mode: retrieval.Vectors, Limit: 6}).Passages {
		revisions[p.Document.Name] = p.Document.Revision
	}
	for _, mode := range []retrieval.Mode{retrieval.Text, retrieval.Vectors, retrieval.Hybrid} {
		for _, within := range [][]string{{"cats"}, {"ledgers", "cats"}, {}} {
			var ids []int64
			for _, name := range within {
				ids = append(ids, revisions[name])
			}
			q := retrieval.Query{Text: "dog cat ledger", Mode: mode, Limit: len(within) + 1}
			q.Within = retrieval.NewRevisions(ids)
			got := names(w.search(q))
			slices.Sort(got)
			slices.Sort(within)
			if !slices.Equal(got, within) {
				t.Errorf("%s within %q finds %q", mode, within, got)
			}
		}
	}
}

func TestOpen_ReadsNoVectorsWithoutAnEmbedder(t *testing.T) {
	w := newWorld(t, with(&llmtest.Embedder{}))
	w.put(colours(20)...)
	w.embed()
	plain := openWorld(t, w.dir)
	plain.corpus = plain.open(&noVectors{plain.db.Corpus(), t})
	if res := plain.ask("wall"); res.Mode != retrieval.Text || res.Note != "" || len(res.Passages) == 0 {
		t.Errorf("searched by %s, %q", res.Mode, res.Note)
	}
}

// noVectors is a store whose vectors must not be read.
type noVectors struct {
	retrieval.Store
	t *testing.T
}

func (s *noVectors) VectorVersion(ctx context.Context) (int64, error) {
	s.t.Error("the version of the vectors was read")
	return s.Store.VectorVersion(ctx)
}

func (s *noVectors) Generations(ctx context.Context) ([]retrieval.Generation, int64, error) {
	s.t.Error("the generations were read")
	return s.Store.Generations(ctx)
}

// TestSearch_LeavesOutDamagedVectors changes vectors below the store.
func TestSearch_LeavesOutDamagedVectors(t *testing.T) {
	e := &llmtest.Embedder{}
	w := newWorld(t, with(e))
	w.put(colours(20)...)
	w.embed()
	w.exec("UPDATE vectors SET body = substr(body, 1, 10) WHERE id = 3")
	w.exec("UPDATE vectors SET body = x'0000c07f' || substr(body, 5) WHERE id = 4") // NaN
	fresh := openWorld(t, w.dir, with(e))
	res := fresh.search(retrieval.Query{Text: "wall", Mode: retrieval.Vectors, Limit: 50})
	if len(res.Passages) != 38 || !strings.Contains(fresh.log.String(), "vectors=2") {
		t.Errorf("%d passages, want 38; log:\n%s", len(res.Passages), fresh.log)
	}
}

// TestCorpus_SearchesWhileEmbeddingAndApplying is for the race detector, and holds that no search
// fails or sees what is gone.
func TestCorpus_SearchesWhileEmbeddingAndApplying(t *testing.T) {
	e := &llmtest.Embedder{}
	w := newWorld(t, with(e))
	w.put(colours(40)...)
	w.embed()
	ctx, stop := context.WithCancel(t.Context())
	var work sync.WaitGroup
	work.Go(func() {
		defer stop()
		for round := range 20 {
			b := retrieval.Batch{Namespace: "ns", Put: colours(8 + round), Delete: []string{fmt.Sprintf("id of colour-%03d.txt", 39-round)}}
			if err := w.corpus.Apply(t.Context(), b); err != nil {
				t.Error(err)
			}
		}
	})
	work.Go(func() {
		for ctx.Err() == nil {
			if _, err := w.corpus.Embed(t.Context(), nil); err != nil {
				t.Error(err)
			}
		}
	})
	for n := range 3 {
		work.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				mode := []retrieval.Mode{retrieval.Vectors, retrieval.Hybrid}[(i+n)%2]
				res, err := search(t.Context(), w.corpus, retrieval.Query{Text: fmt.Sprintf("wall w%dx", i%40), Mode: mode})
				// What has just been replaced has no vector, but is found by its words.
				if err != nil || mode == retrieval.Hybrid && len(res.Passages) != 10 {
					t.Errorf("%d passages by %s, %v", len(res.Passages), res.Mode, err)
					return
				}
			}
		})
	}
	work.Wait()
	w.embed()
	if res := w.search(retrieval.Query{Text: "wall", Mode: retrieval.Vectors, Limit: 100}); len(names(res)) != 27 {
		t.Errorf("%d documents in the end, want 27", len(names(res)))
	}
}

func TestSearch_LeavesAQuestionOfUnknownWordsToItsVector(t *testing.T) {
	w := newWorld(t, with(meanings{"Hund": 0, "dog": 0, "invoice": 2}))
	w.put(document("rest", "A dog rests in the garden."), document("paid", "The invoice of the firm Garten was paid."))
	w.embed()
	// No document knows these words but one, which stands for something else.
	if got := names(w.search(retrieval.Query{Text: "Schläft unser alter Hund nachmittags draußen im Garten?"})); got[0] != "rest" {
		t.Errorf("got %v", got)
	}
}

func TestSearch_ByWordsWhereTheModelDoesNotKnowTheScript(t *testing.T) {
	w := newWorld(t, retrieval.WithEmbedding(retrieval.Embedding{
		Embedders: &llm.Router{Embedders: map[string]llm.Embedder{"test": pets}}, Model: "test:pets",
		Knows: func(_, question string) bool { return question != "كلب" },
	}))
	w.put(document("dogs", "A dog sleeps. كلب"))
	w.embed()
	res := w.search(retrieval.Query{Text: "كلب"})
	if res.Mode != retrieval.Text || len(res.Passages) != 1 || res.Note == "" {
		t.Errorf("searched by %s, with the note %q: %v", res.Mode, res.Note, names(res))
	}
}
