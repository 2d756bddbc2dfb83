package retrieval_test

import (
	"strings"
	"testing"

	"parley/internal/retrieval"
)

// brought returns a document with one chunk for each text.
func brought(name string, texts ...string) retrieval.Brought {
	b := retrieval.Brought{Document: retrieval.Document{ID: name, Name: name, Title: name}}
	for i, text := range texts {
		b.Chunks = append(b.Chunks, retrieval.Chunk{Text: text, Spans: []retrieval.Span{{Page: i + 1, End: len(text)}}})
	}
	return b
}

func textsOf(r retrieval.Result) (texts []string) {
	for _, p := range r.Passages {
		texts = append(texts, p.Chunk.Text)
	}
	return texts
}

func TestGiven_FindsTheBestPassageAndFillsUpFromTheBeginning(t *testing.T) {
	g, err := retrieval.NewGiven([]retrieval.Brought{
		brought("a.pdf", "The harbour is old.", "Bread costs two coins.", "The lighthouse is tall."),
		brought("b.pdf", "Nothing of the kind."),
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		query retrieval.Query
		want  string
	}{
		{retrieval.Query{Text: "Is the lighthouse tall?", Limit: 3}, "The lighthouse is tall.|Bread costs two coins.|The harbour is old."}, // what stands beside a match counts a little,
		{retrieval.Query{Text: "Is the lighthouse tall?", Limit: 3, MinScore: 0.9}, "The lighthouse is tall."},
		{retrieval.Query{Text: "zzz", Limit: 9}, "The harbour is old.|Bread costs two coins.|The lighthouse is tall.|Nothing of the kind."},
	} {
		found, err := g.Search(t.Context(), c.query)
		if got := strings.Join(textsOf(found), "|"); err != nil || got != c.want {
			t.Errorf("%+v: %q, %v; want %q", c.query, got, err, c.want)
		}
		for i, p := range found.Passages {
			if p.Rank != p.Score || i == 0 && found.Matched > 0 && p.Rank != 1 {
				t.Errorf("%+v: passage %d has the rank %v and the score %v", c.query, i, p.Rank, p.Score)
			}
		}
	}
	if empty, err := retrieval.NewGiven(nil); err != nil {
		t.Error(err)
	} else if found, err := empty.Search(t.Context(), retrieval.Query{Text: "a", Limit: 3}); err != nil || len(found.Passages) > 0 {
		t.Errorf("nothing was given: %v, %v", found, err)
	}
}

func scored(name string, ordinal int, bm25, cosine float64) retrieval.Passage {
	p := retrieval.Passage{Chunk: retrieval.Chunk{Key: retrieval.ChunkKey{Revision: int64(len(name)), Ordinal: ordinal}, Text: name}}
	if bm25 > 0 {
		p.Scores.BM25 = &bm25
	}
	if cosine > 0 {
		p.Scores.Vector, p.Score = &cosine, cosine
	}
	return p
}

func TestMerge_RanksPassagesOfSeveralPlacesTogether(t *testing.T) {
	weak := retrieval.Result{Passages: []retrieval.Passage{scored("poor one", 0, 2, 0)}, Matched: 1}
	strong := retrieval.Result{Passages: []retrieval.Passage{scored("strong", 0, 8, 0), scored("fair", 0, 4, 0)}, Matched: 2}
	weak.Passages[0].Score = 1 // the best of its own place
	got := retrieval.Merge([]retrieval.Result{weak, strong}, 2)
	if texts := strings.Join(textsOf(got), " "); texts != "strong fair" || got.Passages[1].Score != 0.5 || got.Passages[0].Rank != 1 || got.Passages[1].Rank != 0.5 || got.Matched != 3 {
		t.Errorf("by words: %q %+v", texts, got)
	}
	like := retrieval.Result{Mode: retrieval.Hybrid, Passages: []retrieval.Passage{scored("near", 0, 0, 0.9), scored("far", 0, 1, 0.2)}}
	near := retrieval.Result{Mode: retrieval.Hybrid, Passages: []retrieval.Passage{scored("close", 0, 3, 0.8)}}
	got = retrieval.Merge([]retrieval.Result{like, near}, 9)
	if texts := strings.Join(textsOf(got), " "); texts != "close near far" || got.Mode != retrieval.Hybrid || got.Passages[0].Score != 0.8 {
		t.Errorf("by both: %q %+v", texts, got)
	}
	terms := retrieval.Merge([]retrieval.Result{
		{Terms: []retrieval.Term{{Text: "ferry", IDF: 9}}},
		{Terms: []retrieval.Term{{Text: "ferry", Known: true, IDF: 2}, {Text: "tall"}}},
	}, 1).Terms
	if len(terms) != 2 || !terms[0].Known || terms[0].IDF != 2 {
		t.Errorf("terms: %+v", terms)
	}
}
