package retrieval

import (
	"regexp"
	"strings"
	"unicode"

	"parley/internal/lexical"
	"parley/internal/text"
)

// subjectTerms returns what a query may name a document by: its words, years that it writes together
// with what they are of ("FY2018", "2Q23"), and neighbouring words as one, as file names often have them.
func subjectTerms(query string, terms []Term) []lexical.Term {
	subject := lexicalTerms(terms)
	seen := make(map[string]bool)
	for _, t := range terms {
		seen[t.Text] = true
	}
	add := func(term string, weight float64) {
		if !seen[term] {
			seen[term] = true
			subject = append(subject, lexical.Term{Text: term, Weight: weight})
		}
	}
	words := strings.FieldsFunc(query, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for i, w := range words[:min(len(words), maxTerms)] {
		if year := yearIn(w); year != "" {
			add(year, 1)
		}
		joined := w
		for j := i + 1; j < min(len(words), i+maxJoined); j++ {
			joined += words[j]
			for _, t := range text.Analyze(joined) {
				add(t.Term, 1)
			}
		}
	}
	return subject
}

// maxJoined is how many words a file name may write as one.
const maxJoined = 3

// shortYear finds years beside a period in short: FY2018, FY22, 2Q23, H12021.
var shortYear = regexp.MustCompile(`(?i)^(?:[fc]y|[1-4]q|q[1-4]|[12]h|h[12])(?:(20\d\d|19\d\d)|(\d\d))$`)

// yearIn returns the year that a word has beside a period, "" for none.
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
