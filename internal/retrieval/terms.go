package retrieval

import (
	"cmp"
	"context"
	"slices"

	"parley/internal/lexical"
	"parley/internal/text"
)

// analyzeQuery returns the terms of a query: those of the text with weight 1 for each time they
// occur, then the strongest of the context that the text lacks.
// A word that no chunk holds is read as the most frequent word that differs by one slip, or else as
// the words that it is composed of. The error comes from ctx.
func analyzeQuery(ctx context.Context, v *lexical.View, q Query) ([]Term, error) {
	var terms []Term
	at := make(map[string]int)
	words, forms := text.AnalyzeQuestion(q.Text)
	parts := 0 // end of those of a word that is known as a whole
	aside := instructions(q.Text)
	for i, tok := range words {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		part := i < parts
		if tok.Stop || (tok.Parts > 0 || tok.Loose || part) && !v.Stat(tok.Term).Known {
			continue // its parts or the whole stand for it, or it is not in the index
		}
		if tok.Parts > 0 {
			parts = max(parts, i+1+tok.Parts)
		}
		weight := 1.0
		if slices.ContainsFunc(aside, func(sp text.Span) bool { return sp.Start <= tok.Start && tok.End <= sp.End }) {
			weight = instructionShare
		}
		if i, ok := at[tok.Term]; ok {
			terms[i].Weight += weight
			continue
		}
		at[tok.Term] = len(terms)
		terms = appendForms(v, terms, newTerm(v, tok.Term, q.Text[tok.Start:tok.End], weight), forms[tok.Term], at)
	}
	terms = strongest(correct(ctx, v, terms, at))
	terms = withLikes(ctx, v, text.LanguageOf(q.Text), terms, at)
	terms = append(terms, contextOf(ctx, v, q.Context, at)...)
	return terms, ctx.Err()
}

// maxTerms is the number of terms of a question that are searched for, and maxCorrected the number of its words without a chunk
// that are corrected. Questions have fewer; a text of thousands of words is found by its rarest.
const (
	maxTerms     = 256
	maxCorrected = 32
)

// strongest returns the terms with the largest weights among those that chunks hold, in their order. Other terms are included
// only if there is room.
func strongest(terms []Term) []Term {
	if len(terms) <= maxTerms {
		return terms
	}
	order := make([]int, len(terms))
	for i := range order {
		order[i] = i
	}
	value := func(t Term) float64 {
		if !t.Known {
			return 0
		}
		return t.Weight * t.IDF
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(value(terms[j]), value(terms[i])) })
	order = order[:maxTerms]
	slices.Sort(order)
	kept := make([]Term, len(order))
	for i, at := range order {
		kept[i] = terms[at]
	}
	return kept
}

// maxForms is the number of forms of a word that are searched for beside the question's own, and formWeight is their weight.
const (
	maxForms   = 4
	formWeight = 0.8
)

// appendForms appends a term of the question with those of its other forms that chunks hold. If no chunk holds the term itself,
// these forms take its place.
func appendForms(v *lexical.View, terms []Term, t Term, forms []string, at map[string]int) []Term {
	own := len(terms)
	if at[t.Text] = own; t.Known {
		terms = append(terms, t)
	}
	for _, form := range forms {
		other := newTerm(v, form, t.Word, t.Weight*formWeight)
		if _, there := at[form]; there || !other.Known || len(terms)-own > maxForms {
			continue
		}
		other.Other = len(terms) > own
		at[form] = len(terms)
		terms = append(terms, other)
	}
	if len(terms) == own {
		terms = append(terms, t)
	}
	return terms
}

// maxContext is the number of words of the conversation that take part in a search: those that weigh most.
const maxContext = 40

// contextOf returns the strongest terms of the conversation that the question lacks.
func contextOf(ctx context.Context, v *lexical.View, words []WeightedTerm, question map[string]int) []Term {
	var terms []Term
	at := make(map[string]int)
	for _, w := range words {
		if ctx.Err() != nil {
			return nil
		}
		for _, tok := range text.Analyze(w.Word) {
			if _, ok := question[tok.Term]; ok || tok.Stop {
				continue
			}
			if i, ok := at[tok.Term]; ok {
				terms[i].Weight = max(terms[i].Weight, w.Weight)
			} else if t := newTerm(v, tok.Term, w.Word[tok.Start:tok.End], w.Weight); t.Known {
				at[tok.Term] = len(terms)
				terms = append(terms, t)
			}
		}
	}
	slices.SortStableFunc(terms, func(a, b Term) int {
		return cmp.Or(cmp.Compare(b.Weight*b.IDF, a.Weight*a.IDF), cmp.Compare(a.Text, b.Text))
	})
	return terms[:min(len(terms), maxContext)]
}

// correct replaces each term that no chunk holds by the most frequent one that differs by one slip, or else by the words that it
// is composed of. It drops a term that is a misspelt function word. It looks at the first maxCorrected of them, as long as ctx
// lasts.
func correct(ctx context.Context, v *lexical.View, terms []Term, at map[string]int) []Term {
	kept := make([]Term, 0, len(terms))
	unknown := 0
	for _, t := range terms {
		similar, ok, asIs := "", false, t.Known
		if !t.Known {
			unknown++
			asIs = unknown > maxCorrected || ctx.Err() != nil
		}
		if !asIs {
			similar, ok = v.Similar(ctx, t.Text)
		}
		if ok && similar == "" {
			continue
		}
		read := []Term{t}
		if _, there := at[similar]; ok && !there {
			read = []Term{newTerm(v, similar, t.Word, t.Weight*slipWeight)}
		} else if !ok && !asIs {
			read = compounds(v, t)
		}
		for _, r := range read {
			if _, there := at[r.Text]; there && r.Text != t.Text {
				continue
			}
			at[r.Text] = len(kept)
			kept = append(kept, r)
		}
	}
	return kept
}

const (
	maxNameWords = 8   // words of a document's name that may be searched for in a query
	nameWeight   = 5.0 // of a name that a query spells out, relative to one of its words
)

// namesIn returns the names of documents that the text spells out, as terms that only chunks of
// those documents hold. The error comes from ctx.
func namesIn(ctx context.Context, v *lexical.View, s string) ([]lexical.Term, error) {
	var words []text.Token
	for _, t := range text.Analyze(s) {
		if t.Parts == 0 {
			words = append(words, t)
		}
	}
	var names []lexical.Term
	for i := 0; i < len(words); i++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if !v.Begins(words[i].Term + " ") { // true of most words
			continue
		}
		for n := min(maxNameWords, len(words)-i); n > 1; n-- {
			if name := lexical.Phrase(words[i : i+n]); v.Stat(name).Known {
				names = append(names, lexical.Term{Text: name, Weight: nameWeight})
				i += n - 1
				break
			}
		}
	}
	return names, nil
}

// slipWeight is the weight of a word that was taken for a misspelt one.
const slipWeight = 0.8

func newTerm(v *lexical.View, term, word string, weight float64) Term {
	st := v.Stat(term)
	return Term{Text: term, Word: word, Weight: weight, IDF: st.IDF, Known: st.Known}
}

// lexicalTerms returns the terms in the form in which the index is searched.
func lexicalTerms(terms []Term) []lexical.Term {
	out := make([]lexical.Term, len(terms))
	for i, t := range terms {
		out[i] = lexical.Term{Text: t.Text, Weight: t.Weight}
	}
	return out
}
