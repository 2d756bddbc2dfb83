package retrieval

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"parley/internal/lazyregexp"
	"parley/internal/lexical"
	"parley/internal/text"
)

// subjectTerms returns the terms by which a query may name a document: its names and numbers, years written together with a
// period ("FY2018", "2Q23"), and names joined with their neighbours, as file names often have them. Other words tell what the
// question asks, but not about which document: nearly every word is at the beginning of some unrelated document.
func subjectTerms(query string) []lexical.Term {
	var subject []lexical.Term
	seen := make(map[string]bool)
	add := func(s string) {
		for _, t := range text.Analyze(s) {
			if !seen[t.Term] {
				seen[t.Term] = true
				subject = append(subject, lexical.Term{Text: t.Term, Weight: 1})
			}
		}
	}
	words := wordsOf(query)
	for i, w := range words[:min(len(words), maxTerms)] {
		if w.name {
			add(w.text)
		}
		if year := yearIn(w.text); year != "" {
			add(year)
		}
		joined, named := w.text, w.name
		for j := i + 1; j < min(len(words), i+maxJoined); j++ {
			joined += words[j].text
			if named = named || words[j].name; named {
				add(strings.ToLower(joined)) // in small letters it is one word
			}
		}
	}
	return subject
}

// word is a word of a query. It is a name if it has a digit or a capital, unless it is a German noun or one of the words that
// commonly begin a sentence.
type word struct {
	text string
	name bool
}

// auxiliaries are words without weight of their own that questions begin with, and that text.Terms keeps.
var auxiliaries = lazyregexp.New(`(?i)^(?:does|did|has|have|had|may|might|must|should|would|could|shall)$`)

// usual reports whether a word, such as "Does" or "Which", can begin a question about anything.
func usual(word string) bool { return len(text.Terms(word)) == 0 || auxiliaries.MatchString(word) }

// wordsOf returns the words of a query in their order.
func wordsOf(query string) (words []word) {
	nouns := text.LanguageOf(query) == "de"
	begins, start := true, -1
	end := func(at int) {
		if start < 0 {
			return
		}
		w := word{text: query[start:at]}
		first, size := utf8.DecodeRuneInString(w.text)
		w.name = strings.ContainsFunc(w.text, unicode.IsDigit) || strings.ContainsFunc(w.text[size:], unicode.IsUpper) ||
			unicode.IsUpper(first) && !nouns && (!begins || !usual(w.text))
		words, start, begins = append(words, w), -1, false
	}
	for i, r := range query {
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			if start < 0 {
				start = i
			}
		default:
			end(i)
			begins = begins || strings.ContainsRune(".?!:\n", r)
		}
	}
	end(len(query))
	return words
}

// maxJoined is the maximum number of words that a file name may write as one.
const maxJoined = 3

// shortYear matches years abbreviated with a period: FY2018, FY22, 2Q23, H12021.
var shortYear = lazyregexp.New(`(?i)^(?:[fc]y|[1-4]q|q[1-4]|[12]h|h[12])(?:(20\d\d|19\d\d)|(\d\d))$`)

// yearIn returns the year in a word such as FY2018, "" for none.
func yearIn(word string) string {
	m := shortYear.FindStringSubmatch(word)
	switch {
	case m == nil:
		return ""
	case m[1] != "":
		return m[1]
	}
	return "20" + m[2]
}
