package eval

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/internal/chat"
	"parley/internal/retrieval"
)

func passage(name string, pages ...int) retrieval.Passage {
	p := retrieval.Passage{Document: retrieval.Document{Name: name}}
	for i, page := range pages {
		p.Chunk.Spans = append(p.Chunk.Spans, retrieval.Span{Offset: 10 * i, End: 10, Page: page})
	}
	return p
}

func TestRanked_CountsPassagesAsWhatGoldNames(t *testing.T) {
	fetched := passage("web/list", 0)
	fetched.Document.URL = "https://example.com/list"
	found := []retrieval.Passage{
		passage("a.pdf", 1), passage("b.pdf", 4, 5), passage("a.pdf", 2), passage("a.pdf", 1), fetched,
	}
	for name, c := range map[string]struct {
		gold map[string]int
		want []string
	}{
		"documents, each once":            {map[string]int{"b.pdf": 1, "c.pdf": 1}, []string{"a.pdf", "b.pdf", "web/list"}},
		"pages, each once":                {map[string]int{"a.pdf#page=2": 1}, []string{"a.pdf#page=1", "b.pdf#page=4", "a.pdf#page=2", "web/list"}},
		"a page that does not come first": {map[string]int{"b.pdf#page=5": 1}, []string{"a.pdf#page=1", "b.pdf#page=5", "a.pdf#page=2", "web/list"}},
		"a passage of two pages":          {map[string]int{"b.pdf#page=5": 1, "b.pdf#page=4": 2}, []string{"a.pdf#page=1", "b.pdf#page=4", "b.pdf#page=5", "a.pdf#page=2", "web/list"}},
		"a document and a page of it":     {map[string]int{"a.pdf": 1, "a.pdf#page=2": 1}, []string{"a.pdf", "b.pdf#page=4", "a.pdf#page=2", "web/list"}},
		"a URL":                           {map[string]int{"https://example.com/list": 1}, []string{"a.pdf", "b.pdf", "https://example.com/list"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, Ranked(found, c.gold)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestMeasuresAt_LookAtTheFirstK(t *testing.T) {
	relevant := map[string]int{"a": 1, "b": 2}
	second := 1 / math.Log2(3)
	for name, c := range map[string]struct {
		ranked []string
		k      int
		want   Measures
	}{
		"all, in the best order":   {[]string{"b", "a", "x"}, 3, Measures{1, 1, 1, 1}},
		"all, in another order":    {[]string{"a", "b"}, 2, Measures{1, (1 + 2*second) / (2 + second), 1, 1}},
		"the second place":         {[]string{"x", "b", "y"}, 3, Measures{.5, 2 * second / (2 + second), .5, 1}},
		"behind k":                 {[]string{"x", "y", "b"}, 2, Measures{}},
		"k below what is relevant": {[]string{"b", "a"}, 1, Measures{.5, 1, 1, 1}},
		"nothing found":            {nil, 5, Measures{}},
	} {
		t.Run(name, func(t *testing.T) {
			got := MeasuresAt(c.ranked, relevant, c.k)
			for i, pair := range [][2]float64{{got.Recall, c.want.Recall}, {got.NDCG, c.want.NDCG}, {got.MRR, c.want.MRR}, {got.HitRate, c.want.HitRate}} {
				if math.Abs(pair[0]-pair[1]) > 1e-12 {
					t.Errorf("measure %d is %v, want %v", i, pair[0], pair[1])
				}
			}
		})
	}
	if got := MeasuresAt([]string{"a"}, nil, 1); got != (Measures{}) {
		t.Errorf("nothing is relevant: %+v", got)
	}
}

func TestRow_HoldsTheMeansOfItsQuestions(t *testing.T) {
	var r Row
	r.Add(Measures{1, 1, 1, 1}, 4*time.Millisecond)
	r.Add(Measures{.5, 0, 0, 0}, 2*time.Millisecond)
	r.Finish()
	if r.Measures != (Measures{.75, .5, .5, .5}) || r.Questions != 2 || r.Mean != 3 || r.P50 != 4 || r.P99 != 4 {
		t.Errorf("%+v", r)
	}
	var empty Row
	if empty.Finish(); empty.Recall != 0 || empty.Mean != 0 || empty.P99 != 0 {
		t.Errorf("without questions: %+v", empty)
	}
}

func TestWay_SetsWhatItIsAndNothingElse(t *testing.T) {
	failing := errors.New("no index")
	req := chat.Request{Namespace: "ns", Options: chat.Options{MinScore: .3, Top: 3, Rerank: true}}
	var asked chat.Request
	_, _, err := Way{Mode: retrieval.Vectors, Rewrite: true, Top: 7}.Try(t.Context(), func(_ context.Context, req *chat.Request) (*chat.Turn, error) {
		asked = *req
		return nil, failing
	}, req)
	want := chat.Options{MinScore: .3, Top: 7, Mode: retrieval.Vectors}
	if diff := cmp.Diff(want, asked.Options); diff != "" || asked.Namespace != "ns" || !errors.Is(err, failing) {
		t.Errorf("asked in %q with %v (-want +got):\n%s", asked.Namespace, err, diff)
	}
}
