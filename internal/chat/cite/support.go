package cite

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"parley/internal/retrieval"
	"parley/internal/text"
)

// The parameters of the check whether a page supports a citing sentence. docs/decisions.md says how the values
// were measured.
const (
	minCoverage   = 0.45 // minimum share of the sentence's words that the page must contain
	minPart       = 0.20 // the same, where several citations share a sentence
	minTerms      = 3    // sentences with fewer content words are not judged by words
	maxClaims     = 200  // sentences of an answer that are checked
	englishStops  = 0.15 // share of English function words above which a text is English
	foreignStops  = 0.05 // share below which it is not
	minLangWords  = 6    // words needed to determine the language
	prefixLetters = 5    // number of letters by which inflected words are compared outside English
)

// claim is a sentence of an answer, with its citations.
type claim struct {
	text   string // without the citations
	before string // the sentences since the last citation in the paragraph
	labels []string
}

// support returns doubts about the citations that their pages do not support.
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

// missing returns what the page of a label lacks to support the claim, or "" if it lacks nothing. A citation
// after several sentences may refer to the last of them or to those before it.
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
		return "" // words cannot be compared across languages
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

// words is a text, analysed for comparison.
type words struct {
	terms    map[string]bool // stems, without function words
	known    map[string]bool // terms of the document's name or title, which do not count
	numbers  map[string]bool // digits in normal form
	prefixes map[string]bool // of long terms
	short    map[string]bool // words of two or three letters
	stops    int             // number of English function words
	count    int             // number of words
	scripts  [9]int          // number of words in each script of scriptTables
}

// scriptTables are the scripts that the check distinguishes. In the first spacedScripts of them, spaces separate
// words, so that short words are mostly function words. Kana count as Han, since Japanese mixes both.
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

// coverage returns the share of the terms of w that a page contains, and the number of terms. Words of the
// document's name do not count, since every page could be cited for them. Only English words are stemmed; words
// of a page in another language are also compared by their first letters.
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

// foreign reports whether two texts are in different languages, judging by their scripts and by their
// shortest words, which are mostly function words.
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
		return false // both contain some English
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

// script returns the index in scriptTables of the script of most words.
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

// numberOf normalizes a number for comparison: "1,000.00" is 1000, "three" is 3.
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

// spelledNumbers maps stems to numbers. "One" is left out because it is also a pronoun.
var spelledNumbers = map[string]string{
	"two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8", "nine": "9",
	"ten": "10", "eleven": "11", "twelv": "12",
}

// pageWords returns the words of the cited pages, as far as the passages contain them.
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

// pageTexts returns, by label, the part of a passage on each of its pages.
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
