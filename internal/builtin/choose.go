package builtin

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"parley/internal/lazyregexp"
	"parley/internal/llm"
)

// The parameters of refusal and of adding a further block, in units of the whole question's weight.
const (
	minEvidence   = 0.3 // share of the question that the evidence must hold in any case
	compoundShare = 0.5 // weight of a compound with hyphens, beside its parts
	minDefined    = 0.6 // share of the question that the subject of a definition must hold
	talkShare     = 0.3 // how far the share of the conversation in the evidence lowers the share of the question that it must hold
	minAsked      = 0.5 // share of the question that a text must ask for a label to answer it
	askedShare    = 0.6 // what a word in the question above a block adds to an answer, relative to one in the block
)

// need is what a question asks for. Its terms are in the order of the query, so that sums over them are the same each time.
type need struct {
	terms   []weighted // of the question
	total   float64
	aside   []weighted // of the conversation
	asides  float64
	goesOn  bool    // it has words of its own, and follows a conversation
	unknown float64 // of an essence: share of its weight that no document knows

	contacts []contact           // asked for
	likes    map[string][]string // words of like meaning, with the terms of the question
	forms    map[string]string   // other forms of words of the question, with the term that stands for both

	wanted wanted // what an answer must contain
}

type weighted struct {
	text    string
	weight  float64
	unknown bool // no document holds it
}

// contextLimit is the weight below which a term comes from the conversation, not the question.
const contextLimit = 0.5

func needOf(terms []llm.Term) need {
	n := need{forms: make(map[string]string), likes: make(map[string][]string)}
	for _, t := range terms {
		switch last := len(n.terms) - 1; {
		case t.Like && last >= 0:
			n.likes[t.Text] = append(n.likes[t.Text], n.terms[last].text)
			n.terms[last].unknown = false
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

// essence returns the need with less weight on general words of questions: the subject must be in the evidence, but other words
// may express "how long", "where can I send" or "colour".
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

// chosen returns the units that make up the answer, in reading order.
func (a Answerer) chosen(ctx context.Context, ev *llm.Evidence, most limits) []unit {
	if ev == nil {
		return nil
	}
	n := needFor(ev)
	if passages := n.whole(ev); len(passages) > 0 {
		if begin := opening(ev, candidates(ev, n), passages, most); len(begin) > 0 {
			return begin
		}
	}
	return a.bothSides(ctx, ev, a.best(ctx, ev, most))
}

// best returns the units that answer the question best, in reading order.
func (a Answerer) best(ctx context.Context, ev *llm.Evidence, most limits) []unit {
	n, units := a.units(ctx, ev)
	if len(units) == 0 {
		return nil
	}
	units = n.reachable(units)
	if !n.answered(ev, units, a.Reader) {
		if units = a.Reader.foreign(ctx, ev, units, candidates(ev, n)); units == nil {
			return nil
		}
	}
	chosen := greedy(ev, units, n, most)
	if !n.named(ev, units, chosen) {
		return nil
	}
	order(units, chosen, n, len(n.clauses(ev)) > 1)
	best := make([]unit, 0, len(chosen))
	for _, i := range chosen {
		best = append(best, units[i])
	}
	return best
}

// reachable returns the units that have the address, phone number or amount that the question asks for, or all units if none has it.
func (n need) reachable(units []unit) []unit {
	w := &n.wanted
	if !w.amount() {
		return units
	}
	given := slices.DeleteFunc(slices.Clone(units), func(u unit) bool {
		return w.contact != nil && !w.contact.MatchString(u.key) || w.quantity != nil && u.features[untyped] > 0
	})
	if len(given) == 0 {
		return units
	}
	return given
}

// needFor returns what the question needs. It leaves out the words of a request for a summary.
func needFor(ev *llm.Evidence) need {
	terms := ev.Terms
	if asksSummary(ev.Query) {
		asks := func(t llm.Term) bool { return summaryTerms()[t.Text] && t.Weight > contextLimit }
		if slices.ContainsFunc(terms, func(t llm.Term) bool { return t.Weight > contextLimit && !asks(t) }) {
			terms = slices.DeleteFunc(slices.Clone(terms), asks)
		}
	}
	n := needOf(terms)
	n.wanted = wantedBy(ev.Query)
	if last := len(ev.Previous) - 1; last >= 0 && addsSubject.MatchString(ev.Query) && n.wanted.isOpen() {
		before := wantedBy(beginning(ev.Previous[last]))
		n.wanted.quantity, n.wanted.said, n.wanted.asking = before.quantity, before.said, before.asking
	}
	return n
}

// addsSubject matches questions that repeat the previous one for another subject: "And for a child?"
var addsSubject = lazyregexp.New(`(?i)^\W*(?:and|or|und|oder|et|ou|y|o|e|ed)(?: what about| how about)? (?:(?:for|in|on|at|with|of|für|bei|im|in|mit|pour|dans|chez|avec|para|en|con|per|em|com) )?` +
	`(?:(?:an?|the|my|our|eine?[nrm]?|d(?:er|ie|as|en|em)|les?|la|un[ae]?|el|l[oa]s|il|os?|as?|uma?) )?[^\s?]+(?: [^\s?]+){0,4}\?*$`)

// units returns what the question needs, and the units that may answer it.
func (a Answerer) units(ctx context.Context, ev *llm.Evidence) (need, []unit) {
	if ev == nil || len(ev.Passages) == 0 {
		return need{}, nil
	}
	n := needFor(ev)
	if n.total == 0 || asksNothing(ev.Query) {
		return n, nil
	}
	return n, a.Reader.judge(ctx, ev, n, candidates(ev, n), a.hasty)
}

// asksNothing reports whether a question is a single letter or digit: "x". A character of Han can be a word.
func asksNothing(question string) bool {
	word := strings.TrimFunc(question, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	r, size := utf8.DecodeRuneInString(word)
	return size == len(word) && !unicode.In(r, unicode.Han)
}

// grounds describe how well the best block answers.
type grounds [12]float64

// groundWeights are the weights of grounds; see blockWeights.
var groundWeights = grounds{-1.55, .28, .29, .5, .57, .31, -.37, -.52, -.01, -.27, -.1, 3.35}

// minChance is the least chance that the best block answers, if no reader has read it and it lacks the words of the question;
// docs/decisions.md has the results of other values.
const minChance = 0.7

// chance returns how likely the block is to answer.
func (g *grounds) chance() float64 { return g.chanceBy(groundWeights) }

func (g *grounds) chanceBy(weight grounds) float64 {
	sum := 0.0
	for i, v := range g {
		sum += weight[i] * v
	}
	return 1 / (1 + math.Exp(-sum))
}

// touches reports whether the block has any of the words that are asked for.
func (g *grounds) touches() bool { return g[heldAround]+g[heldPassage] >= 2*minEvidence }

// The places in grounds that touches needs.
const (
	heldAround  = 2
	heldPassage = 3
	heldUnknown = 5
	maxUnknown  = 0.3 // share of the question that no document holds: with more, its subject may be missing
)

// closeScore is the distance from the best block within which another one is quoted too, because either may answer. A neighbour
// of the best block may be further off: a sentence often repeats the question, and the next one answers it. If the question asks
// for an amount, the best block has it.
const (
	closeScore   = 0.2
	closeBeside  = 0.6
	unlikeBeside = 1.5 // how much worse than elsewhere a reader may find it
)

// maxGap is the lead over the second block above which a larger lead tells no more, since there may be no second block.
const maxGap = 0.6

// grounds returns those of a unit among all.
func (n need) grounds(ev *llm.Evidence, units []unit, best int) grounds {
	u := &units[best]
	e := n.essence()
	own, matched := e.held(u.terms)
	around, _ := e.held(union(u.terms, u.asked))
	passage, _ := e.held(n.passageTerms(ev.Passages[u.passage]))
	return grounds{
		1, own, around, passage, min(float64(matched), 4) / 4, e.unknown, n.onTopic(ev), u.features[untyped],
		u.features[like], u.features[inGrams] + u.features[gramsAround], u.score, min(lead(units, best), maxGap),
	}
}

// lead returns how far the best unit is ahead of the next one that says something else. A second document with the same
// statement does not make the answer less likely.
func lead(units []unit, best int) float64 {
	second := 0.0
	for i := range units {
		if i != best && !overlaps(units, []int{best}, i) && !repeats(&units[best], &units[i]) {
			second = max(second, units[i].score)
		}
	}
	return units[best].score - second
}

// repeats reports whether two units of different passages share half of the terms of the shorter one.
func repeats(a, b *unit) bool {
	if a.passage == b.passage {
		return false
	}
	if len(a.terms) > len(b.terms) {
		a, b = b, a
	}
	shared := 0
	for t := range a.terms {
		if b.terms[t] {
			shared++
		}
	}
	return shared > 0 && 2*shared >= len(a.terms)
}

// appendQuotes appends the pieces of a unit as quotes. Pieces of one paragraph or list that begin on the same page become one
// quote.
func appendQuotes(quotes []quote, p *llm.Passage, u *unit) []quote {
	start := u.start
	for i, piece := range u.pieces {
		citation := p.CitationAt(start)
		if i+1 < len(u.pieces) && p.CitationAt(u.pieces[i+1].Start) == citation &&
			(u.list || !strings.Contains(p.Text[piece.End:u.pieces[i+1].Start], "\n\n")) {
			continue
		}
		end := piece.End
		quotes = append(quotes, quote{text: p.Text[start:end], citation: citation, row: inTable(p, p.Text[start:end])})
		if i+1 < len(u.pieces) {
			start = u.pieces[i+1].Start
		}
	}
	return quotes
}

// answered reports whether the evidence holds an answer: it holds the words of the question, or of one of its parts, or the best
// block is likely to answer anyway. A reader may find that the words are there and the answer is not.
func (n need) answered(ev *llm.Evidence, units []unit, r *Reader) bool {
	best := 0
	for i := range units {
		if units[i].score > units[best].score {
			best = i
		}
	}
	worded := n.worded(ev, units) || slices.ContainsFunc(n.clauses(ev), func(c need) bool { return c.worded(ev, units) })
	g := n.grounds(ev, units, best)
	near := g.touches() && g[heldUnknown] <= maxUnknown
	if n.lacks(&units[best]) {
		return false
	}
	open := units[best].anyOne || n.leavesUndefined(&units[best], &units[best].features)
	if sure, ok := r.sureness(ev); ok {
		chance := sure.chance(units, best)
		if chance < minChanceOther && (open || n.countsOthers(&units[best])) {
			return false
		}
		if worded {
			return chance >= sure.worded
		}
		if len(units) >= minCompeting && chance >= sure.far.chance && units[best].features[like] >= sure.far.like {
			return near || !n.goesOn
		}
		// A question that moves on to something else is near to the old subject, too: the block must then answer the question
		// alone.
		return chance >= sure.alone.chance && units[best].features[like] >= sure.alone.like && (near || !n.goesOn || units[best].ownLike >= sure.alone.like)
	}
	if open && g.chance() < minChanceOther {
		return false
	}
	return worded || near && g.chance() >= minChance
}

// worded reports whether one passage, and one block, hold enough of the words of the question: nearly all words of a short
// question, fewer of a long one. Words that no document knows count against it.
func (n need) worded(ev *llm.Evidence, units []unit) bool {
	n = n.essence()
	passage, matched := 0.0, 0
	for _, p := range ev.Passages {
		if sum, m := n.held(n.passageTerms(p)); sum > passage {
			passage, matched = sum, m
		}
	}
	block := 0.0
	for _, u := range units {
		own, _ := n.held(u.terms)
		asked, _ := n.held(u.asked)
		block = max(block, own, asked)
	}
	enough := 0.7 + 0.2*n.unknown - 0.1*float64(min(matched, 6)) - talkShare*n.onTopic(ev)*max(0, 1-2*n.unknown)
	return (passage+block)/2 >= max(enough, minEvidence)
}

// onTopic returns the share of the conversation's weight that a passage holds: a follow-up about the same subject names less of
// it. It is 0 without a conversation, and if there is nothing else to judge by.
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

// held returns the share of the question's weight that a set of terms holds, and the number of the question's terms in it.
func (n need) held(terms map[string]bool) (share float64, matched int) {
	for _, t := range n.terms {
		switch {
		case terms[t.text]:
			share += t.weight
			matched++
		case terms[likeMark+t.text]:
			share += t.weight * likeShare
			matched++
		}
	}
	return share / n.total, matched
}

// greedy chooses the best unit, and then those that add most to what is chosen, until nothing adds enough
// or the answer is full. It returns indices into units.
func greedy(ev *llm.Evidence, units []unit, n need, most limits) []int {
	covered := make(map[string]bool)
	pages := make(map[string]bool)
	var chosen []int
	size, first := 0, 0.0
	quotes := 0
	for quotes < most.sentences {
		best, gain := -1, 0.0
		for i := range units {
			u := &units[i]
			if u.pagesWith(ev, pages) > most.pages || len(chosen) > 0 && size+u.end-u.start > most.bytes || overlaps(units, chosen, i) ||
				quotes+len(appendQuotes(nil, &ev.Passages[u.passage], u)) > most.sentences {
				continue
			}
			g := u.score
			if len(chosen) > 0 {
				near, unlike := closeScore, most.unlike
				if one := &units[chosen[0]]; !n.wanted.amount() && u.passage == one.passage && u.adjoins(&ev.Passages[u.passage], one) {
					near, unlike = closeBeside, unlikeBeside*most.unlike
				}
				part := u.part > 0 && !slices.ContainsFunc(chosen, func(c int) bool { return units[c].part == u.part })
				if u.features[like] < units[chosen[0]].features[like]-unlike && !part {
					continue
				}
				g = n.gain(u, covered, most)
				second := len(chosen) == 1 && u.score >= units[chosen[0]].score-near || part
				if !second && (g <= 0 || g < most.gain*first || !pages[ev.Passages[u.passage].CitationAt(u.start)] && g < most.pageGain*first) {
					continue
				}
				g += u.score
			}
			if best < 0 || g > gain {
				best, gain = i, g
			}
		}
		if best < 0 {
			break
		}
		if len(chosen) == 0 {
			best = n.wholeBlock(units, n.wholeList(units, best))
		}
		u := &units[best]
		if len(chosen) == 0 {
			first = n.gain(u, covered, most)
		}
		chosen = append(chosen, best)
		quotes += len(appendQuotes(nil, &ev.Passages[u.passage], u))
		for _, piece := range u.pieces {
			pages[ev.Passages[u.passage].CitationAt(piece.Start)] = true
		}
		size += u.end - u.start
		maps.Copy(covered, u.terms)
		maps.Copy(covered, u.asked)
	}
	return chosen
}

// wholeList returns the list to which a unit belongs, if the question asks for several things and the list answers it nearly as
// well; else the unit.
func (n need) wholeList(units []unit, item int) int {
	if !n.wanted.list {
		return item
	}
	of, best := &units[item], item
	for i := range units {
		u := &units[i]
		if u.list && u.passage == of.passage && u.start <= of.start && of.end <= u.end && u.end-u.start > of.end-of.start &&
			u.score >= of.score-2*closeScore && (best == item || u.score > units[best].score) {
			best = i
		}
	}
	return best
}

// wholeBlock returns the longest unit that contains a unit and answers as well: a sentence together with its continuation.
func (n need) wholeBlock(units []unit, part int) int {
	if n.wanted.amount() {
		return part
	}
	of, best := &units[part], part
	for i := range units {
		u := &units[i]
		if u.list == of.list && u.passage == of.passage && u.start <= of.start && of.end <= u.end && u.score >= of.score-closeScore &&
			u.end-u.start > units[best].end-units[best].start {
			best = i
		}
	}
	return best
}

// gain returns what a unit adds to an answer that already holds the covered terms: the weight of new terms of the question, and
// a share of the weight of covered ones, since an answer may say more about them.
func (n need) gain(u *unit, covered map[string]bool, most limits) (gain float64) {
	for _, t := range n.terms {
		share := 0.0
		switch {
		case u.terms[t.text]:
			share = t.weight / n.total
		case u.asked[t.text]:
			share = t.weight / n.total * askedShare
		case u.terms[likeMark+t.text]:
			share = t.weight / n.total * likeShare
		}
		if covered[t.text] {
			share *= most.again
		}
		if general()[t.text] {
			share *= generalShare
		}
		gain += share
	}
	return gain
}

// overlaps reports whether a unit overlaps a chosen one, or repeats its text.
func overlaps(units []unit, chosen []int, i int) bool {
	return slices.ContainsFunc(chosen, func(c int) bool {
		a, b := &units[c], &units[i]
		return a.passage == b.passage && a.start < b.end && b.start < a.end || strings.Contains(a.key, b.key) || strings.Contains(b.key, a.key)
	})
}

// adjoins reports whether two units of a passage are adjacent.
func (u *unit) adjoins(p *llm.Passage, other *unit) bool {
	from, to := min(u.end, other.end), max(u.start, other.start)
	return from <= to && strings.TrimSpace(p.Text[from:to]) == ""
}

// pagesWith returns the number of cited pages after a unit is added to the chosen ones.
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

// order sorts the chosen units for reading: by passage, in the order of each passage's best unit, or of the question's parts if
// it has several; within a passage in the order of its text.
func order(units []unit, chosen []int, n need, parts bool) {
	rank := make(map[int]int)
	for i, c := range chosen {
		if parts {
			i = slices.IndexFunc(n.terms, func(t weighted) bool { return units[c].terms[t.text] })
		}
		if _, ok := rank[units[c].passage]; !ok {
			rank[units[c].passage] = i
		}
	}
	slices.SortStableFunc(chosen, func(a, b int) int {
		return cmp.Or(cmp.Compare(rank[units[a].passage], rank[units[b].passage]),
			cmp.Compare(units[a].passage, units[b].passage), cmp.Compare(units[a].start, units[b].start))
	})
}
