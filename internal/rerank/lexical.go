package rerank

import (
	"context"
	"errors"
	"slices"
	"strings"

	"parley/internal/retrieval"
	"parley/internal/text"
)

// The weights that the places of a question's words add to the score of the search, which is 1 for the best passage.
// docs/measurements.md gives the measurements behind them.
const (
	pairWeight  = 0.3 // all neighbours in the question are neighbours in the passage
	fieldWeight = 0.1 // all its words stand in the title, the headings or the name
)

// contextLimit is the weight below which a term comes from the conversation, not the question.
const contextLimit = 0.5

// Lexical ranks by the score of the search and by how close together the words of the question stand, which the search does not
// consider: rare words that are neighbours both in the question and in the passage count most. It suits passages that were found
// by their words, and asks no model. Scores are relative to the best passage, like those of a search by words.
type Lexical struct{}

var _ Reranker = Lexical{}

// Rerank implements Reranker.
func (Lexical) Rerank(_ context.Context, req Request) (Ranking, error) {
	if len(req.Passages) == 0 {
		return Ranking{}, errors.New("there is nothing to rerank")
	}
	q := newQuestion(req.Terms)
	best := 0.0
	for i := range req.Passages {
		best = max(best, req.Passages[i].Score)
	}
	scores := make([]float64, len(req.Passages))
	for i := range req.Passages {
		p := &req.Passages[i]
		prior := 0.0
		if best > 0 {
			prior = max(p.Score, 0) / best
		}
		scores[i] = (prior + pairWeight*q.proximity(p.Chunk.Text) + fieldWeight*q.inFields(p)) / (1 + pairWeight + fieldWeight)
	}
	return Ranking{Order: byScore(scores), Scores: scores}, nil
}

// question holds the terms of a query in their order, without those of the conversation.
type question struct {
	idf []float64
	at  map[string]int // index of a term
	sum float64        // of idf
}

func newQuestion(terms []retrieval.Term) question {
	q := question{at: make(map[string]int, len(terms))}
	for _, t := range terms {
		if t.Weight > contextLimit {
			q.at[t.Text] = len(q.idf)
			q.idf = append(q.idf, t.IDF)
			q.sum += t.IDF
		}
	}
	return q
}

// proximity returns, in [0, 1], how close together the words of each pair of neighbours in the question stand at their closest;
// a pair has the weight of its more common word.
func (q question) proximity(s string) float64 {
	if len(q.idf) < 2 {
		return 0
	}
	places := make([][]int, len(q.idf))
	for n, t := range text.Analyze(s) {
		if i, ok := q.at[t.Term]; ok {
			places[i] = append(places[i], n)
		}
	}
	weights := make([]float64, len(q.idf)-1)
	for i := range weights {
		weights[i] = min(q.idf[i], q.idf[i+1])
	}
	return retrieval.Nearness(places, weights)
}

// inFields returns the share of the question's weight that the names of a passage hold.
func (q question) inFields(p *retrieval.Passage) float64 {
	if q.sum == 0 {
		return 0
	}
	held := 0.0
	var seen []int
	for _, t := range text.Analyze(p.Document.Title + "\n" + strings.Join(p.Chunk.Headings, "\n") + "\n" + p.Document.Name) {
		if i, ok := q.at[t.Term]; ok && !slices.Contains(seen, i) {
			seen = append(seen, i)
			held += q.idf[i]
		}
	}
	return held / q.sum
}
