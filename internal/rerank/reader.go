package rerank

import (
	"context"
	"errors"
	"math"
)

// maxRead is the number of passages that a Reader reads. Later ones keep their places.
const maxRead = 20

// Scores of the reader are mapped to [0, 1], with middle at 0.5. Of the blocks of test/answers/dev, 23 of the 141 that answer
// their questions score below middle, and so do nine in ten of the others.
const (
	middle = -5
	spread = 3
)

// Reader ranks by a model inside the program that reads each passage together with the query.
type Reader struct {
	Model string // its name
	// Scores says how well each text answers the query: 10 if it does, -10 if it has nothing to do with it.
	Scores func(ctx context.Context, query string, texts []string) ([]float64, error)
}

var _ Reranker = Reader{}

// Rerank implements Reranker.
func (r Reader) Rerank(ctx context.Context, req Request) (Ranking, error) {
	n := len(req.Passages)
	if n == 0 {
		return Ranking{}, errors.New("there is nothing to rerank")
	}
	texts := make([]string, min(n, maxRead))
	for i := range texts {
		texts[i] = textOf(&req.Passages[i])
	}
	read, err := r.Scores(ctx, req.Query, texts)
	if err != nil {
		return Ranking{}, err
	}
	scores, least := make([]float64, n), 1.0
	for i, s := range read {
		scores[i] = 1 / (1 + math.Exp((middle-s)/spread))
		least = min(least, scores[i])
	}
	for i := len(read); i < n; i++ {
		scores[i] = least * float64(n-i) / float64(n)
	}
	return Ranking{Order: byScore(scores), Scores: scores, Model: r.Model}, nil
}
