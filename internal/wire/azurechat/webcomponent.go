package azurechat

import (
	"iter"
	"strings"
)

// next is a word after which the web component takes all that follows for follow-up questions,
// when a delta holds it in one piece.
const next = "Next"

// pieces cuts a delta for the web component, which drops a delta that has a digit beside
// anything else (it looks for list numbers): runs of digits stand alone. It also cuts inside
// the word Next.
func pieces(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for text != "" {
			n := digitsAhead(text)
			if n == 0 {
				n = strings.IndexFunc(text, isDigit)
			}
			if n < 0 {
				n = len(text)
			}
			if i := strings.Index(text[:n], next); i >= 0 {
				n = i + 1
			}
			if !yield(text[:n]) {
				return
			}
			text = text[n:]
		}
	}
}

// inlineQuestions yields follow-up questions as the web component reads them. It drops a delta
// that holds "<<", and one that holds ">\n" ends a question.
func inlineQuestions(questions []string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i, q := range questions {
			before, after := "<<", ">>\n"
			if i == len(questions)-1 {
				after = ">>"
			}
			if i == 0 && !yield("\n\n") {
				return
			}
			if !yield(before) || !yield(q) || !yield(after) {
				return
			}
		}
	}
}

func digitsAhead(s string) int {
	n := 0
	for n < len(s) && isDigit(rune(s[n])) {
		n++
	}
	return n
}

func isDigit(r rune) bool { return '0' <= r && r <= '9' }
