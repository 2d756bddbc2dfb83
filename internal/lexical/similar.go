package lexical

import (
	"sort"
	"unicode/utf8"

	"parley/internal/text"
)

// minSimilar is the length in characters from which a word is corrected: shorter words are one
// slip away from too many others.
const minSimilar = 4

// Similar returns the most frequent indexed term that differs from term by one slip: a letter
// left out, put in, replaced, or swapped with its neighbour (Damerau 1964). The first letter is
// taken as right. Words with digits are not corrected. It returns "" and true for a misspelt
// function word, which no chunk is found by.
func (r *Reader) Similar(term string) (string, bool) {
	if utf8.RuneCountInString(term) < minSimilar {
		return "", false
	}
	for _, c := range term {
		if '0' <= c && c <= '9' || c == '_' {
			return "", false
		}
	}
	for w := range text.StopWords {
		if len(w) > minSimilar && w[0] == term[0] && oneSlip(term, w) {
			return "", true
		}
	}
	df := make(map[string]int)
	for _, s := range r.segments {
		_, size := utf8.DecodeRuneInString(term)
		for e := range s.withPrefix(term[:size]) {
			if d := len(e.term) - len(term); -4 <= d && d <= 4 && oneSlip(term, string(e.term)) {
				df[string(e.term)] += e.df
			}
		}
	}
	best := ""
	for t, n := range df {
		if n > df[best] || n == df[best] && t < best {
			best = t
		}
	}
	return best, best != ""
}

// withPrefix ranges over the entries whose term begins with prefix.
func (s *Segment) withPrefix(prefix string) func(yield func(entry) bool) {
	return func(yield func(entry) bool) {
		blocks := len(s.index) / 8
		first := sort.Search(blocks, func(i int) bool { return s.blockStart(i) >= prefix })
		for i := max(first-1, 0); i < blocks; i++ {
			for e := range s.block(i) {
				head := string(e.term[:min(len(prefix), len(e.term))])
				if head > prefix {
					return
				}
				if head == prefix && !yield(e) {
					return
				}
			}
		}
	}
}

// oneSlip reports whether a and b differ by exactly one edit.
func oneSlip(a, b string) bool {
	x, y := []rune(a), []rune(b)
	if len(x) > len(y) {
		x, y = y, x
	}
	if len(y)-len(x) > 1 {
		return false
	}
	i := 0
	for i < len(x) && x[i] == y[i] {
		i++
	}
	if len(x) < len(y) {
		return string(x[i:]) == string(y[i+1:])
	}
	if i == len(x) {
		return false
	}
	if string(x[i+1:]) == string(y[i+1:]) {
		return true
	}
	return i+1 < len(x) && x[i] == y[i+1] && x[i+1] == y[i] && string(x[i+2:]) == string(y[i+2:])
}
