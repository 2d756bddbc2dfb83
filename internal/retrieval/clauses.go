package retrieval

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"unicode/utf8"

	"parley/internal/lazyregexp"
	"parley/internal/lexical"
	"parley/internal/text"
)

// wholeShare is the weight of the whole question's score in the score of a clause. A clause may depend on words in the rest of
// the question: "… and what does it cost?"
const wholeShare = 0.25

// rank returns the k best chunks for a query. A question of several clauses is searched for as a whole and clause by clause, and
// a chunk gets the best of its scores, each relative to the best chunk of its search. The passages thus answer every part, not
// only the part with the rarest words. matched counts the chunks with a score above zero.
func rank(ctx context.Context, v *lexical.View, q Query, terms []Term, k int) (hits []lexical.Hit, matched int, err error) {
	opening := beginning(q.Text)
	names, err := namesIn(ctx, v, opening)
	if err != nil {
		return nil, 0, err
	}
	beside := slices.Clip(append(names, otherPhrases(ctx, v, opening, terms)...))
	about := v.Subjects(ctx, subjectTerms(opening))
	hits, matched, err = v.SearchAbout(ctx, append(beside, lexicalTerms(terms)...), about, k)
	parts := clauses(without(opening, instructions(opening)))
	if err != nil || len(parts) < 2 || len(hits) == 0 {
		return hits, matched, err
	}
	best := hits[0].Score
	whole := make(map[ChunkKey]float64, len(hits))
	merged := make(map[ChunkKey]lexical.Hit, len(hits))
	for _, h := range hits {
		key := ChunkKey{h.Revision, h.Ordinal}
		whole[key], merged[key] = h.Score/best, h
	}
	for _, part := range parts {
		clause := q
		clause.Text = part
		words, err := analyzeQuery(ctx, v, clause)
		if err != nil {
			return nil, 0, err
		}
		found, n, err := v.SearchAbout(ctx, append(beside, lexicalTerms(words)...), about, k)
		if err != nil {
			return nil, 0, err
		}
		matched = max(matched, n)
		for _, h := range found {
			key := ChunkKey{h.Revision, h.Ordinal}
			h.Score = best * ((1-wholeShare)*h.Score/found[0].Score + wholeShare*whole[key])
			if h.Score > merged[key].Score {
				merged[key] = h
			}
		}
	}
	hits = slices.SortedFunc(maps.Values(merged), func(a, b lexical.Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Revision, b.Revision), cmp.Compare(a.Ordinal, b.Ordinal))
	})
	return hits[:min(k, len(hits))], matched, nil
}

// maxOpening is the number of bytes of a question that are searched for names and clauses. Real questions are shorter; a longer
// text is found by its words alone.
const maxOpening = 4 << 10

// beginning returns the first maxOpening bytes of a question, up to the end of a character.
func beginning(s string) string {
	if len(s) <= maxOpening {
		return s
	}
	n := maxOpening
	for !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// clauseStart finds where a further question begins within a question.
var clauseStart = lazyregexp.New(`(?i),? (?:and|or) (?:also )?(?:what|how|which|when|where|who|why|does|do|is|are|can)\b|[?.;]\s`)

const (
	minClause  = 2 // words that carry meaning
	maxClauses = 4 // each costs a search
)

// clauses returns the parts of a question that ask for something, fewer than two when it asks for
// one thing.
func clauses(question string) []string {
	var parts []string
	add := func(s string) {
		if len(text.Terms(s)) >= minClause && len(parts) < maxClauses {
			parts = append(parts, s)
		}
	}
	start := 0
	for _, m := range clauseStart.FindAllStringIndex(question, -1) {
		add(question[start:m[0]])
		start = m[0]
	}
	add(question[start:])
	return parts
}
