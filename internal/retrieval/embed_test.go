package retrieval_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/llm"
	"parley/internal/llm/llmtest"
	"parley/internal/retrieval"
)

// embedders are fake models by key.
type embedders map[string]llm.Embedder

func (e embedders) ResolveEmbedder(key string) (llm.Embedder, string, error) {
	if m, ok := e[key]; ok {
		return m, strings.TrimPrefix(key, "fake:"), nil
	}
	return nil, "", &llm.UnknownModelError{Key: key, Msg: "There is no such model."}
}

// with returns the option to embed with a fake model, which has the key "fake:hashed".
func with(e llm.Embedder) retrieval.Option {
	return retrieval.WithEmbedding(retrieval.Embedding{Embedders: embedders{"fake:hashed": e}, Model: "fake:hashed"})
}

// embed embeds everything.
func (w *world) embed() retrieval.EmbedReport {
	w.Helper()
	r, err := w.corpus.Embed(w.Context(), nil)
	if err != nil {
		w.Fatal(err)
	}
	r.Duration = 0
	return r
}

func (w *world) generations() []retrieval.Generation {
	w.Helper()
	all, _, err := w.db.Corpus().Generations(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	return all
}

// byVectors searches the namespace ns by vectors alone.
func (w *world) byVectors(text string) retrieval.Result {
	w.Helper()
	return w.search(retrieval.Query{Text: text, Mode: retrieval.Vectors})
}

func TestEmbed_GivesEveryChunkAVector(t *testing.T) {
	e := &llmtest.Embedder{}
	w := newWorld(t, with(e))
	w.put(colours(300)...)
	w.apply(retrieval.Batch{Namespace: "other", Put: []retrieval.Put{document("elsewhere", "A text of another namespace.")}})
	if res := w.byVectors("wall w7x"); res.Mode != retrieval.Text || res.HasVector || res.Note != "the documents have no vectors yet" {
		t.Errorf("before: mode %s, %v, %q", res.Mode, res.HasVector, res.Note)
	}
	var progress []int
	r, err := w.corpus.Embed(t.Context(), func(r retrieval.EmbedReport) { progress = append(progress, r.Chunks) })
	if err != nil {
		t.Fatal(err)
	}
	if r.Chunks != 601 || r.Known != 0 || r.Refused != 0 || r.Usage.Input == 0 || r.Model != "fake:hashed" {
		t.Errorf("report %+v", r)
	}
	if !slices.IsSorted(progress) || len(progress) != 3 || progress[2] != 601 {
		t.Errorf("progress %v", progress)
	}
	for _, req := range e.Requests() {
		if req.Purpose != llm.ForDocument || req.Model != "hashed" {
			t.Errorf("asked for %s as %s", req.Purpose, req.Model)
		}
	}
	res := w.byVectors("The wall number w7x is painted black on the outside.")
	if got := names(res)[0]; res.Mode != retrieval.Vectors || !res.HasVector || got != "colour-007.txt" {
		t.Errorf("after: mode %s, %v, first %s", res.Mode, res.HasVector, got)
	}
	if again := w.embed(); again.Chunks != 0 || again.Usage != (llm.Usage{}) {
		t.Errorf("embedding again: %+v", again)
	}
}

func TestEmbed_AsksForEachTextOnce(t *testing.T) {
	e := &llmtest.Embedder{}
	w := newWorld(t, with(e))
	same := func(name string) retrieval.Put {
		p := document(name, "The same text everywhere.", "It repeats.", "It repeats.")
		p.Document.Title = "title"
		return p
	}
	w.put(same("a"), same("b"))
	w.embed()
	if n := e.Texts(llm.ForDocument); n != 2 {
		t.Errorf("%d texts were embedded, want 2", n)
	}
	changed := same("a")
	changed.Chunks[0].Text = "Another text."
	changed.Pages[0].Text, changed.Chunks[0].Spans[0].End = "Another text.", len("Another text.")
	w.put(changed, same("c"))
	r := w.embed()
	if n := e.Texts(llm.ForDocument); n != 3 || r.Chunks != 6 || r.Known != 5 {
		t.Errorf("%d texts were embedded, want 3; report %+v", n, r)
	}
	// What was deleted and comes back is known.
	w.apply(retrieval.Batch{Namespace: "ns", Delete: []string{"id of a", "id of b", "id of c"}})
	w.put(same("d"))
	if r := w.embed(); r.Known != 3 || e.Texts(llm.ForDocument) != 3 {
		t.Errorf("%+v after a text came back, %d texts in all", r, e.Texts(llm.ForDocument))
	}
}

func TestEmbed_PutsTitleAndHeadingsBeforeTheText(t *testing.T) {
	e := &llmtest.Embedder{}
	w := newWorld(t, with(e))
	p := document("guide.md", "Press the red button.", "Then wait.", "No headings.")
	p.Document.Title = "The guide"
	p.Chunks[0].Headings = []string{"The guide", "Starting"}
	p.Chunks[1].Headings = []string{"Starting", "Waiting"}
	w.put(p)
	w.embed()
	want := []string{
		"The guide > Starting\n\nPress the red button.", "The guide\nStarting > Waiting\n\nThen wait.", "The guide\n\nNo headings.",
	}
	if diff := cmp.Diff(want, e.Requests()[0].Texts); diff != "" {
		t.Errorf("embedded (-want +got):\n%s", diff)
	}
}

func TestEmbed_GoesOnAfterAFailure(t *testing.T) {
	down := &llm.Error{Status: 503, Retryable: true, Err: errors.New("overloaded")}
	e := &llmtest.Embedder{Faults: []llmtest.EmbedFault{{}, {Err: down}}}
	w := newWorld(t, with(e))
	w.put(colours(200)...)
	r, err := w.corpus.Embed(t.Context(), nil)
	if !errors.Is(err, down) || r.Chunks != 256 {
		t.Fatalf("%d chunks embedded before %v, want 256", r.Chunks, err)
	}
	if res := w.byVectors("wall"); res.Mode != retrieval.Text {
		t.Errorf("mode %s while the vectors are not complete", res.Mode)
	}
	if r := w.embed(); r.Chunks != 144 || e.Texts(llm.ForDocument) != 256+144+144 {
		t.Errorf("then %+v, %d texts in all", r, e.Texts(llm.ForDocument))
	}
	if res := w.byVectors("wall"); res.Mode != retrieval.Vectors {
		t.Errorf("mode %s when they are", res.Mode)
	}
}

func TestEmbed_EndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	e := &llmtest.Embedder{Faults: []llmtest.EmbedFault{{}, {Do: cancel, Wait: make(chan struct{})}}}
	w := newWorld(t, with(e))
	w.put(colours(200)...)
	if _, err := w.corpus.Embed(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
	if r := w.embed(); r.Chunks != 144 {
		t.Errorf("%d chunks were left, want 144", r.Chunks)
	}
}

func TestEmbed_PassesOverTextsThatTheModelRefuses(t *testing.T) {
	e := &llmtest.Embedder{Refuse: "number w77x"}
	w := newWorld(t, with(e))
	w.put(colours(100)...)
	if r := w.embed(); r.Chunks != 200 || r.Refused != 1 {
		t.Errorf("report %+v, want one refused text", r)
	}
	if n := strings.Count(w.log.String(), "refuses"); n != 1 {
		t.Errorf("%d lines about it:\n%s", n, w.log)
	}
	asked := len(e.Requests())
	if r := w.embed(); r.Chunks != 0 || len(e.Requests()) != asked {
		t.Errorf("it is asked for again: %+v", r)
	}
	res := w.search(retrieval.Query{Text: "wall w77x"})
	if res.Mode != retrieval.Hybrid || names(res)[0] != "colour-077.txt" {
		t.Errorf("found %v by %s, want colour-077.txt by its words", names(res), res.Mode)
	}
	if p := res.Passages[0]; p.Scores.Vector != nil || p.Score != 1 {
		t.Errorf("its score is %v of %+v", p.Score, p.Scores)
	}
}

// TestEmbed_StoresNothingWrong has the upstream give vectors that are wrong in every way. One text
// in a page that is refused for good is passed over, but not a page of them.
func TestEmbed_StoresNothingWrong(t *testing.T) {
	for name, spoil := range map[string]func([][]float32) [][]float32{
		"wrong dimensions": llmtest.WrongDimensions, "not a number": llmtest.NoNumber, "zero": llmtest.ZeroVector, "too few": llmtest.TooFew,
	} {
		t.Run(name, func(t *testing.T) {
			e := &llmtest.Embedder{}
			for range 50 {
				e.Faults = append(e.Faults, llmtest.EmbedFault{Spoil: spoil})
			}
			w := newWorld(t, with(e))
			w.put(colours(10)...)
			if r, err := w.corpus.Embed(t.Context(), nil); err == nil || r.Chunks != 0 || r.Refused != 0 {
				t.Errorf("%+v, %v", r, err)
			}
			if n := len(e.Requests()); n > 20 {
				t.Errorf("%d calls for 20 chunks", n)
			}
			e.Faults = nil
			if r := w.embed(); r.Chunks != 20 || r.Refused != 0 {
				t.Errorf("then %+v", r)
			}
		})
	}
}

func TestEmbed_RefusesVectorsOfAnotherLengthThanBefore(t *testing.T) {
	e := &llmtest.Embedder{}
	w := newWorld(t, with(e))
	w.put(colours(10)...)
	w.embed()
	e.Size = 64
	w.put(document("new", "A new text."))
	if r, err := w.corpus.Embed(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "64 dimensions") {
		t.Errorf("%+v, %v", r, err)
	}
	if res := w.byVectors("painted walls"); res.Mode != retrieval.Text || res.Note != "the question could not be embedded" {
		t.Errorf("searched by %s, %q", res.Mode, res.Note)
	}
}

func TestEmbed_BuildsTheVectorsOfAnotherModelAside(t *testing.T) {
	old, next := &llmtest.Embedder{}, &llmtest.Embedder{Size: 32}
	w := newWorld(t, with(old))
	w.put(colours(200)...)
	w.embed()

	models := embedders{"fake:hashed": old, "fake:next": next}
	changed := retrieval.WithEmbedding(retrieval.Embedding{Embedders: models, Model: "fake:next"})
	w2 := openWorld(t, w.dir, changed)
	next.Faults = []llmtest.EmbedFault{{}, {Err: errors.New("down")}}
	if _, err := w2.corpus.Embed(t.Context(), nil); err == nil {
		t.Fatal("the embedding did not fail")
	}
	// The old vectors serve meanwhile, here and there.
	for _, x := range []*world{w, w2} {
		if res := x.byVectors("painted walls"); res.Mode != retrieval.Vectors || res.Model != "fake:hashed" {
			t.Errorf("searched by %s with %s while the new vectors are made", res.Mode, res.Model)
		}
	}
	// A process without the old model searches by words.
	w3 := openWorld(t, w.dir, retrieval.WithEmbedding(retrieval.Embedding{Embedders: embedders{"fake:next": next}, Model: "fake:next"}))
	if res := w3.byVectors("painted walls"); res.Mode != retrieval.Text || res.Note != "the documents are getting vectors of another model" {
		t.Errorf("searched by %s, %q without the old model", res.Mode, res.Note)
	}
	if r := w2.embed(); r.Chunks != 144 {
		t.Errorf("then %+v, want the 144 chunks that were left", r)
	}
	for name, x := range map[string]*world{"the process that switched": w2, "one that has the new model": w3} {
		if res := x.byVectors("the walls that are painted"); res.Mode != retrieval.Vectors || res.Model != "fake:next" {
			t.Errorf("%s searches by %s with %s", name, res.Mode, res.Model)
		}
	}
	if res := w.byVectors("the walls that are painted"); res.Mode != retrieval.Text {
		t.Errorf("the process without the new model searches by %s", res.Mode)
	}
	if all := w.generations(); len(all) != 1 || all[0].Model != "fake:next" || all[0].Length != 32 {
		t.Errorf("generations %+v, want the new one alone", all)
	}
}

func TestEmbed_EmbedsWhatCameMeanwhile(t *testing.T) {
	w := newWorld(t)
	e := &llmtest.Embedder{}
	added := 0
	e.Faults = []llmtest.EmbedFault{{Do: func() {
		w.put(document("late", "It came while others were embedded."))
		added++
	}}}
	w.options = []retrieval.Option{with(e)}
	w.corpus = w.open(w.db.Corpus())
	w.put(colours(10)...)
	if r := w.embed(); r.Chunks != 21 || added != 1 {
		t.Errorf("report %+v, want 21 chunks", r)
	}
	if got := names(w.byVectors("came while others were embedded"))[0]; got != "late" {
		t.Errorf("first %s, want late", got)
	}
}

func TestPlanEmbedding_SaysWhatEmbedWillDo(t *testing.T) {
	e := &llmtest.Embedder{}
	w := newWorld(t, with(e))
	plan := func() retrieval.EmbedPlan {
		t.Helper()
		p, err := w.corpus.PlanEmbedding(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	if p := plan(); p != (retrieval.EmbedPlan{Model: "fake:hashed"}) {
		t.Errorf("of an empty corpus: %+v", p)
	}
	w.put(colours(300)...)
	w.put(document("twice", "Same.", "Same."))
	p := plan()
	if p.Documents != 301 || p.Chunks != 602 || p.Texts != 601 || p.Tokens < 601*5 || p.Tokens > 601*40 {
		t.Errorf("plan %+v", p)
	}
	if n := len(e.Requests()) + len(w.generations()); n != 0 {
		t.Error("a plan asked a model, or began a generation")
	}
	w.embed()
	if n := e.Texts(llm.ForDocument); n != p.Texts {
		t.Errorf("%d texts were embedded, planned were %d", n, p.Texts)
	}
	if p := plan(); p.Chunks != 0 || p.Tokens != 0 {
		t.Errorf("plan %+v when all is done", p)
	}
	again := document("again", "Same.")
	again.Document.Title = "twice"
	w.put(again)
	if p := plan(); p.Documents != 1 || p.Chunks != 1 || p.Texts != 0 || p.Tokens != 0 {
		t.Errorf("plan %+v of a text that is known", p)
	}
}

func TestEmbed_DoesNothingWithoutAModel(t *testing.T) {
	w := newWorld(t)
	w.put(colours(10)...)
	if r := w.embed(); r != (retrieval.EmbedReport{}) {
		t.Errorf("report %+v", r)
	}
	unknown := retrieval.WithEmbedding(retrieval.Embedding{Embedders: embedders{}, Model: "fake:hashed"})
	w2 := openWorld(t, w.dir, unknown)
	if _, err := w2.corpus.Embed(t.Context(), nil); err == nil {
		t.Error("a model that does not exist embedded")
	}
	if n := len(w.generations()); n != 0 {
		t.Errorf("%d generations were begun", n)
	}
}

// TestEmbed_SurvivesAFailingStore lets each of the writes fail in turn, as a full disk does.
func TestEmbed_SurvivesAFailingStore(t *testing.T) {
	for n := range 5 {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			w := newWorld(t)
			w.put(colours(200)...)
			e := &llmtest.Embedder{}
			w.options = []retrieval.Option{with(e)}
			failing := &failingWrites{Store: w.db.Corpus(), after: n}
			c := w.open(failing)
			if _, err := c.Embed(t.Context(), nil); !errors.Is(err, errDisk) {
				t.Fatalf("error %v, want %v", err, errDisk)
			}
			failing.after = 1 << 30
			if _, err := c.Embed(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			res, err := search(t.Context(), c, retrieval.Query{Text: "The wall number w7x is painted black on the outside.", Mode: retrieval.Vectors})
			if err != nil || res.Mode != retrieval.Vectors || names(res)[0] != "colour-007.txt" {
				t.Errorf("found %v by %s (%v)", names(res), res.Mode, err)
			}
		})
	}
}

var errDisk = errors.New("the disk is full")

// failingWrites fails all writes of vectors after the first few.
type failingWrites struct {
	retrieval.Store
	after int
}

func (f *failingWrites) write() error {
	if f.after--; f.after < 0 {
		return errDisk
	}
	return nil
}

func (f *failingWrites) BeginGeneration(ctx context.Context, g retrieval.Generation) (retrieval.Generation, error) {
	if err := f.write(); err != nil {
		return retrieval.Generation{}, err
	}
	return f.Store.BeginGeneration(ctx, g)
}

func (f *failingWrites) PutVectors(ctx context.Context, b retrieval.VectorBatch) (int, error) {
	if err := f.write(); err != nil {
		return 0, err
	}
	return f.Store.PutVectors(ctx, b)
}

func (f *failingWrites) SwitchGeneration(ctx context.Context, id int64) error {
	if err := f.write(); err != nil {
		return err
	}
	return f.Store.SwitchGeneration(ctx, id)
}

func (f *failingWrites) SweepVectors(ctx context.Context, keep, limit int) (int, error) {
	if err := f.write(); err != nil {
		return 0, err
	}
	return f.Store.SweepVectors(ctx, keep, limit)
}
