package ingest

import (
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"parley/internal/extract"
)

// cost returns the cost of starting a chunk at a unit with this joint. A chunk itself costs 1, so the
// plan accepts two more chunks to avoid a cut within a sentence.
func (j joint) cost() float64 {
	switch j {
	case jointHeading, jointPage:
		return 0
	case jointBlock:
		return 0.15
	case jointItem:
		return 0.3
	case jointRow, jointLine:
		return 0.4
	case jointSentence:
		return 0.5
	case jointTail:
		return 0.8
	case jointContinued, jointWord:
		return 3
	default: // jointGlue: a chunk never ends with a heading
		return 40
	}
}

// unitRange is a span of units that form a chunk.
type unitRange struct{ start, end int }

// opening is the text that a chunk repeats before its own first unit.
type opening struct {
	from          int   // first unit; before the chunk's own first unit if sentences overlap
	table         int32 // index in splitter.tables of the header row to repeat, or -1
	runes, tokens int   // of all repeated text, with the gap after it
}

// plan chooses the grouping of units into chunks with the lowest total cost. The cost of a chunk depends
// on its joint, its size, and the headings and short pages within it. Some groups are not allowed: those
// that are too large, that continue over the end of a page for more than a sentence, or that continue
// over a heading although both sections are large enough or one of them answers a question.
func (s *splitter) plan() []unitRange {
	n := len(s.units)
	cost := make([]float64, n+1)
	from := make([]int, n+1)
	for i := range cost[1:] {
		cost[i+1] = math.Inf(1)
	}
	sections := s.sections()
	for i := range n {
		o := s.open(i)
		base := cost[i] + 1
		if i > 0 {
			base += s.units[i].joint.cost()
		}
		runes, tokens, own := o.runes, o.tokens, 0
		for j := i; j < n; j++ {
			u := s.units[j]
			runes += int(u.runes)
			tokens += int(u.tokens)
			if j > i {
				runes += int(u.gap)
				tokens++
				crossing, ok := s.crossing(i, j, own, int(sections[j]))
				if !ok || runes > s.opts.limit() || tokens > s.opts.Tokens {
					break
				}
				base += crossing
			}
			own += int(u.runes)
			if c := base + s.sizeCost(runes, own); c < cost[j+1] {
				cost[j+1], from[j+1] = c, i
			}
		}
	}
	var ranges []unitRange
	for end := n; end > 0; end = from[end] {
		ranges = append(ranges, unitRange{from[end], end})
	}
	for a, b := 0, len(ranges)-1; a < b; a, b = a+1, b-1 {
		ranges[a], ranges[b] = ranges[b], ranges[a]
	}
	return ranges
}

// sizeCost returns the cost of a chunk's size: runes in all, own without the repeated text.
func (s *splitter) sizeCost(runes, own int) float64 {
	size, least := float64(s.opts.Size), float64(s.opts.Min)
	cost := 0.0
	if over := float64(runes) - size; over > 0 {
		cost += 2 * over / float64(s.opts.limit()-s.opts.Size)
	} else {
		cost += 0.3 * (over / size) * (over / size)
	}
	if missing := least - float64(own); missing > 0 {
		cost += 3 * missing / least
	}
	return cost
}

// crossing returns the cost of a chunk that starts with unit i and continues with unit k, if it has own
// characters so far and k begins a section of that many; false if it must not continue.
func (s *splitter) crossing(i, k, own, section int) (float64, bool) {
	u, cost := s.units[k], 0.0
	if u.joint == jointPage && s.units[i].page != u.page {
		if own >= s.opts.Min || s.runes[s.units[i].page] >= s.opts.Min {
			return 0, false
		}
		cost += 0.3
	}
	if u.kind == extract.Heading && u.joint != jointGlue && u.joint != jointWord {
		switch {
		case s.asks(k):
			return 0, false
		case own < s.opts.Min:
			cost += 0.1
		case section < s.opts.Min:
			cost += 1.5
		default:
			return 0, false
		}
		if len(s.paths[u.path]) < len(s.paths[s.units[k-1].path]) {
			cost += 0.5 // it crosses a chapter, not only a section
		}
	}
	return cost, true
}

// asks reports whether a section whose heading is a question begins at the heading k or ends before it. Such a section does
// not share a chunk with its neighbours: the answer to one question would rank low among answers to others.
func (s *splitter) asks(k int) bool {
	before, path := s.paths[s.units[k-1].path], s.paths[s.units[k].path]
	own := len(path) - 1
	return isQuestion(path[own]) || len(before) > own && slices.ContainsFunc(before[own:], isQuestion)
}

func isQuestion(heading string) bool {
	last, _ := utf8.DecodeLastRuneInString(heading)
	return strings.ContainsRune("?？؟", last)
}

// sections returns for each heading the number of characters up to the next heading that does not follow
// it directly, and 0 for other units.
func (s *splitter) sections() []int32 {
	out := make([]int32, len(s.units))
	total := int32(0)
	for i := len(s.units) - 1; i >= 0; i-- {
		u := s.units[i]
		total += u.runes
		if u.kind == extract.Heading {
			out[i] = total
			if u.joint != jointGlue && u.joint != jointWord {
				total = 0
			}
		}
	}
	return out
}

// open returns the text that a chunk starting with unit i repeats.
func (s *splitter) open(i int) opening {
	o := opening{from: i, table: -1}
	u := s.units[i]
	if u.table >= 0 {
		h := s.tables[u.table]
		runes, tokens := int(h.runes)+1, int(h.tokens)+1
		// A header row on an earlier page would give the chunk that page's citation.
		if h.page == u.page && runes <= s.opts.Size/4 && s.roomFor(u, runes, tokens) {
			o.table, o.runes, o.tokens = u.table, runes, tokens
		}
		return o
	}
	runes, tokens := int(u.gap), 1
	for k := i - 1; k >= 0 && s.repeats(k, u); k-- {
		runes += int(s.units[k].runes)
		tokens += int(s.units[k].tokens) + 1
		if runes-int(u.gap) > s.opts.Overlap || !s.roomFor(u, runes, tokens) {
			break
		}
		if whole := s.units[k].joint; whole != jointWord && whole != jointContinued {
			o = opening{from: k, table: -1, runes: runes, tokens: tokens}
		}
		runes += int(s.units[k].gap)
	}
	return o
}

// repeats reports whether a chunk that starts with u may repeat unit k, if it repeats all units between
// them: running text of the same page and section.
func (s *splitter) repeats(k int, u unit) bool {
	switch s.units[k+1].joint {
	case jointSentence, jointItem, jointBlock, jointTail:
	default:
		return false
	}
	b := s.units[k]
	return b.page == u.page && (b.kind == extract.Paragraph || b.kind == extract.ListItem)
}

// roomFor reports whether u still fits into a chunk after the repeated text.
func (s *splitter) roomFor(u unit, runes, tokens int) bool {
	return runes+int(u.runes) <= s.opts.limit() && tokens+int(u.tokens) <= s.opts.Tokens
}

// joinPages finds the sentences and lists that continue over the end of a page, and moves the joint
// between the pages after them.
func (s *splitter) joinPages() {
	for i := 1; i < len(s.units); i++ {
		if s.units[i].joint != jointPage || !s.adjacent(i) {
			continue
		}
		switch {
		case s.continues(i):
			s.units[i].joint = jointContinued
			end := i + 1
			for end < len(s.units) && s.units[end].joint == jointWord {
				end++
			}
			s.moveJoint(end, func(j joint) bool { return j == jointSentence || j == jointWord })
		case s.units[i-1].kind == extract.ListItem && s.units[i].kind == extract.ListItem:
			s.moveJoint(i, func(j joint) bool {
				return j == jointItem || j == jointSentence || j == jointWord || j == jointPage
			})
		}
	}
}

// adjacent reports whether the page of unit i directly follows the page of the unit before it.
func (s *splitter) adjacent(i int) bool {
	return s.pages[s.units[i].page].Number == s.pages[s.units[i-1].page].Number+1
}

// moveJoint marks the units from i on that belong to the previous page, according to their joints, as
// its tail, unless that is more than half a chunk. The joint of pages comes after them.
func (s *splitter) moveJoint(i int, belongs func(joint) bool) {
	end, runes := i, 0
	for end < len(s.units) && s.units[end].page == s.units[i].page && belongs(s.units[end].joint) {
		runes += int(s.units[end].runes)
		end++
	}
	if runes > s.opts.Size/2 {
		end = i
	}
	for k := i; k < end; k++ {
		if s.units[k].joint != jointWord {
			s.units[k].joint = jointTail
		}
	}
	if end < len(s.units) && s.units[end-1].kind != extract.Heading {
		s.units[end].joint = jointPage
	}
}

// continues reports whether unit i continues the sentence of the previous unit, which ends its page: the
// previous unit has no full stop, and unit i no capital.
func (s *splitter) continues(i int) bool {
	a, b := s.units[i-1], s.units[i]
	if a.kind != extract.Paragraph && a.kind != extract.ListItem || b.kind != extract.Paragraph {
		return false
	}
	last, _ := utf8.DecodeLastRuneInString(s.pages[a.page].Text[a.start:a.end])
	first, _ := utf8.DecodeRuneInString(s.pages[b.page].Text[b.start:b.end])
	if unicode.IsLower(first) {
		return unicode.IsLetter(last) || unicode.IsDigit(last) || unicode.In(last, unicode.Pd) ||
			last == ',' || last == ';' || last == '\u00ad'
	}
	return caseless(first) && caseless(last)
}

// caseless reports whether r is a letter of a script without case, or a comma of one.
func caseless(r rune) bool {
	return unicode.In(r, unicode.Lo) || r == '，' || r == '、' || r == '،'
}
