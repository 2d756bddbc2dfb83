// Package rerank puts the passages that a search found into a better order, by looking at each together with the question, which
// a search over an index does not do. There are four ways: Reader by a model inside the program, Lexical by the places of words,
// API by a reranking model, Judge by a model that is asked for grades. A reranker sees only the passages that it is given, so it
// cannot widen what a caller may see, and it does not change passages.
//
//	ranking, err := rerank.Lexical{}.Rerank(ctx, rerank.Request{Query: q, Terms: found.Terms, Passages: found.Passages})
//	best := found.Passages[ranking.Order[0]]
package rerank

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"parley/internal/llm"
	"parley/internal/retrieval"
)

// Request asks how well passages answer a query.
type Request struct {
	Query    string
	Terms    []retrieval.Term    // the analysed terms of the query
	Passages []retrieval.Passage // as the search has them, best first; at least one
}

// Ranking is the answer to a Request.
type Ranking struct {
	Order  []int     // every index into the request's passages once, best first
	Scores []float64 // by index into the request's passages, in [0, 1]; they fall along Order
	Model  string    // the model that really answered, "" when none was asked
	Usage  llm.Usage
}

// Reranker ranks passages.
type Reranker interface {
	// Rerank returns a complete ranking or an error. With an error, the ranking still holds the usage of the call.
	Rerank(ctx context.Context, req Request) (Ranking, error)
}

// byScore returns indices in the order of their scores; among equals the search's order stays.
func byScore(scores []float64) []int {
	order := make([]int, len(scores))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	return order
}

// maxPassageRunes bounds what a model reads of a passage.
const maxPassageRunes = 1500

// textOf returns a passage as a model reads it, below the headings that it stands under.
func textOf(p *retrieval.Passage) string {
	above := append([]string{p.Document.Title}, p.Chunk.Headings...)
	return strings.Join(above, " › ") + ":\n" + clip(p.Chunk.Text, maxPassageRunes)
}

func clip(s string, runes int) string {
	if len(s) <= runes {
		return s
	}
	for i := range s {
		if runes--; runes < 0 {
			return s[:i] + " …"
		}
	}
	return s
}
