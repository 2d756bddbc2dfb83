package builtin

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"parley/internal/llm"
	"parley/internal/text"
)

// The free parameters of the choice, in units of the whole question's weight; docs/decisions.md
// says how they were set.
const (
	minEvidence   = 0.3  // share of the question that the evidence must hold in any case
	headingShare  = 0.3  // what a term in a heading counts, relative to one in the sentence
	nearShare     = 0.15 // what one in the sentence before or after counts
	passageShare  = 0.15 // what the score of the passage adds to a sentence
	contextShare  = 0.2  // what all the words of the conversation add
	leanPenalty   = 0.1  // for a sentence that leans on the one before it
	repeatPenalty = 0.85 // of the value of a term that another chosen sentence holds already
	minGain       = 0.35 // a further sentence must add this, relative to the first
	minPageGain   = 0.6  // the same for a sentence on a page that is not cited yet
	minWords      = 4    // shorter sentences are labels rather than statements
)

// unit is a candidate: a sentence, or the lead-in of a list with its first items.
type unit struct {
	passage    int
	start, end int
	terms      map[string]bool
	score      float64 // on its own
}

// need is what a question asks for.
type need struct {
	weight  map[string]float64 // by term, of the question
	total   float64
	aside   map[string]float64 // by term, of the conversation
	asides  float64
	unknown float64 // share of the question's weight that no document knows
}

// contextLimit is the weight below which a term comes from the conversation, not the question.
const contextLimit = 0.5

func needOf(terms []llm.Term) need {
	n := need{weight: make(map[string]float64), aside: make(map[string]float64)}
	for _, t := range terms {
		if t.Weight > contextLimit {
			n.weight[t.Text] = t.IDF
			n.total += t.IDF
			if !t.Known {
				n.unknown += t.IDF
			}
		} else {
			n.aside[t.Text] = t.IDF * t.Weight
			n.asides += t.IDF * t.Weight
		}
	}
	if n.total > 0 {
		n.unknown /= n.total
	} else { // "why?": the conversation is all there is to go by
		n.weight, n.total = n.aside, n.asides
	}
	return n
}

// choose returns the quotes that answer the question, in reading order; none when the evidence
// does not hold an answer.
func choose(ev *llm.Evidence) []quote {
	if ev == nil || len(ev.Passages) == 0 {
		return nil
	}
	n := needOf(ev.Terms)
	if n.total == 0 {
		return nil
	}
	units := candidates(ev, n)
	if !n.answered(ev, units) {
		return nil
	}
	chosen := greedy(ev, units, n)
	order(units, chosen)
	quotes := make([]quote, 0, len(chosen))
	for _, i := range chosen {
		u := units[i]
		p := ev.Passages[u.passage]
		quotes = append(quotes, quote{text: p.Text[u.start:u.end], citation: p.CitationAt(u.start)})
	}
	return quotes
}

// answered reports whether the evidence holds an answer at all: whether one passage, and one
// sentence, hold enough of what the question asks for. Of a question of few words they must hold
// nearly everything, of one with many words less; words that no document knows count against it.
func (n need) answered(ev *llm.Evidence, units []unit) bool {
	passage, matched := 0.0, 0
	for _, p := range ev.Passages {
		held := termSet(p.Text)
		maps.Copy(held, headingTerms(p))
		if sum, m := n.held(held); sum > passage {
			passage, matched = sum, m
		}
	}
	sentence := 0.0
	for _, u := range units {
		sum, _ := n.held(u.terms)
		sentence = max(sentence, sum)
	}
	enough := 0.7 + 0.2*n.unknown - 0.1*float64(min(matched, 6))
	return (passage+sentence)/2 >= max(enough, minEvidence)
}

// held returns the share of the question's weight that a set of terms holds, and how many of its
// terms.
func (n need) held(terms map[string]bool) (share float64, matched int) {
	for t, w := range n.weight {
		if terms[t] {
			share += w
			matched++
		}
	}
	return share / n.total, matched
}

func termSet(s string) map[string]bool {
	set := make(map[string]bool)
	for _, t := range text.Terms(s) {
		set[t] = true
	}
	return set
}

func headingTerms(p llm.Passage) map[string]bool {
	return termSet(p.Title + "\n" + strings.Join(p.Headings, "\n"))
}

// candidates returns the sentences of all passages with their scores; a sentence that stands in
// two passages, because chunks overlap, counts once.
func candidates(ev *llm.Evidence, n need) []unit {
	var units []unit
	seen := make(map[string]bool)
	for i, p := range ev.Passages {
		headings := headingTerms(p)
		all := spans(p.Text)
		terms := make([]map[string]bool, len(all))
		for j, sp := range all {
			terms[j] = termSet(p.Text[sp.Start:sp.End])
		}
		for j, sp := range all {
			s := p.Text[sp.Start:sp.End]
			key := strings.Join(strings.Fields(s), " ")
			if seen[key] || !isStatement(s, p.Headings) {
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
			u := unit{passage: i, start: sp.Start, end: sp.End, terms: terms[j]}
			u.score = n.value(u.terms, near, headings) + passageShare*p.Score
			if leans(s) {
				u.score -= leanPenalty
			}
			units = append(units, u)
		}
	}
	return units
}

// value returns how much of what is asked for a sentence holds, given the terms of the sentences
// beside it and of the headings above it.
func (n need) value(own, near, headings map[string]bool) float64 {
	sum := 0.0
	for t, w := range n.weight {
		switch {
		case own[t]:
			sum += w
		case headings[t]:
			sum += w * headingShare
		case near[t]:
			sum += w * nearShare
		}
	}
	v := sum / n.total
	if n.asides > 0 {
		aside := 0.0
		for t, w := range n.aside {
			if own[t] {
				aside += w
			}
		}
		v += contextShare * aside / n.asides
	}
	return v
}

// maxUnit bounds the length of a unit in bytes.
const maxUnit = 600

// spans returns the sentences of a passage; one that ends with a colon goes together with the
// list items or the sentence after it.
func spans(s string) []text.Span {
	sentences := text.Sentences(s)
	for i, sp := range sentences {
		// The mark of a list item is not part of what it says.
		if r, size := utf8.DecodeRuneInString(s[sp.Start:]); strings.ContainsRune(bullets, r) {
			if t, ok := text.Trim(s, sp.Start+size, sp.End); ok {
				sentences[i] = t
			}
		}
	}
	var out []text.Span
	for i := 0; i < len(sentences); i++ {
		sp := sentences[i]
		if strings.HasSuffix(s[sp.Start:sp.End], ":") {
			for i+1 < len(sentences) && sentences[i+1].End-sp.Start <= maxUnit/2 {
				i++
				sp.End = sentences[i].End
				if i+1 < len(sentences) && !followsItem(s, sentences[i+1].Start) {
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

// followsItem reports whether the sentence at start is a list item: it stands behind a mark, or
// begins with a number.
func followsItem(s string, start int) bool {
	if r, _ := utf8.DecodeLastRuneInString(strings.TrimRight(s[:start], " \t")); strings.ContainsRune(bullets, r) {
		return true
	}
	digits := strings.TrimLeft(s[start:], "0123456789")
	return len(digits) < len(s)-start && (strings.HasPrefix(digits, ". ") || strings.HasPrefix(digits, ") "))
}

// isStatement reports whether a sentence can stand in an answer: not a heading, a question, a
// line of a table of contents, or the rest of a sentence that began before the passage.
func isStatement(s string, headings []string) bool {
	words := strings.Fields(s)
	first, _ := utf8.DecodeRuneInString(s)
	last, _ := utf8.DecodeLastRuneInString(s)
	switch {
	case last == '?' || strings.Contains(s, ". . .") || strings.Contains(s, "...."):
		return false
	case len(words) < minWords && utf8.RuneCountInString(s) < 16:
		return false
	case unicode.IsLower(first) && len(words) > 1 && !strings.ContainsAny(words[0], "_.()=/"):
		return false
	case slices.ContainsFunc(headings, func(h string) bool { return strings.EqualFold(h, s) }):
		return false
	}
	return unicode.IsPunct(last) || !isTitle(words)
}

// isTitle reports whether most words begin with a capital, as in a title.
func isTitle(words []string) bool {
	if len(words) > 12 {
		return false
	}
	capitals := 0
	for _, w := range words {
		if startsUpper(w) {
			capitals++
		}
	}
	return capitals*2 > len(words)
}

// leans reports whether a sentence opens with a word that refers to the one before it.
func leans(s string) bool {
	first, rest, _ := strings.Cut(s, " ")
	switch strings.ToLower(strings.TrimRight(first, ",:")) {
	case "this", "these", "those", "they", "it", "he", "she", "however", "additionally", "also", "therefore", "otherwise", "instead":
		return true
	case "in":
		return strings.HasPrefix(rest, "these") || strings.HasPrefix(rest, "this") || strings.HasPrefix(rest, "addition")
	}
	return false
}

// greedy chooses units one by one, each the one that adds most to those chosen so far, until
// nothing adds enough or the answer is full. It returns indices into units.
func greedy(ev *llm.Evidence, units []unit, n need) []int {
	covered := make(map[string]bool)
	pages := make(map[string]bool)
	var chosen []int
	size := 0
	first := 0.0
	for len(chosen) < maxSentences {
		best, gain := -1, 0.0
		for i, u := range units {
			page := ev.Passages[u.passage].CitationAt(u.start)
			if slices.Contains(chosen, i) || size+u.end-u.start > maxAnswer || !pages[page] && len(pages) == maxPages {
				continue
			}
			g := n.gain(u, covered)
			if least := minGain; len(chosen) > 0 {
				if !pages[page] {
					least = minPageGain
				}
				if g < least*first {
					continue
				}
			}
			if g > gain {
				best, gain = i, g
			}
		}
		if best < 0 {
			break
		}
		if len(chosen) == 0 {
			first = gain
		}
		u := units[best]
		chosen = append(chosen, best)
		pages[ev.Passages[u.passage].CitationAt(u.start)] = true
		size += u.end - u.start
		for t := range u.terms {
			covered[t] = true
		}
	}
	return chosen
}

// gain returns what a unit adds to an answer that already holds the covered terms.
func (n need) gain(u unit, covered map[string]bool) float64 {
	repeated := 0.0
	for t, w := range n.weight {
		if u.terms[t] && covered[t] {
			repeated += w
		}
	}
	return u.score - repeatPenalty*repeated/n.total
}

// order sorts the chosen units so that they read: by passage in the order of their best unit,
// and within a passage as they stand there.
func order(units []unit, chosen []int) {
	rank := make(map[int]int)
	for i, c := range chosen {
		if _, ok := rank[units[c].passage]; !ok {
			rank[units[c].passage] = i
		}
	}
	slices.SortFunc(chosen, func(a, b int) int {
		return cmp.Or(cmp.Compare(rank[units[a].passage], rank[units[b].passage]),
			cmp.Compare(units[a].start, units[b].start))
	})
}
