package cite

import (
	"bytes"
	"strings"

	"parley/internal/lazyregexp"
	"parley/internal/text"
)

var (
	// itemMark matches the number of an item or a step at the beginning of a sentence.
	itemMark = lazyregexp.New(`^\W*(?:\p{L}+\s+)?\d{1,3}\s*[.):]\s`)
	// ownLine matches lines that are not part of the sentence around them: table rows and headings.
	ownLine = lazyregexp.New(`(?m)^[ \t]*[|#].*$`)
)

// citationMark is the place of a citation in a text from which the citations were removed.
type citationMark struct {
	label string
	at    int
}

// claimsOf returns the sentences of an answer that carry citations, inside them or right after them.
func claimsOf(answer string, known Known) []claim {
	plain, marks := withoutCitations(answer, known)
	if len(marks) == 0 {
		return nil
	}
	spans := sentencesOf(plain)
	var out []claim
	from, at := 0, -1 // the first sentence since the last citation; the sentence of the last claim
	for _, m := range marks {
		i := carrier(plain, spans, m.at)
		if i < 0 {
			continue
		}
		if i != at {
			if len(out) == maxClaims {
				break
			}
			s := spans[i]
			out = append(out, claim{
				text:   itemMark.ReplaceAllString(plain[s.Start:s.End], ""),
				before: preceding(plain, spans, from, i),
			})
			at, from = i, i+1
		}
		last := &out[len(out)-1]
		last.labels = append(last.labels, m.label)
	}
	return out
}

// withoutCitations removes the citations from an answer, and the space before a citation that ends a
// sentence. It returns the remaining text and the places of the citations in it.
func withoutCitations(answer string, known Known) (plain string, marks []citationMark) {
	out := make([]byte, 0, len(answer))
	for {
		i := strings.IndexByte(answer, '[')
		if i < 0 {
			return string(append(out, answer...)), marks
		}
		out = append(out, answer[:i]...)
		answer = answer[i:]
		label, ok := LabelAt(answer[1:], known)
		if !ok {
			out = append(out, '[')
			answer = answer[1:]
			continue
		}
		answer = answer[len(label)+2:]
		if answer != "" && strings.IndexByte(".,;:!?", answer[0]) >= 0 {
			out = bytes.TrimRight(out, " ")
			for i := len(marks) - 1; i >= 0 && marks[i].at > len(out); i-- {
				marks[i].at = len(out) // the citation was inside the removed space
			}
		}
		marks = append(marks, citationMark{label, len(out)})
	}
}

// sentencesOf returns the sentences of a text. Table rows and headings count as sentences.
func sentencesOf(s string) []text.Span {
	var out []text.Span
	from := 0
	add := func(start, end int) {
		for _, sp := range text.Sentences(s[start:end]) {
			out = append(out, text.Span{Start: start + sp.Start, End: start + sp.End})
		}
	}
	for _, line := range ownLine.FindAllStringIndex(s, -1) {
		add(from, line[0])
		if sp, ok := text.Trim(s, line[0], line[1]); ok {
			out = append(out, sp)
		}
		from = line[1]
	}
	add(from, len(s))
	return out
}

// carrier returns the index of the sentence that contains or precedes a citation. A citation at the
// beginning of a line belongs to the sentence after it. -1 means that the citation stands alone.
func carrier(s string, spans []text.Span, at int) int {
	best := -1
	for i, sp := range spans {
		if sp.Start < at {
			best = i
		}
	}
	if best >= 0 && !strings.Contains(s[min(spans[best].End, at):at], "\n") {
		return best
	}
	if next := best + 1; next < len(spans) && !strings.Contains(s[at:max(at, spans[next].Start)], "\n") {
		return next
	}
	return -1
}

// preceding returns the text of those sentences with indices in [from, to) that are in the same paragraph as
// sentence to.
func preceding(s string, spans []text.Span, from, to int) string {
	for from < to && strings.Contains(s[spans[from].Start:spans[to].Start], "\n\n") {
		from++
	}
	if from >= to {
		return ""
	}
	return s[spans[from].Start:spans[to-1].End]
}
