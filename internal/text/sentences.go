package text

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/sentences"
)

// Span is a piece of a text, as byte offsets; End is exclusive.
type Span struct{ Start, End int }

// Sentences returns the sentences of s in order, without the white space around them. A line
// break within a paragraph does not end a sentence; a blank line, a list marker at the start of
// a line and the full stops of any script do (UAX #29, section 5, with what it leaves to
// tailoring: abbreviations, initials and lines).
func Sentences(s string) []Span {
	var spans []Span
	start := 0
	for i := 0; i < len(s); {
		end := segmentEnd(s, i)
		if end < len(s) && continues(s, start, end) {
			i = end
			continue
		}
		if sp, ok := Trim(s, start, end); ok {
			spans = append(spans, sp)
		}
		start, i = end, end
	}
	return spans
}

// segmentEnd returns the end of the UAX #29 sentence that begins at i. Its work is bounded by
// looking at one segment only.
func segmentEnd(s string, i int) int {
	it := sentences.FromString(s[i:])
	if it.Next() {
		return i + it.End()
	}
	return len(s)
}

// Trim returns s[start:end] without leading and trailing white space, and whether anything is left.
func Trim(s string, start, end int) (Span, bool) {
	t := strings.TrimLeftFunc(s[start:end], unicode.IsSpace)
	start = end - len(t)
	t = strings.TrimRightFunc(t, unicode.IsSpace)
	return Span{start, start + len(t)}, t != ""
}

// continues reports whether the sentence s[start:end], as UAX #29 has it, goes on after end.
func continues(s string, start, end int) bool {
	sentence := s[start:end]
	trimmed := strings.TrimRightFunc(sentence, unicode.IsSpace)
	if trimmed == "" {
		return true // leading white space belongs to what follows
	}
	gap := sentence[len(trimmed):]
	rest := s[end:]
	if strings.Count(gap, "\n") > 1 || strings.HasPrefix(rest, "\n") || startsItem(rest) {
		return false
	}
	if strings.ContainsRune(gap, '\n') && !endsSentence(trimmed) {
		return true
	}
	return strings.HasSuffix(trimmed, ".") && isAbbreviation(lastWord(trimmed))
}

func endsSentence(s string) bool {
	s = strings.TrimRight(s, "\"')]}”’»")
	r, _ := utf8.DecodeLastRuneInString(s)
	return strings.ContainsRune(".!?…。！？؟।։", r)
}

// startsItem reports whether s begins with the marker of a list item.
func startsItem(s string) bool {
	s = strings.TrimLeft(s, " \t")
	r, size := utf8.DecodeRuneInString(s)
	if strings.ContainsRune("•◦▪‣·–—-*", r) {
		return size < len(s) && (s[size] == ' ' || s[size] == '\t')
	}
	digits := strings.TrimLeft(s, "0123456789")
	return len(s)-len(digits) > 0 && len(s)-len(digits) <= 3 &&
		(strings.HasPrefix(digits, ". ") || strings.HasPrefix(digits, ") "))
}

func lastWord(s string) string {
	if i := strings.LastIndexFunc(s, unicode.IsSpace); i >= 0 {
		s = s[i+1:]
	}
	return strings.TrimLeft(s, "([\"'“‘")
}

// isAbbreviation reports whether a word that ends with a full stop usually does not end a
// sentence: a known abbreviation, an initial, or letters with full stops between them.
func isAbbreviation(w string) bool {
	w = strings.TrimSuffix(w, ".")
	if len(w) == 1 && unicode.IsUpper(rune(w[0])) && w != "I" {
		return true
	}
	if strings.Contains(w, ".") && len(w) <= 5 && !strings.ContainsAny(w, "0123456789") {
		switch strings.ToLower(w) {
		case "a.m", "p.m", "u.s", "u.k":
			return false // as often at the end of a sentence
		}
		return true
	}
	_, ok := abbreviations[strings.ToLower(w)]
	return ok
}

var abbreviations = func() map[string]struct{} {
	m := make(map[string]struct{})
	for w := range strings.FieldsSeq(`mr mrs ms dr prof st sr jr vs etc e.g i.e cf fig figs eq sec ch no nos
		vol pp p ed eds approx dept inc ltd co corp est min max gen gov sen rep rev hon capt lt col sgt
		jan feb mar apr jun jul aug sep sept oct nov dec mon tue wed thu fri sat sun
		bzw ca z.b d.h u.a usw nr str abs art al ref refs`) {
		m[w] = struct{}{}
	}
	return m
}()
