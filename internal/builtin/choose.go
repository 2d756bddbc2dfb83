package builtin

import (
	"cmp"
	"context"
	"maps"
	"regexp"
	"slices"
	"strings"

	"parley/internal/llm"
)

// The parameters of refusal and of adding a further block, in units of the whole question's weight.
const (
	minEvidence   = 0.3  // share of the question that the evidence must hold in any case
	compoundShare = 0.5  // what a word of several that hyphens join counts, beside its parts
	minDefined    = 0.6  // share of the question that the subject of a definition must hold
	minAsked      = 0.5  // share of the question that a text must ask for a label to answer it
	talkShare     = 0.3  // what being about all of the conversation counts against what a question must hold
	minOwn        = 0.25 // share that a further block must hold when it adds nothing new
	repeatPenalty = 0.85 // of the value of a term that another chosen block holds already
	minGain       = 0.5  // a further block must add this, relative to the first
	minPageGain   = 0.6  // the same for a block on a page that is not cited yet
)

// need is what a question asks for. Its terms have an order, that of the query, so that sums over
// them come out the same each time.
type need struct {
	terms   []weighted // of the question
	total   float64
	aside   []weighted // of the conversation
	asides  float64
	goesOn  bool    // it has words of its own, and a conversation before it
	unknown float64 // of an essence: share of its weight that no document knows

	contacts []contact         // that are asked for
	forms    map[string]string // other forms of words of the question, with the term that stands for both

	wanted wanted // what an answer must have
}

type weighted struct {
	text    string
	weight  float64
	unknown bool // no document holds it
}

// contextLimit is the weight below which a term comes from the conversation, not the question.
const contextLimit = 0.5

func needOf(terms []llm.Term) need {
	n := need{forms: make(map[string]string)}
	for _, t := range terms {
		switch last := len(n.terms) - 1; {
		case t.Other && last >= 0:
			n.forms[t.Text] = n.terms[last].text
			n.terms[last].weight = min(n.terms[last].weight, t.IDF)
		case t.Weight > contextLimit && strings.ContainsAny(t.Word, "-\u2010\u2011"):
			n.terms = append(n.terms, weighted{t.Text, t.IDF * compoundShare, !t.Known})
		case t.Weight > contextLimit:
			n.terms = append(n.terms, weighted{t.Text, t.IDF, !t.Known})
		default:
			n.aside = append(n.aside, weighted{t.Text, t.IDF * t.Weight, !t.Known})
		}
	}
	n.total, n.asides = sum(n.terms), sum(n.aside)
	n.contacts = contactsIn(n.terms)
	n.goesOn = n.total > 0 && n.asides > 0
	if n.total == 0 { // "why?": the conversation is all there is to go by
		n.terms, n.total = n.aside, n.asides
	}
	return n
}

func sum(terms []weighted) (total float64) {
	for _, t := range terms {
		total += t.weight
	}
	return total
}

// essence is the need with less weight on words in which questions are put about anything: what they
// are about must be there, and "how long", "where can I send" or "colour" may be said in other words.
func (n need) essence() need {
	e := n
	e.terms = slices.Clone(n.terms)
	unknown := 0.0
	for i := range e.terms {
		t := &e.terms[i]
		if general()[t.text] {
			t.weight *= generalShare
		}
		if t.unknown {
			unknown += t.weight
		}
	}
	e.total = sum(e.terms)
	e.unknown = unknown / e.total
	return e
}

// choose returns the quotes that answer the question by its words, in reading order and within limits;
// none when the evidence does not hold an answer.
func choose(ev *llm.Evidence, most limits) []quote {
	return Answerer{}.quotes(context.Background(), ev, most)
}

// chosen returns the units of which the answer is made, in reading order.
func (a Answerer) chosen(ctx context.Context, ev *llm.Evidence, most limits) []unit {
	n, units := a.units(ctx, ev)
	if len(units) == 0 {
		return nil
	}
	if !n.answered(ev, units) && !slices.ContainsFunc(n.clauses(ev), func(c need) bool { return c.answered(ev, units) }) {
		return nil
	}
	chosen := greedy(ev, units, n, most)
	order(units, chosen)
	best := make([]unit, 0, len(chosen))
	for _, i := range chosen {
		best = append(best, units[i])
	}
	return best
}

// units returns what the question needs, and the units that may answer it.
func (a Answerer) units(ctx context.Context, ev *llm.Evidence) (need, []unit) {
	if ev == nil || len(ev.Passages) == 0 {
		return need{}, nil
	}
	n := needOf(ev.Terms)
	n.wanted = wantedBy(ev.Query)
	if n.total == 0 {
		return n, nil
	}
	return n, a.Reader.read(ctx, ev.Query, ev.Previous, n.goesOn, candidates(ev, n))
}

// grounds are what is known of how well the best block answers.
type grounds [12]float64

// grounds returns those of a unit among all.
func (n need) grounds(ev *llm.Evidence, units []unit, best int) grounds {
	u := &units[best]
	e := n.essence()
	own, matched := e.held(u.terms)
	around, _ := e.held(union(u.terms, u.asked))
	passage, _ := e.held(n.passageTerms(ev.Passages[u.passage]))
	second := 0.0
	for i := range units {
		if i != best && !overlaps(units, []int{best}, i) {
			second = max(second, units[i].score)
		}
	}
	return grounds{
		1, own, around, passage, min(float64(matched), 4) / 4, e.unknown, n.onTopic(ev), u.features[untyped],
		u.features[like], u.features[inGrams] + u.features[gramsAround], u.score, u.score - second,
	}
}

// appendQuotes appends the pieces of a unit, those that begin on one page as one quote.
func appendQuotes(quotes []quote, p *llm.Passage, u *unit) []quote {
	start := u.start
	for i, piece := range u.pieces {
		citation := p.CitationAt(start)
		if i+1 < len(u.pieces) && p.CitationAt(u.pieces[i+1].Start) == citation {
			continue
		}
		end := piece.End
		quotes = append(quotes, quote{text: p.Text[start:end], citation: citation})
		if i+1 < len(u.pieces) {
			start = u.pieces[i+1].Start
		}
	}
	return quotes
}

// answered reports whether the evidence holds an answer at all: whether one passage, and one
// sentence, hold enough of what the question asks for. Of a question of few words they must hold
// nearly everything, of one with many words less; words that no document knows count against it.
func (n need) answered(ev *llm.Evidence, units []unit) bool {
	n = n.essence()
	passage, matched := 0.0, 0
	for _, p := range ev.Passages {
		if sum, m := n.held(n.passageTerms(p)); sum > passage {
			passage, matched = sum, m
		}
	}
	sentence := 0.0
	for _, u := range units {
		own, _ := n.held(u.terms)
		asked, _ := n.held(u.asked)
		sentence = max(sentence, own, asked)
	}
	enough := 0.7 + 0.2*n.unknown - 0.1*float64(min(matched, 6)) - talkShare*n.onTopic(ev)*max(0, 1-2*n.unknown)
	return (passage+sentence)/2 >= max(enough, minEvidence)
}

// onTopic returns the share of the conversation's weight that a passage holds: a question that goes on
// about what was talked of names less of it. It is 0 without a conversation, and where there is nothing else
// to go by.
func (n need) onTopic(ev *llm.Evidence) (share float64) {
	if !n.goesOn {
		return 0
	}
	for _, p := range ev.Passages {
		held, sum := n.passageTerms(p), 0.0
		for _, t := range n.aside {
			if held[t.text] {
				sum += t.weight
			}
		}
		share = max(share, sum/n.asides)
	}
	return share
}

// passageTerms returns the terms of a passage with its title and headings.
func (n need) passageTerms(p llm.Passage) map[string]bool {
	return n.termSet(p.Title + "\n" + strings.Join(p.Headings, "\n") + "\n" + p.Text)
}

// further finds where a further question begins within a question.
var further = regexp.MustCompile(`(?i),? (?:and|or) (?:also )?(?:what|how|which|when|where|who|why|does|do|is|are|can)\b|[?.;]\s`)

// clauses returns what each part of a question asks for that asks for several things, as long as
// it is no mere addition to the others: "and what does it cost?".
func (n need) clauses(ev *llm.Evidence) []need {
	parts := further.Split(ev.Query, -1)
	if len(parts) < 2 {
		return nil
	}
	var clauses []need
	for _, part := range parts {
		own := n.termSet(part)
		c := needOf(slices.DeleteFunc(slices.Clone(ev.Terms), func(t llm.Term) bool { return !own[t.Text] }))
		c.forms = n.forms
		if c.total >= minEvidence*n.total && len(c.terms) > 0 {
			clauses = append(clauses, c)
		}
	}
	return clauses
}

// held returns the share of the question's weight that a set of terms holds, and how many of its
// terms.
func (n need) held(terms map[string]bool) (share float64, matched int) {
	for _, t := range n.terms {
		if terms[t.text] {
			share += t.weight
			matched++
		}
	}
	return share / n.total, matched
}

// greedy chooses units one by one, each the one that adds most to those chosen so far, until
// nothing adds enough or the answer is full. It returns indices into units.
func greedy(ev *llm.Evidence, units []unit, n need, most limits) []int {
	covered := make(map[string]bool)
	pages := make(map[string]bool)
	var chosen []int
	size := 0
	first := 0.0
	rows := 0.0 // the largest share that a chosen row of a table holds
	for len(chosen) < most.sentences {
		best, gain := -1, 0.0
		for i, u := range units {
			page := ev.Passages[u.passage].CitationAt(u.start)
			if u.pagesWith(ev, pages) > most.pages {
				continue
			}
			if len(chosen) > 0 && size+u.end-u.start > most.bytes || overlaps(units, chosen, i) {
				continue
			}
			g := n.gain(u, covered)
			if least := most.gain; len(chosen) > 0 {
				if !pages[page] {
					least = most.pageGain
				}
				own, fresh := n.adds(u, covered)
				if g < least*first || fresh == 0 && (own < minOwn || u.row && own < rows) {
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
		if own, _ := n.adds(u, covered); u.row {
			rows = max(rows, own)
		}
		chosen = append(chosen, best)
		for _, piece := range u.pieces {
			pages[ev.Passages[u.passage].CitationAt(piece.Start)] = true
		}
		size += u.end - u.start
		maps.Copy(covered, u.terms)
		maps.Copy(covered, u.asked)
	}
	return chosen
}

// overlaps reports whether a unit has a part in common with one that is chosen, or says the same.
func overlaps(units []unit, chosen []int, i int) bool {
	return slices.ContainsFunc(chosen, func(c int) bool {
		a, b := &units[c], &units[i]
		return a.passage == b.passage && a.start < b.end && b.start < a.end || strings.Contains(a.key, b.key) || strings.Contains(b.key, a.key)
	})
}

// pagesWith returns how many pages are cited when a unit joins those that cite some.
func (u *unit) pagesWith(ev *llm.Evidence, pages map[string]bool) int {
	n, last := len(pages), ""
	for _, piece := range u.pieces {
		if page := ev.Passages[u.passage].CitationAt(piece.Start); page != last && !pages[page] {
			last = page
			n++
		}
	}
	return n
}

// gain returns what a unit adds to an answer that already holds the covered terms.
func (n need) gain(u unit, covered map[string]bool) float64 {
	repeated := 0.0
	for _, t := range n.terms {
		switch {
		case !covered[t.text]:
		case u.terms[t.text]:
			repeated += t.weight
		case u.asked[t.text]:
			repeated += t.weight * blockWeights[inAsked] / blockWeights[inOwn]
		}
	}
	return u.score - repeatPenalty*repeated/n.total
}

// adds returns the share of what is asked for that a unit holds, and the part of it that is not
// covered yet.
func (n need) adds(u unit, covered map[string]bool) (own, fresh float64) {
	for _, t := range n.terms {
		if u.terms[t.text] {
			own += t.weight
			if !covered[t.text] {
				fresh += t.weight
			}
		}
	}
	return own / n.total, fresh / n.total
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
