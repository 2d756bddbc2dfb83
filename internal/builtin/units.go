package builtin

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"parley/internal/llm"
	"parley/internal/text"
)

// unit is a candidate for an answer: a sentence, or the lead-in of a list with its first items.
type unit struct {
	passage    int
	start, end int
	row        bool            // it is one of a table
	terms      map[string]bool // of its own words
	asked      map[string]bool // of the question that the text asks before it; nil for none
	score      float64         // on its own
}

// candidates returns the statements of all passages with their scores; one that stands in two
// passages, because chunks overlap, counts once.
func candidates(ev *llm.Evidence, n need) []unit {
	var units []unit
	seen := make(map[string]bool)
	for i, p := range ev.Passages {
		above := n.termSet(p.Title + "\n" + strings.Join(p.Headings, "\n"))
		headings := above
		topic := n.termSet("")
		if len(p.Headings) > 0 {
			topic = n.termSet(p.Headings[len(p.Headings)-1])
		}
		var asked map[string]bool
		all := spans(p.Text)
		terms := make([]map[string]bool, len(all))
		for j, sp := range all {
			terms[j] = n.termSet(p.Text[sp.Start:sp.End])
		}
		for j, sp := range all {
			s := p.Text[sp.Start:sp.End]
			kind := kindOf(s, p.Headings)
			answers := asked != nil && asks(p.Text[all[j-1].Start:all[j-1].End], p.Headings)
			if held, _ := n.held(asked); kind == label && answers && held >= minAsked {
				kind = statement // "Is it free?" "Yes."
			}
			if n.definition && kind != question && n.spellsOut(s) {
				kind = statement // "Paid Time Off (PTO)" alone
			}
			switch kind {
			case question:
				asked, headings = terms[j], above
				continue
			case heading:
				if asks(s, p.Headings) {
					asked, headings, topic = terms[j], above, terms[j]
					continue
				}
				asked, headings, topic = nil, union(above, terms[j]), terms[j]
				continue
			case label, fragment:
				continue
			}
			key := strings.Join(strings.Fields(s), " ")
			if seen[key] || forges(s, ev) {
				continue
			}
			seen[key] = true
			near := make(map[string]bool)
			if j > 0 {
				maps.Copy(near, terms[j-1])
			}
			if j+1 < len(all) {
				maps.Copy(near, terms[j+1])
			}
			u := unit{passage: i, start: sp.Start, end: sp.End, row: isRow(s), terms: terms[j], asked: asked}
			u.score = n.value(u, near, headings) + passageShare*p.Score
			if n.quantity && strings.ContainsAny(s, "0123456789") {
				u.score += quantityBonus
			}
			if about, _ := n.held(topic); about >= minTopic {
				u.score += headingBonus
			}
			switch {
			case answers:
				u.score += answerBonus
			case n.definition && n.defines(s):
				u.score += definedBonus
			case leans(s):
				u.score -= leanPenalty
			}
			units = append(units, u)
		}
	}
	return units
}

// value returns how much of what is asked for a unit holds, given the terms of the sentences
// beside it and of the headings above it.
func (n need) value(u unit, near, headings map[string]bool) float64 {
	sum := 0.0
	for _, t := range n.terms {
		switch {
		case u.terms[t.text]:
			sum += t.weight
		case u.asked[t.text]:
			sum += t.weight * askedShare
		case headings[t.text]:
			sum += t.weight * headingShare
		case near[t.text]:
			sum += t.weight * nearShare
		}
	}
	v := sum / n.total
	if n.asides > 0 {
		aside := 0.0
		for _, t := range n.aside {
			if u.terms[t.text] {
				aside += t.weight
			}
		}
		v += contextShare * aside / n.asides
	}
	return v
}

// termSet returns the terms of s, each form of a word of the question as that word.
func (n need) termSet(s string) map[string]bool {
	set := termSet(s)
	for form, t := range n.forms {
		if set[form] {
			set[t] = true
		}
	}
	for _, c := range n.contacts {
		if c.looks.MatchString(s) {
			maps.Copy(set, c.names())
		}
	}
	return set
}

// contact is a way to reach somebody, which documents give without saying what it is.
type contact struct {
	names func() map[string]bool // terms for it
	looks *regexp.Regexp
}

var contacts = []contact{
	{named("phone telephone telefon telefonnummer téléphone teléfono telefono"), regexp.MustCompile(`\+?\d[\d ()/-]{5,}\d`)},
	{named("email mail mailadresse courriel correo"), regexp.MustCompile(`[\w.+-]+@[\w-]+\.\w`)},
	{named("website webseite url link"), regexp.MustCompile(`https?://|\bwww\.`)},
}

func named(words string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool { return termSet(words) })
}

// contactsIn returns those that terms ask for.
func contactsIn(terms []weighted) []contact {
	var asked []contact
	for _, c := range contacts {
		if slices.ContainsFunc(terms, func(t weighted) bool { return c.names()[t.text] }) {
			asked = append(asked, c)
		}
	}
	return asked
}

func termSet(s string) map[string]bool {
	set := make(map[string]bool)
	for _, t := range text.Terms(s) {
		set[t] = true
	}
	return set
}

func union(a, b map[string]bool) map[string]bool {
	u := maps.Clone(a)
	maps.Copy(u, b)
	return u
}

// maxUnit bounds the length of a unit in bytes.
const maxUnit = 600

// spans returns the statements of a passage: its sentences, and the rows of its tables, of which the header
// says nothing without them.
func spans(s string) []text.Span {
	var out []text.Span
	prose := 0 // where the text begins that is no table
	flush := func(end int) {
		for _, sp := range proseSpans(s[prose:end]) {
			out = append(out, text.Span{Start: prose + sp.Start, End: prose + sp.End})
		}
	}
	before := ""
	for start := 0; start < len(s); {
		line, rest, _ := strings.Cut(s[start:], "\n")
		next, _, _ := strings.Cut(rest, "\n")
		end := start + len(line)
		row, header := isRow(line), hasCells(line) && isRow(next)
		if len(line) <= maxUnit && (row || header || hasCells(line) && (hasCells(before) || hasCells(next))) {
			flush(start)
			if sp, ok := text.Trim(s, start, end); ok && !header {
				out = append(out, sp)
			}
			prose = end
		}
		before, start = line, end+1
	}
	flush(len(s))
	return out
}

// hasCells reports whether a line is a row without names for its cells: "Standard | $2,000".
func hasCells(line string) bool { return strings.Contains(line, " | ") }

// isRow reports whether a line is a row whose cells are named: "Plan: Standard; Deductible: $2,000".
func isRow(line string) bool { return strings.Contains(line, "; ") && namedRow.MatchString(line) }

var namedRow = regexp.MustCompile(`^[^:;\s][^:;]{0,60}: [^;]*[^;\s]; [^:;\s][^:;]{0,60}: \S`)

// proseSpans returns the sentences of a text without the marks of list items; one that ends with a
// colon goes together with the list items, or the sentence, after it.
func proseSpans(s string) []text.Span {
	sentences := text.Sentences(s)
	for i, sp := range sentences {
		r, size := utf8.DecodeRuneInString(s[sp.Start:sp.End])
		t, ok := text.Trim(s, sp.Start+size, sp.End)
		if ok && strings.ContainsRune(bullets, r) && t.Start > sp.Start+size { // not "-5" or "--flag"
			sentences[i] = t
		}
	}
	var out []text.Span
	for i := 0; i < len(sentences); i++ {
		sp := sentences[i]
		if strings.HasSuffix(s[sp.Start:sp.End], ":") {
			for i+1 < len(sentences) && sentences[i+1].End-sp.Start <= maxUnit/2 {
				i++
				sp.End = sentences[i].End
				if i+1 < len(sentences) && !isItem(s, sentences[i+1].Start) {
					break
				}
			}
		}
		if sp.End-sp.Start <= maxUnit {
			out = append(out, sp)
		}
	}
	return out
}

const bullets = "•◦▪‣·–-*"

// isItem reports whether the sentence at start is a list item: it stands behind a mark, or begins
// with a number.
func isItem(s string, start int) bool {
	if r, _ := utf8.DecodeLastRuneInString(strings.TrimRight(s[:start], " \t")); strings.ContainsRune(bullets, r) {
		return true
	}
	digits := strings.TrimLeft(s[start:], "0123456789")
	return len(digits) < len(s)-start && (strings.HasPrefix(digits, ". ") || strings.HasPrefix(digits, ") "))
}

// kind says what part a sentence can have in an answer.
type kind uint8

const (
	statement kind = iota // can be quoted
	question              // what follows answers it
	heading               // what follows is about it
	label                 // too short to say something without what stands before it
	fragment              // none of these: code, contents, the rest of a sentence
)

const (
	minTokens   = 4  // shorter sentences are labels
	maxHeading  = 12 // words
	maxLineMean = 40 // bytes of a line of code, on average
)

// kindOf tells the kinds apart. Headings that the document marks as such are given; others are
// lines without a full stop that are short, or in capitals.
func kindOf(s string, headings []string) kind {
	words := strings.Fields(s)
	first, _ := utf8.DecodeRuneInString(s)
	last, _ := utf8.DecodeLastRuneInString(s)
	lines := 1 + strings.Count(s, "\n")
	switch {
	case last == '?' || last == '？' || last == '؟':
		return question
	case strings.HasSuffix(strings.TrimRight(s, "\"'”’»)"), "?"):
		return fragment // what somebody may ask
	case slices.ContainsFunc(headings, func(h string) bool { return strings.EqualFold(h, s) }):
		return heading
	case last == ':' || last == '：':
		return fragment // what it leads to is too long to be quoted with it
	case strings.Contains(s, ". . .") || strings.Contains(s, "...."):
		return fragment
	case lines >= 3 && len(s) < lines*maxLineMean && !strings.Contains(s, ":\n"):
		return fragment
	case hasCells(s) && lines == 1:
		return statement // a row: "tar | The archiver"
	case lines == 1 && len(words) <= maxHeading && numbered.MatchString(s) && last != '.' && last != '!':
		return heading
	case unicode.IsLower(first) && len(words) > 1 && !strings.ContainsAny(words[0], "_.()=/"):
		return fragment
	case !unicode.IsPunct(last) && len(words) <= maxHeading && lines == 1 && dated.MatchString(s),
		!unicode.IsPunct(last) && unicode.IsUpper(first) && len(words) <= maxHeading && !strings.ContainsAny(s, ":;|0123456789"):
		return heading
	case len(text.Analyze(s)) < minTokens && !strings.Contains(s, ": "): // "Absent: Ruth Klein."
		return label
	}
	return statement
}

// numbered finds headings by the number of their section, which cannot be a decimal: "2.1.3 Fees", "2.1. Fees".
var numbered = regexp.MustCompile(`^\d+(?:\.\d+){2,}\.? |^\d+\.\d+\. `)

// dated finds headings of logs: "2026-11-21: what was decided".
var dated = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}\b`)

// asks reports whether a sentence asks what follows it answers. A heading does so without a question mark too.
func asks(s string, headings []string) bool {
	switch kindOf(s, headings) {
	case question:
		return true
	case heading:
		return askingHeading.MatchString(s)
	}
	return false
}

var askingHeading = regexp.MustCompile(`(?i)^(?:what|when|where|who|which|why|how|can|may|do|does|is|are|should|must)\b`)

// asksDefinition finds questions for what something is.
var asksDefinition = regexp.MustCompile(`(?i)^\W*(?:what|who)(?:'s|’s| is| are| was| were) |^\W*what (?:does|do) .* (?:mean|stand for)\b|^\W*define `)

// asksQuantity finds questions whose answer is a number or a date.
var asksQuantity = regexp.MustCompile(`(?i)\b(?:how (?:much|many|long|old|often|far|tall|big|large|fast|high|deep)|when|what (?:percentage|year|date|time)` +
	`|wie ?(?:viele?|hoch|lange?|oft|weit|alt)|wann|combien|quand|cuánt[oa]s?|cuándo|quant[oiae]s?|quando|hoeveel|wanneer)\b` +
	`|сколько|когда|多少|多久|几[个天年月日]|いくら|いくつ|いつ|何[時日人年月回]|얼마|언제|몇`) //nolint:gosmopolitan // questions in several languages

// subject is what a sentence says something of.
var subject = regexp.MustCompile(`^(?:(?:The|An?) )?([^,;:]{1,80}?)(?: (?:is|are|was|were|means?|refers? to) |: )`)

// defines reports whether a sentence says what that is which is asked for: its subject is made of
// the question's words and hardly any other.
func (n need) defines(s string) bool {
	if m := subject.FindStringSubmatch(s); m != nil && n.names(m[1]) {
		return true
	}
	return n.spellsOut(s)
}

// names reports whether a text is made of the question's words and hardly any other.
func (n need) names(s string) bool {
	own := n.termSet(s)
	share, matched := n.held(own)
	return share >= minDefined && len(own) <= matched+1
}

// leans reports whether a sentence opens with a word that refers to the one before it.
func leans(s string) bool {
	first, rest, _ := strings.Cut(s, " ")
	switch strings.ToLower(strings.TrimRight(first, ",:")) {
	case "this", "these", "those", "they", "it", "he", "she", "however", "additionally", "also", "therefore", "otherwise", "instead":
		return true
	case "in", "for":
		return strings.HasPrefix(rest, "th") && !strings.HasPrefix(rest, "the ") || strings.HasPrefix(rest, "addition")
	}
	return false
}
