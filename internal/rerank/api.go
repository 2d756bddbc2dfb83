package rerank

import (
	"cmp"
	"context"
	"fmt"

	"parley/internal/llm"
)

// API ranks with a model that was made for it.
type API struct {
	Reranker llm.Reranker
	Model    string // by which its provider knows it
}

var _ Reranker = API{}

// Rerank implements Reranker.
func (a API) Rerank(ctx context.Context, req Request) (Ranking, error) {
	documents := make([]string, len(req.Passages))
	for i := range req.Passages {
		documents[i] = textOf(&req.Passages[i])
	}
	out, err := a.Reranker.Rerank(ctx, llm.RerankRequest{Model: a.Model, Query: req.Query, Documents: documents})
	if err != nil {
		return Ranking{Usage: out.Usage}, fmt.Errorf("rerank %d passages: %w", len(documents), err)
	}
	if len(out.Scores) != len(documents) {
		return Ranking{Usage: out.Usage}, fmt.Errorf("rerank %d passages: %d scores", len(documents), len(out.Scores))
	}
	return Ranking{Order: byScore(out.Scores), Scores: out.Scores, Model: cmp.Or(out.Model, a.Model), Usage: out.Usage}, nil
}
