package llm_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/llm"
)

// reranker is a scripted reranker.
type reranker func(ctx context.Context, req llm.RerankRequest) (llm.Ranking, error)

func (r reranker) Rerank(ctx context.Context, req llm.RerankRequest) (llm.Ranking, error) {
	return r(ctx, req)
}

func ranked(scores ...float64) reranker {
	return func(context.Context, llm.RerankRequest) (llm.Ranking, error) {
		return llm.Ranking{Scores: scores, Model: "ranked-1", Usage: llm.Usage{Input: 7}}, nil
	}
}

var twoDocuments = llm.RerankRequest{Model: "m", Query: "four", Documents: []string{"eight by", "tes each"}}

func TestCheckedReranker_PassesOnWhatIsRight(t *testing.T) {
	got, err := llm.CheckedReranker(ranked(0, 1)).Rerank(t.Context(), twoDocuments)
	want := llm.Ranking{Scores: []float64{0, 1}, Model: "ranked-1", Usage: llm.Usage{Input: 7}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v, (-want +got):\n%s", err, diff)
	}
}

func TestCheckedReranker_RejectsWhatCannotBeRight(t *testing.T) {
	for name, c := range map[string]struct {
		scores []float64
		says   string
	}{
		"too few":      {[]float64{1}, "1 scores for 2 documents"},
		"too many":     {[]float64{1, 1, 1}, "3 scores for 2 documents"},
		"below 0":      {[]float64{1, -0.1}, "score 1 is -0.1"},
		"above 1":      {[]float64{1.1, 1}, "score 0 is 1.1"},
		"not a number": {[]float64{1, math.NaN()}, "score 1 is NaN"},
	} {
		got, err := llm.CheckedReranker(ranked(c.scores...)).Rerank(t.Context(), twoDocuments)
		e, ok := errors.AsType[*llm.Error](err)
		if !ok || e.Retryable || !strings.Contains(e.Error(), c.says) || got.Scores != nil {
			t.Errorf("%s: %v, %v; want %q", name, got.Scores, err, c.says)
		}
	}
	for name, req := range map[string]llm.RerankRequest{
		"no query": {Documents: []string{"a"}}, "no document": {Query: "q"},
	} {
		if _, err := llm.CheckedReranker(ranked()).Rerank(t.Context(), req); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestRerankUsage_CountsTheQueryWithEachDocument(t *testing.T) {
	estimate := llm.Usage{Input: 2*2 + 2*1, Estimated: true}
	for _, c := range []struct{ reported, want llm.Usage }{
		{llm.Usage{Input: 5}, llm.Usage{Input: 5}},
		{llm.Usage{}, estimate},
		{llm.Usage{Input: -1}, estimate},
		{llm.Usage{Input: 1e6}, estimate},
	} {
		if got := llm.RerankUsage(twoDocuments, c.reported); got != c.want {
			t.Errorf("%+v became %+v, want %+v", c.reported, got, c.want)
		}
	}
}
