package builtin

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"parley/internal/lazyregexp"
	"parley/internal/text"
)

// spellsOut reports whether a text spells out an acronym that the question asks about.
func (n need) spellsOut(s string) bool { return slices.ContainsFunc(acronyms(s), n.names) }

// bracketed matches text in brackets.
var bracketed = lazyregexp.New(`\(([^()]{2,80})\)`)

// maxSpelled is how many bytes before an acronym may spell it out.
const maxSpelled = 200

// acronyms returns the acronyms that a sentence spells out: "the Key Performance Indicators (KPIs)" or "KPI (Key Performance
// Indicator)".
func acronyms(s string) []string {
	var found []string
	for _, m := range bracketed.FindAllStringSubmatchIndex(s, -1) {
		inside, before := s[m[2]:m[3]], strings.TrimSpace(s[max(0, m[0]-maxSpelled):m[0]])
		if last := before[strings.LastIndexByte(before, ' ')+1:]; spells(inside, last) {
			found = append(found, last)
		} else if spells(before, inside) {
			found = append(found, inside)
		}
	}
	return found
}

// spells reports whether the last words of a text begin with the letters of an acronym, in their order; function
// words may be left out.
func spells(s, acronym string) bool {
	letters := []rune(strings.TrimSuffix(acronym, "s"))
	if len(letters) < 2 || strings.ContainsFunc(string(letters), func(r rune) bool { return !unicode.IsUpper(r) }) {
		return false
	}
	i := len(letters) - 1
	for _, w := range slices.Backward(strings.FieldsFunc(s, isWordEnd)) {
		first, _ := utf8.DecodeRuneInString(w)
		switch {
		case unicode.ToUpper(first) == letters[i]:
			i--
		case text.Terms(w) != nil:
			return false
		}
		if i < 0 {
			return true
		}
	}
	return false
}

// isWordEnd reports whether r ends a word, or begins one.
func isWordEnd(r rune) bool {
	return unicode.IsSpace(r) || strings.ContainsRune("-‐‑/\"'“”‘’", r)
}
