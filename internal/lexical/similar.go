package lexical

import (
	"bytes"
	"context"
	"strings"
	"unicode/utf8"

	"parley/internal/text"
)

// Lengths in characters of words that are corrected. Too many words are one slip away from a shorter word, and longer strings
// are seldom words.
const (
	minSimilar = 4
	maxSimilar = 64
)

// Similar returns the most frequent term of the view that differs from term by one slip: a letter
// omitted, inserted, replaced, or swapped with its neighbour (Damerau 1964). The first letter is
// assumed to be right. Words with digits are not corrected. For a misspelt function word, which is
// not indexed, it returns "" and true.
//
// It reads all terms with the same first letter, about a millisecond for 25,000. If ctx ends first,
// it finds nothing.
func (v *View) Similar(ctx context.Context, term string) (string, bool) {
	if n := utf8.RuneCountInString(term); n < minSimilar || n > maxSimilar || strings.ContainsAny(term, "0123456789_") {
		return "", false
	}
	for w := range text.StopWords {
		if len(w) > minSimilar && w[0] == term[0] && oneSlip([]byte(w), term) {
			return "", true
		}
	}
	df := make(map[string]int)
	for _, s := range v.reader.segments {
		if ctx.Err() != nil {
			return "", false
		}
		s.addSimilar(df, term)
	}
	for len(df) > 0 {
		best := ""
		for t, n := range df {
			if n > df[best] || n == df[best] && t < best {
				best = t
			}
		}
		if v.Stat(best).Known {
			return best, true
		}
		delete(df, best)
	}
	return "", false
}

// addSimilar adds to df the frequencies of the terms one slip away from term.
func (s *Segment) addSimilar(df map[string]int, term string) {
	_, size := utf8.DecodeRuneInString(term)
	first := []byte(term[:size])
	for c := s.from(first); c.next(); {
		if !bytes.HasPrefix(c.term, first) {
			if bytes.Compare(c.term, first) > 0 {
				return
			}
			continue
		}
		if d := len(c.term) - len(term); -utf8.UTFMax <= d && d <= utf8.UTFMax && oneSlip(c.term, term) {
			df[string(c.term)] += c.df
		}
	}
}

// oneSlip reports whether a and b differ by exactly one edit. It allocates nothing.
func oneSlip(a []byte, b string) bool {
	// They differ in the part that remains without their common prefix and suffix.
	n := commonPrefix(a, b)
	for n > 0 && (n < len(a) && !utf8.RuneStart(a[n]) || n < len(b) && !utf8.RuneStart(b[n])) {
		n--
	}
	a, b = a[n:], b[n:]
	for len(a) > 0 && len(b) > 0 {
		_, size := utf8.DecodeLastRune(a)
		if size > len(b) || string(a[len(a)-size:]) != b[len(b)-size:] {
			break
		}
		a, b = a[:len(a)-size], b[:len(b)-size]
	}
	switch x, y := utf8.RuneCount(a), utf8.RuneCountInString(b); {
	case x+y == 1: // inserted or omitted
		return true
	case x == 1 && y == 1: // replaced
		return true
	case x == 2 && y == 2: // swapped
		_, size := utf8.DecodeRune(a)
		return len(a) == len(b) && string(a[size:]) == b[:len(a)-size] && string(a[:size]) == b[len(a)-size:]
	}
	return false
}
