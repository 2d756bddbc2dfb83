package cite

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"parley/internal/retrieval"
	"parley/internal/text"
)

// What the words of a page must have of a sentence that cites it. docs/decisions.md says how the
// values were measured.
const (
	minCoverage   = 0.45 // share of the sentence's words
	minPart       = 0.20 // the same where several citations share a sentence
	minTerms      = 3    // sentences with fewer words of content are not judged by words
	maxClaims     = 200  // sentences of an answer that are looked at
	englishStops  = 0.15 // share of English function words from which a text is English
	foreignStops  = 0.05 // below which it is not
	minLangWords  = 6    // words that tell a language
	prefixLetters = 5    // that inflected words of other languages have in common
)

// claim is a sentence of an answer with the citations that it carries.
type claim struct {
	text   string // without the citations
	before string // the sentences before it since the last citation in the paragraph
	labels []string
}

// support says which citations the words of their pages do not bear out.
func support(claims []claim, pages map[string]words, question words) []Doubt {
	var doubts []Doubt
	for _, c := range claims {
		for _, label := range c.labels {
			if reason := c.missing(label, pages, question); reason != "" && len(doubts) < maxUnsupported {
				doubts = append(doubts, Doubt{label, Unsupported, snippet(c.text), reason})
			}
		}
	}
	return doubts
}

// missing returns what the page of a label lacks of the claim, "" when nothing does. Behind several
// sentences a citation may be meant for any of them.
func (c claim) missing(label string, pages map[string]words, question words) string {
	reason := ""
	for _, s := range []string{c.text, c.before} {
		if s == "" {
			continue
		}
		lacks := c.lacks(wordsOf(s), label, pages, question)
		if lacks == "" {
			return ""
		}
		if reason == "" {
			reason = lacks
		}
	}
	return reason
}

func (c claim) lacks(said words, label string, pages map[string]words, question words) string {
	page := pages[label]
	all := page
	if len(c.labels) > 1 {
		all = newWords()
		for _, l := range c.labels {
			all.join(pages[l])
		}
	}
	for n := range said.numbers {
		if !all.numbers[n] && !question.numbers[n] && (n != "1" || !all.short["one"]) {
			return reasonNumbers
		}
	}
	if foreign(said, page) {
		return "" // words cannot be compared over languages
	}
	own, n := said.coverage(page)
	if n < minTerms || own >= minCoverage {
		return ""
	}
	if together, _ := said.coverage(all); len(c.labels) > 1 && own >= minPart && together >= minCoverage {
		return ""
	}
	return reasonWords
}

// words is what a text says, as far as a comparison of words can tell.
type words struct {
	terms    map[string]bool // stems, function words left out
	known    map[string]bool // terms that say nothing, since the document is called so
	numbers  map[string]bool // digits in one form
	prefixes map[string]bool // of long terms
	short    map[string]bool // words of two or three letters
	stops    int             // English function words
	count    int             // all words
	scripts  [9]int          // words by scriptTables
}

// scriptTables are the scripts that are told apart, those that put spaces between words first;
// kana count as Han, whose words they share.
var scriptTables = [][]*unicode.RangeTable{
	{unicode.Latin}, {unicode.Cyrillic}, {unicode.Greek}, {unicode.Arabic}, {unicode.Hebrew}, {unicode.Devanagari},
	{unicode.Han, unicode.Hiragana, unicode.Katakana}, {unicode.Hangul}, {unicode.Thai},
}

const spacedScripts = 6

func newWords() words {
	return words{terms: map[string]bool{}, known: map[string]bool{}, numbers: map[string]bool{},
		prefixes: map[string]bool{}, short: map[string]bool{}}
}

// wordsOf analyses a text.
func wordsOf(s string) words {
	w := newWords()
	w.add(s)
	return w
}

func (w *words) add(s string) {
	for _, tok := range text.Analyze(s) {
		word := s[tok.Start:tok.End]
		w.count++
		first, _ := utf8.DecodeRuneInString(word)
		script := slices.IndexFunc(scriptTables, func(t []*unicode.RangeTable) bool { return unicode.In(first, t...) })
		if script >= 0 {
			w.scripts[script]++
		}
		if n := utf8.RuneCountInString(word); script >= 0 && script < spacedScripts && (n == 2 || n == 3) {
			w.short[strings.ToLower(word)] = true
		}
		if tok.Stop {
			w.stops++
			continue
		}
		if n, ok := numberOf(tok.Term); ok {
			w.numbers[n] = true
			continue
		}
		w.terms[tok.Term] = true
		w.prefixes[prefixOf(tok.Term)] = true
	}
}

// join adds the words of another text.
func (w *words) join(o words) {
	for _, m := range []struct{ to, from map[string]bool }{
		{w.terms, o.terms}, {w.known, o.known}, {w.numbers, o.numbers}, {w.prefixes, o.prefixes}, {w.short, o.short},
	} {
		for term := range m.from {
			m.to[term] = true
		}
	}
	w.stops += o.stops
	w.count += o.count
	for i, n := range o.scripts {
		w.scripts[i] += n
	}
}

// coverage returns the share of the terms of w that a page has, and of how many. Words by which
// the document is called do not count: every page of it could be cited for them. Words of other
// languages than English, for which there are no stems, are compared by their first letters.
func (w words) coverage(page words) (share float64, n int) {
	have, inflected := 0, page.stopShare() < englishStops
	for t := range w.terms {
		if page.known[t] {
			continue
		}
		n++
		if page.terms[t] || inflected && page.prefixes[prefixOf(t)] {
			have++
		}
	}
	if n == 0 {
		return 1, 0
	}
	return float64(have) / float64(n), n
}

func (w words) stopShare() float64 { return float64(w.stops) / float64(max(w.count, 1)) }

// foreign reports whether two texts are in different languages, as far as their scripts and their
// shortest words, which are function words mostly, tell.
func foreign(a, b words) bool {
	if a.script() != b.script() {
		return true
	}
	if a.count < minLangWords || b.count < minLangWords {
		return false
	}
	if a.stopShare() > b.stopShare() {
		a, b = b, a
	}
	if a.stopShare() >= foreignStops {
		return false // some English in both
	}
	common := 0
	for s := range a.short {
		if b.short[s] {
			common++
		}
	}
	if b.stopShare() > englishStops {
		return len(a.short)-common >= 2
	}
	return common == 0 && len(a.short) >= 3 && len(b.short) >= 3
}

// script returns the script of most words.
func (w words) script() int {
	best := 0
	for i, n := range w.scripts {
		if n > w.scripts[best] {
			best = i
		}
	}
	return best
}

func prefixOf(term string) string {
	n := 0
	for i := range term {
		if n == prefixLetters {
			return term[:i]
		}
		n++
	}
	return term
}

// numberOf returns a number as it is compared: "1,000.00" is 1000, "three" is 3.
func numberOf(term string) (string, bool) {
	if n, ok := spelledNumbers[term]; ok {
		return n, true
	}
	for _, r := range term {
		if r != '.' && (r < '0' || r > '9') {
			return "", false
		}
	}
	if strings.Contains(term, ".") {
		term = strings.TrimSuffix(strings.TrimRight(term, "0"), ".")
	}
	return term, term != ""
}

// spelledNumbers are by their stems. One is left out, since it is a pronoun too.
var spelledNumbers = map[string]string{
	"two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8", "nine": "9",
	"ten": "10", "eleven": "11", "twelv": "12",
}

// pageWords returns the words of the pages that the claims cite, as far as the passages hold them.
func pageWords(claims []claim, passages []retrieval.Passage) map[string]words {
	pages := map[string]words{}
	for _, c := range claims {
		for _, label := range c.labels {
			if _, ok := pages[label]; !ok {
				pages[label] = newWords()
			}
		}
	}
	for i := range passages {
		p := &passages[i]
		for label, said := range pageTexts(p) {
			w, ok := pages[label]
			if !ok {
				continue
			}
			w.add(said)
			w.add(strings.Join(p.Chunk.Headings, "\n"))
			for _, name := range []string{p.Document.Title, strings.ReplaceAll(p.Document.Name, "_", " ")} {
				for _, t := range text.Terms(name) {
					w.known[t] = true
				}
			}
			pages[label] = w
		}
	}
	return pages
}

// pageTexts returns what a passage has of each of its pages, by label.
func pageTexts(p *retrieval.Passage) map[string]string {
	out := map[string]string{}
	all := Marks(p)
	for i, m := range all {
		end := len(p.Chunk.Text)
		if i+1 < len(all) {
			end = all[i+1].Offset
		}
		out[m.Citation] += p.Chunk.Text[m.Offset:end] + "\n"
	}
	return out
}
