package retrieval

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"parley/internal/lexical"
	"parley/internal/text"
)

const (
	minPart     = 4   // characters of a part: shorter ones are found in too many words
	maxCompound = 64  // characters of a word: longer words are not split; each has a place to cut it for each character
	partWeight  = 0.8 // of a part, relative to the word itself
)

// linking are the sounds that stand between the parts of a compound in Germanic languages.
var linking = []string{"", "s", "es", "n", "en", "er"}

// compounds splits a word that no chunk holds into the two words that it is composed of, such as Urlaub and Tage for
// Urlaubstage. If no chunk holds those either, it returns the word itself. Of several ways to split, it takes the one with the
// most frequent parts (Koehn and Knight 2003).
func compounds(v *lexical.View, t Term) []Term {
	word := t.Word
	if n := utf8.RuneCountInString(word); n < 2*minPart || n > maxCompound || strings.ContainsFunc(word, func(r rune) bool { return !unicode.IsLetter(r) }) {
		return []Term{t}
	}
	best := []Term{t}
	for i := range word {
		if utf8.RuneCountInString(word[:i]) < minPart || utf8.RuneCountInString(word[i:]) < minPart {
			continue
		}
		right, ok := partOf(v, t, word[i:])
		if !ok {
			continue
		}
		for _, sound := range linking {
			stem, linked := strings.CutSuffix(word[:i], sound)
			if !linked || utf8.RuneCountInString(stem) < minPart {
				continue
			}
			left, ok := partOf(v, t, stem)
			if ok && left.Text != right.Text && (len(best) == 1 || left.IDF+right.IDF < best[0].IDF+best[1].IDF) {
				best = []Term{left, right}
			}
		}
	}
	return best
}

// partOf returns a part of a word as a term, and whether a chunk holds it.
func partOf(v *lexical.View, whole Term, s string) (Term, bool) {
	toks := text.Analyze(s)
	if len(toks) != 1 || toks[0].Stop {
		return Term{}, false
	}
	t := newTerm(v, toks[0].Term, whole.Word, whole.Weight*partWeight)
	return t, t.Known
}
