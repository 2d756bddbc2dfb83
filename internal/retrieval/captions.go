package retrieval

import (
	"slices"

	"parley/internal/text"
)

// maxCaptions is the maximum number of spans of a passage that are shown as captions.
const maxCaptions = 2

// captions returns the sentences of a passage that hold most of the query's weight, in the order
// of the text. The score of a sentence is the sum of idf · weight over the distinct terms in it.
func captions(passage string, terms []Term) []string {
	value := make(map[string]float64, len(terms))
	for _, t := range terms {
		value[t.Text] = t.IDF * t.Weight
	}
	type scored struct {
		span  text.Span
		score float64
	}
	var all []scored
	for _, sp := range text.Sentences(passage) {
		seen := make(map[string]bool)
		score := 0.0
		for _, term := range text.Terms(passage[sp.Start:sp.End]) {
			if !seen[term] {
				seen[term] = true
				score += value[term]
			}
		}
		if score > 0 {
			all = append(all, scored{sp, score})
		}
	}
	slices.SortStableFunc(all, func(a, b scored) int {
		switch {
		case a.score > b.score:
			return -1
		case a.score < b.score:
			return 1
		}
		return 0
	})
	all = all[:min(len(all), maxCaptions)]
	slices.SortFunc(all, func(a, b scored) int { return a.span.Start - b.span.Start })
	var out []string
	for _, s := range all {
		out = append(out, passage[s.span.Start:s.span.End])
	}
	return out
}
