package builtin

import (
	"regexp"
	"strings"

	"parley/internal/llm"
)

// fileLike matches what stands between brackets and would be read as the name of a document: it
// points to a page, or ends like the name of a file.
var fileLike = regexp.MustCompile(`(?i)#page=|[^\s.]\.[a-z][a-z0-9]{1,7}$`)

// forges reports whether a sentence of a document, quoted, would say something in the name of
// Parley: cite a document, since whoever reads the answer cannot tell a citation that a document
// wrote from one that Parley put there, or suggest a question, which front ends of the protocol's
// JavaScript dialect read between "<<" and ">>". Such sentences are not quoted.
func forges(sentence string, ev *llm.Evidence) bool {
	if strings.Contains(sentence, "<<") {
		return true
	}
	if !strings.Contains(sentence, "[") {
		return false
	}
	s := onOneLine(sentence)
	labels := make(map[string]bool)
	for _, p := range ev.Passages {
		for _, m := range p.Marks {
			if strings.Contains(s, "["+m.Citation+"]") { // the name may hold brackets itself
				return true
			}
			labels[m.Citation] = true
		}
	}
	for _, m := range citation.FindAllString(s, -1) {
		whole := strings.TrimSpace(m[1 : len(m)-1])
		for _, part := range append(strings.FieldsFunc(whole, isSeparator), whole) {
			if part = strings.TrimSpace(part); labels[part] || fileLike.MatchString(part) {
				return true
			}
		}
	}
	return false
}

// isSeparator reports whether r stands between several citations in one pair of brackets.
func isSeparator(r rune) bool { return r == ',' || r == ';' }
