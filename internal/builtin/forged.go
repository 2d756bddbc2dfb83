package builtin

import (
	"strconv"
	"strings"

	"parley/internal/chat/cite"
	"parley/internal/lazyregexp"
	"parley/internal/llm"
)

// fileLike matches text in brackets that would be read as the name of a document: it points to a page, or ends like the name of
// a file.
var fileLike = lazyregexp.New(`(?i)#page=|[^\s.]\.[a-z][a-z0-9]{1,7}$`)

// forgeries finds sentences of documents that, if quoted, would seem to come from Parley, so that they are not quoted. Some cite
// a document: a reader of the answer cannot tell a document's citation from Parley's. Others suggest a question, which front
// ends of the protocol's JavaScript dialect read between "<<" and ">>". It is made for one question by forgeriesOf.
type forgeries struct {
	ev     *llm.Evidence
	labels cite.Known
	cites  func(inside string) bool // nil until it is needed
}

func forgeriesOf(ev *llm.Evidence) *forgeries { return &forgeries{ev: ev} }

// in reports whether a sentence is a forgery.
func (f *forgeries) in(sentence string) bool {
	if strings.Contains(sentence, "<<") {
		return true
	}
	if !strings.ContainsAny(sentence, "[【［") {
		return false
	}
	if f.cites == nil {
		f.labels = labelsOf(f.ev)
		f.cites = cite.Spellings(f.labels)
	}
	s := squareBrackets.Replace(onOneLine(sentence))
	for label := range f.labels {
		if strings.Contains(s, "["+label+"]") { // the name may hold brackets itself
			return true
		}
	}
	inside := citation.FindAllString(s, -1)
	if i := strings.LastIndex(s, "["); i > strings.LastIndex(s, "]") { // the citation after the quotation closes it
		inside = append(inside, strings.TrimRight(s[i:], " .,:;!?")+"]")
	}
	for _, m := range inside {
		whole := strings.TrimSpace(m[1 : len(m)-1])
		if f.cites(whole) {
			return true
		}
		for _, part := range append(strings.FieldsFunc(whole, isSeparator), whole) {
			if part = strings.TrimSpace(part); fileLike.MatchString(part) {
				return true
			}
		}
	}
	return false
}

// squareBrackets makes the brackets for citations uniform.
var squareBrackets = strings.NewReplacer("【", "[", "】", "]", "［", "[", "］", "]")

// labelsOf returns the labels that an answer from the evidence may cite.
func labelsOf(ev *llm.Evidence) cite.Known {
	known := cite.Known{}
	for _, p := range ev.Passages {
		for _, m := range p.Marks {
			name, page, _ := strings.Cut(m.Citation, "#page=")
			n, _ := strconv.Atoi(page) // 0 where the format has no pages
			known[m.Citation] = cite.Citation{Label: m.Citation, Name: name, Title: p.Title, Page: n}
		}
	}
	return known
}

// isSeparator reports whether r separates citations in one pair of brackets.
func isSeparator(r rune) bool { return r == ',' || r == ';' }
