package builtin

import (
	"regexp"
	"strings"

	"parley/internal/lazyregexp"
	"parley/internal/llm"
	"parley/internal/text"
)

// name is a word of a question that stands for one thing: "TL-40", "2025", "MySQL". Text about another thing does not answer,
// however many other words it shares with the question.
type name struct {
	looks *regexp.Regexp // how texts write it
	term  string         // its term, "" for a name that must be spelled identically
}

var (
	word       = lazyregexp.New(`[\pL\d]+(?:[-_][\pL\d]+)*`)
	identifier = lazyregexp.New(`^\pL+[-_]?\d[\pL\d]*$`) // "TL-40", not "40th" or "40-day"
	aYear      = lazyregexp.New(`^(?:19|20)\d\d$`)
	runs       = lazyregexp.New(`\pL+|\d+`)
)

// Names that begin with a capital are known in these languages. German writes all nouns so.
var capitalNames = map[string]bool{"en": true, "fr": true, "es": true, "it": true, "pt": true}

// minNameIDF is the weight from which a name tells things apart: a name in every third text is their common subject.
const minNameIDF = 1

// namesAsked returns the names in the query. A year or a capitalised word is a name only if some document holds it; an
// identifier always is.
func namesAsked(ev *llm.Evidence) (names []name) {
	terms := make(map[string]llm.Term)
	for _, t := range ev.Terms {
		if !t.Like && !t.Other && t.Weight > contextLimit {
			terms[t.Text] = t
		}
	}
	capitals := capitalNames[text.LanguageOf(ev.Query)] && !titleCase(ev.Query)
	for i, w := range word.FindAllString(ev.Query, -1) {
		var t llm.Term
		if own := text.Terms(w); len(own) > 0 {
			t = terms[own[0]]
		}
		known := t.Known && t.IDF >= minNameIDF
		switch first, rest := w[:1], w[1:]; {
		case identifier.MatchString(w):
			names = append(names, name{looks: spelled(w)})
		case aYear.MatchString(w) && known:
			names = append(names, name{looks: spelled(w)})
		case known && capitals && (i > 0 && isCapital(first) || strings.ContainsFunc(rest, isCapitalRune)) && !aTime.MatchString(w):
			names = append(names, name{looks: spelled(w), term: t.Text})
		}
	}
	return names
}

func isCapital(s string) bool   { return strings.ContainsFunc(s, isCapitalRune) }
func isCapitalRune(r rune) bool { return r >= 'A' && r <= 'Z' }

// titleCase reports whether most words of a question begin with capitals, so that a capital does not mark a name.
func titleCase(s string) bool {
	words := strings.Fields(s)
	n := 0
	for _, w := range words {
		if isCapital(w[:1]) {
			n++
		}
	}
	return 2*n > len(words)
}

// spelled matches a name however its letters and digits are joined: "TL-40", "TL 40", "tl40".
func spelled(w string) *regexp.Regexp {
	parts := runs.FindAllString(w, -1)
	s := `(?i)(?:^|[^\pL\d])` + strings.Join(parts, `[-_/ ]?`)
	if last := parts[len(parts)-1]; last[0] <= '9' {
		s += `(?:\D|$)`
	}
	return regexp.MustCompile(s)
}

// named reports whether the chosen units are about the things that the question names: the passage of the best unit has one of
// the names, or its document is about one, and each identifier is near one of the units.
func (n need) named(ev *llm.Evidence, units []unit, chosen []int) bool {
	names := namesAsked(ev)
	if len(names) == 0 {
		return true
	}
	first := units[chosen[0]].passage
	document := documentAt(&ev.Passages[first])
	var near strings.Builder
	for _, i := range chosen {
		near.WriteString(passageText(&ev.Passages[units[i].passage]) + "\n")
	}
	some := false
	for _, x := range names {
		some = some || n.has(passageText(&ev.Passages[first]), x) || n.isAbout(ev, document, x)
		if x.term == "" && !n.has(near.String(), x) {
			return false
		}
	}
	return some
}

// isAbout reports whether at least half of the passages that were found in a document contain a name.
func (n need) isAbout(ev *llm.Evidence, document string, x name) bool {
	found, having := 0, 0
	for i := range ev.Passages {
		if documentAt(&ev.Passages[i]) == document {
			found++
			if n.has(passageText(&ev.Passages[i]), x) {
				having++
			}
		}
	}
	return 2*having >= found && having > 0
}

func (n need) has(s string, x name) bool {
	if x.looks.MatchString(s) {
		return true
	}
	if x.term == "" {
		return false
	}
	return n.termSet(s)[x.term]
}

// passageText returns a passage below its headings, and the name of its document.
func passageText(p *llm.Passage) string {
	return documentAt(p) + "\n" + p.Title + "\n" + strings.Join(p.Headings, "\n") + "\n" + p.Text
}

// documentAt returns the document of a passage.
func documentAt(p *llm.Passage) string {
	document, _, _ := strings.Cut(p.CitationAt(0), "#")
	return document
}
