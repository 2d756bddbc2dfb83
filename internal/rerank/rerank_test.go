package rerank

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/llm"
	"parley/internal/llm/llmtest"
	"parley/internal/retrieval"
	"parley/internal/text"
)

// request asks about texts whose scores fall a little from each to the next.
func request(query string, texts ...string) Request {
	req := Request{Query: query}
	for _, term := range text.Terms(query) {
		req.Terms = append(req.Terms, retrieval.Term{Text: term, Weight: 1, IDF: 3, Known: true})
	}
	for i, s := range texts {
		req.Passages = append(req.Passages, retrieval.Passage{
			Chunk: retrieval.Chunk{Text: s}, Document: retrieval.Document{Name: "doc", Title: "Doc"}, Score: 1 - float64(i)/50,
		})
	}
	return req
}

func TestReader_RanksWhatItReads(t *testing.T) {
	texts := make([]string, maxRead+2)
	for i := range texts {
		texts[i] = fmt.Sprintf("text %d", i)
	}
	var seen []string
	r := Reader{Model: "m", Scores: func(_ context.Context, query string, texts []string) ([]float64, error) {
		seen = texts
		scores := make([]float64, len(texts))
		scores[3], scores[1] = 9, -9
		return scores, nil
	}}
	ranking, err := r.Rerank(t.Context(), request("text", texts...))
	if err != nil {
		t.Fatal(err)
	}
	checkRanking(t, ranking, len(texts))
	n := len(texts)
	if o := ranking.Order; o[0] != 3 || o[1] != 0 || o[n-3] != 1 || o[n-2] != maxRead || o[n-1] != maxRead+1 {
		t.Errorf("order %v; want 3 first, and at the end 1 and what was not read", o)
	}
	if len(seen) != maxRead || seen[0] != "Doc:\ntext 0" || ranking.Model != "m" {
		t.Errorf("%d texts were read, the first one %q", len(seen), seen[0])
	}
	r.Scores = func(context.Context, string, []string) ([]float64, error) { return nil, context.Canceled }
	if _, err := r.Rerank(t.Context(), request("text", "a")); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestLexical_PrefersWordsThatStandTogether(t *testing.T) {
	for name, c := range map[string]struct {
		req  Request
		want []int
	}{
		"neighbours": {request("parental leave policy", "a policy on leave, and parental advice", "our parental leave policy"), []int{1, 0}},
		"order":      {request("dog bites man", "the man bites the dog", "the dog bites the man"), []int{1, 0}},
		"far apart":  {request("parental leave", "parental"+strings.Repeat(" word", 60)+" leave", "leave, then something parental"), []int{1, 0}},
		"one word":   {request("leave", "leave", "leave leave"), []int{0, 1}},
		"no words":   {request("", "a", "b", "c"), []int{0, 1, 2}},
		"none held":  {request("parental leave", "a", "b", "c"), []int{0, 1, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := Lexical{}.Rerank(t.Context(), c.req)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, r.Order); diff != "" {
				t.Errorf("%s; scores %v", diff, r.Scores)
			}
			checkRanking(t, r, len(c.req.Passages))
		})
	}
}

func TestLexical_LooksAtNamesAndNotAtTheConversation(t *testing.T) {
	req := request("refund period", "thirty days", "thirty days")
	req.Passages[1].Chunk.Headings = []string{"Refund period"}
	req.Terms = append(req.Terms, retrieval.Term{Text: "thirti", Weight: 0.45, IDF: 9})
	r, err := Lexical{}.Rerank(t.Context(), req)
	if err != nil || !cmp.Equal(r.Order, []int{1, 0}) {
		t.Errorf("%v, %v", r, err)
	}
	if r.Scores[0] != 1/1.4 || math.Abs(r.Scores[1]-(0.98+0.1)/1.4) > 1e-9 {
		t.Errorf("scores = %v", r.Scores)
	}
}

// checkRanking holds a ranking to its contract.
func checkRanking(t *testing.T, r Ranking, n int) {
	t.Helper()
	seen := make([]bool, n)
	last := 1.0
	for _, i := range r.Order {
		if i < 0 || i >= n || seen[i] {
			t.Fatalf("order = %v of %d", r.Order, n)
		}
		seen[i] = true
		if s := r.Scores[i]; !(s >= 0 && s <= last) {
			t.Errorf("scores %v do not fall along %v", r.Scores, r.Order)
		}
		last = r.Scores[i]
	}
	if len(r.Order) != n || len(r.Scores) != n {
		t.Errorf("%d places and %d scores for %d passages", len(r.Order), len(r.Scores), n)
	}
}

func TestParseGrades(t *testing.T) {
	third := func(g float64) float64 { return g / 3 }
	for name, c := range map[string]struct {
		reply  string
		order  []int
		scores []float64
	}{
		"as asked for":    {`{"ranking":[{"id":3,"grade":3},{"id":1,"grade":1},{"id":2,"grade":1},{"id":4,"grade":0}]}`, []int{2, 0, 1, 3}, []float64{third(1), third(1), 1, 0}},
		"in a fence":      {"Here:\n```json\n{\"ranking\":[{\"id\":2,\"grade\":2}]}\n```", []int{1, 0, 2, 3}, []float64{0, third(2), 0, 0}},
		"not sorted":      {`{"ranking":[{"id":1,"grade":0},{"id":2,"grade":3},{"id":3,"grade":2}]}`, []int{1, 2, 0, 3}, []float64{0, 1, third(2), 0}},
		"text for number": {`{"ranking":[{"id":"[4]","grade":"3"},{"id":"2","grade":"x"}]}`, []int{3, 1, 0, 2}, []float64{0, 0, 0, 1}},
		"wrong numbers":   {`{"ranking":[{"id":0,"grade":3},{"id":5,"grade":3},{"id":-1,"grade":3},{"id":2,"grade":1}]}`, []int{1, 0, 2, 3}, []float64{0, third(1), 0, 0}},
		"twice":           {`{"ranking":[{"id":2,"grade":1},{"id":2,"grade":3},{"id":1,"grade":2}]}`, []int{0, 1, 2, 3}, []float64{third(2), third(1), 0, 0}},
		"grades to ten":   {`{"ranking":[{"id":2,"grade":10},{"id":1,"grade":5}]}`, []int{1, 0, 2, 3}, []float64{0.5, 1, 0, 0}},
		"scores":          {`{"results":[{"index":2,"score":0.75},{"index":1,"relevance":0.5}]}`, []int{1, 0, 2, 3}, []float64{0.5, 0.75, 0, 0}},
		"percent":         {`{"results":[{"id":2,"score":80},{"id":1,"score":20}]}`, []int{1, 0, 2, 3}, []float64{0.2, 0.8, 0, 0}},
		"below nothing":   {`{"ranking":[{"id":2,"grade":-3},{"id":1,"grade":1}]}`, []int{0, 1, 2, 3}, []float64{third(1), 0, 0, 0}},
		"an order":        {`{"order":[3,1]}`, []int{2, 0, 1, 3}, []float64{0.75, 0, 1, 0}},
		"scores by id":    {`{"scores":{"1":0.2,"4":0.9}}`, []int{3, 0, 1, 2}, []float64{0.2, 0, 0, 0.9}},
		"grades in order": {`{"grades":[0,3,1,2]}`, []int{1, 3, 2, 0}, []float64{0, 1, third(1), third(2)}},
		"a list":          {`[4, 2]`, []int{3, 1, 0, 2}, []float64{0, 0.75, 0, 1}},
		"list of objects": {`The list: [{"id":4,"grade":3},{"id":2,"grade":2}]`, []int{3, 1, 0, 2}, []float64{0, third(2), 0, 1}},
		"arrows":          {`[4] > [2] > [99999999999999999999]`, []int{3, 1, 0, 2}, []float64{0, 0.75, 0, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			order, scores, err := parseGrades(c.reply, 4)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.order, order); diff != "" {
				t.Errorf("order: %s", diff)
			}
			if diff := cmp.Diff(c.scores, scores); diff != "" {
				t.Errorf("scores: %s", diff)
			}
			checkRanking(t, Ranking{Order: order, Scores: scores}, 4)
		})
	}
	for _, reply := range []string{"", "Passage 2 is best.", "{}", `{"ranking":[]}`, `{"ranking":[{"id":9,"grade":3}]}`, `{"ranking":[`,
		`{"ranking":{"id":1}}`, `{"scores":7}`, "[]", "> >", `["x"]`} {
		if order, _, err := parseGrades(reply, 4); err == nil {
			t.Errorf("%s was read as %v", reply, order)
		}
	}
}

func FuzzParseGrades(f *testing.F) {
	for _, s := range []string{`{"ranking":[{"id":3,"grade":3}]}`, "[4] > [2]", `{"scores":{"1":1e9}}`, `[{"id":1,"score":-0}]`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, reply string) {
		if order, scores, err := parseGrades(reply, 5); err == nil {
			checkRanking(t, Ranking{Order: order, Scores: scores}, 5)
		}
	})
}

func TestJudge_TellsWhatAFailedCallTook(t *testing.T) {
	req := request("q", "a", "b")
	j := Judge{Model: llmtest.Says("no idea"), Name: "m", Quote: func(s string) string { return s }}
	r, err := j.Rerank(t.Context(), req)
	if err == nil || r.Order != nil || r.Usage.Input != 10 {
		t.Errorf("%+v, %v", r, err)
	}
	j.Model = llmtest.Fails(&llm.Error{Status: 500, Err: errors.New("down")}, "half")
	if r, err = j.Rerank(t.Context(), req); err == nil || !r.Usage.Estimated {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestClip_BoundsAPassage(t *testing.T) {
	p := retrieval.Passage{Chunk: retrieval.Chunk{Text: strings.Repeat("ü", 3*maxPassageRunes)}}
	if n := len([]rune(textOf(&p))); n > maxPassageRunes+10 {
		t.Errorf("%d characters", n)
	}
}

func BenchmarkLexical(b *testing.B) {
	texts := make([]string, 12)
	for i := range texts {
		texts[i] = strings.Repeat("Employees may take parental leave after their first year of work. ", 15)
	}
	req := request("how long is the parental leave of new employees", texts...)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := (Lexical{}).Rerank(context.Background(), req); err != nil {
			b.Fatal(err)
		}
	}
}
