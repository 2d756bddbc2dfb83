package builtin

import (
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"parley/internal/llm"
)

// features describe a block for a question, each about in [0, 1].
type features [featureCount]float64

const (
	inOwn       = iota // share of the question in the words of the block
	inAsked            // … else in the question above the block, or in the text that leads to it
	inHeading          // … else in the headings above it
	inTitle            // … else in the title of its document
	inNear             // … else in the pieces before and after it
	inPassage          // score of the passage
	inTalk             // share of the conversation in the block
	onTopic            // the heading right above the block names what is asked for
	answering          // the block begins below a question that asks the same: the share of that question
	defining           // it defines what is asked for
	typed              // it has what the question wants: a quantity, a list
	untyped            // the question wants a quantity or one of several things, and it has none
	opposing           // the question asks what is not so, and the block does not say that, or says nothing else
	deciding           // the question is for yes or no, and it says one
	leaning            // it depends on text that is not part of it
	listing            // it is a whole list, though the question does not want one
	length             // how much longer it is than a short sentence
	like               // how well it answers, says a reader
	inGrams            // share of the pieces of the question's words in the block
	gramsAround        // … in the question above it, the text that leads to it, or its headings
	dense              // share of the block's words that are the question's
	featureCount
)

// blockWeights are the weights of features; docs/decisions.md says how they were fitted.
var blockWeights = features{
	inOwn: .77, inAsked: .49, inHeading: .68, inTitle: .54, inNear: .41, inPassage: 1.27, inTalk: .79,
	onTopic: .12, answering: .59, defining: .47, typed: .37, untyped: -.62, opposing: -.48, deciding: .14,
	leaning: -.11, listing: -.25, length: .1, like: 4, inGrams: .74, gramsAround: .53, dense: .12,
}

func (f *features) score() (sum float64) {
	for i, v := range f {
		sum += blockWeights[i] * v
	}
	return sum
}

// surroundings is a passage with the text around its blocks.
type surroundings struct {
	n            need
	p            *llm.Passage
	pieces       []piece
	terms        []map[string]bool // of the pieces
	title, above map[string]bool   // of the document, and of the passage's headings
}

// asked returns the terms of the question or lead-in before a block, nil for none.
func (v *surroundings) asked(b block) map[string]bool {
	switch {
	case b.asked >= 0 && b.lead >= 0 && b.lead != b.asked && b.lead < b.first:
		return union(v.terms[b.asked], v.terms[b.lead])
	case b.asked >= 0:
		return v.terms[b.asked]
	case b.lead >= 0 && b.lead < b.first && (v.pieces[b.lead].kind == lends || b.list):
		return v.terms[b.lead]
	}
	return nil
}

// headings returns the terms of the headings above a block.
func (v *surroundings) headings(b block) map[string]bool {
	if b.lead >= 0 && v.pieces[b.lead].kind == heading {
		return union(v.above, v.terms[b.lead])
	}
	return v.above
}

// features returns those of a block.
func (v *surroundings) features(b block, u *unit) (f features) {
	n, s := &v.n, v.p.Text[u.start:u.end]
	near := map[string]bool{}
	if b.first > 0 {
		near = union(near, v.terms[b.first-1])
	}
	if b.last+1 < len(v.terms) {
		near = union(near, v.terms[b.last+1])
	}
	headings := v.headings(b)
	for _, t := range n.terms {
		share := t.weight / n.total
		for i, terms := range []map[string]bool{inOwn: u.terms, inAsked: u.asked, inHeading: headings, inTitle: v.title, inNear: near} {
			if terms[t.text] {
				f[i] += share
				break
			}
			if terms[likeMark+t.text] {
				f[i] += share * likeShare
				break
			}
		}
	}
	f[inPassage] = v.p.Score
	for _, t := range n.aside {
		if n.asides > 0 && u.terms[t.text] {
			f[inTalk] += t.weight / n.asides
		}
	}
	v.topical(b, &f)
	w := &n.wanted
	if w.definition && n.defines(s) {
		f[defining] = 1
		if entry.MatchString(s) {
			f[defining] = .5 // a sentence says it better
		}
	}
	switch given := w.given(s); {
	case given > 0:
		f[typed] = given
	case w.quantity != nil:
		f[untyped] = 1
	case w.list && b.list, w.time && aTime.MatchString(s), w.person && n.namesPerson(s):
		f[typed] = 1
	case u.anyOne || n.leavesUndefined(u, &f):
		f[untyped] = 1
	}
	if b.list && !w.list && f[untyped] == 0 {
		f[listing] = 1
	}
	if w.negation && !negated.MatchString(s) && !negated.MatchString(lastHeading(v.p.Headings)) {
		f[opposing] = 1
	}
	if w.decision && certain(s) {
		f[deciding] = 1
	}
	if v.pieces[b.first].leans && f[answering] == 0 {
		f[leaning] = 1
	}
	if len(u.terms) > 0 {
		_, matched := n.held(u.terms)
		f[dense] = min(3*float64(matched)/float64(len(u.terms)), 1)
	}
	f[length] = min(max(math.Log2(float64(utf8.RuneCountInString(s))/150), 0), 4) / 2
	return f
}

// topical notes whether a block is where the question is answered: below a heading about it, or below a question that asks the
// same.
func (v *surroundings) topical(b block, f *features) {
	topic := map[string]bool(nil)
	switch {
	case b.asked >= 0:
		topic = v.terms[b.asked]
	case b.lead >= 0 && v.pieces[b.lead].kind == heading:
		topic = v.terms[b.lead]
	case len(v.p.Headings) > 0:
		topic = v.n.termSet(lastHeading(v.p.Headings))
	}
	about, _ := v.n.held(topic)
	if about >= minTopic {
		f[onTopic] = 1
	}
	if b.direct && about >= minAsked {
		f[answering] = about
	}
}

// minTopic is the share of the question that a heading must hold to be about it.
const minTopic = 0.7

// read returns the text that a reader sees of a block: the block below its heading, and the question or the words that lead to
// it.
func (v *surroundings) read(b block, s string) string {
	for _, i := range []int{b.lead, b.asked} {
		if i >= 0 && i < b.first && (i != b.lead || b.lead != b.asked) {
			s = v.p.Text[v.pieces[i].Start:v.pieces[i].End] + " " + s
		}
	}
	if h := lastHeading(v.p.Headings); h != "" && !strings.HasPrefix(s, h) {
		s = h + ": " + s
	}
	s = v.placed(s)
	for cut := maxLooked; len(s) > maxLooked; cut-- {
		if utf8.RuneStart(s[cut]) {
			s = s[:cut]
		}
	}
	return s
}

// placed returns a text below those headings, and that title of its document, that have words of the question which the text
// lacks: "Installation requires NumPy." names its subject only with them.
func (v *surroundings) placed(s string) string {
	held := v.n.termSet(s)
	if !slices.ContainsFunc(v.n.terms, func(t weighted) bool { return !general()[t.text] && held[t.text] }) {
		return s // that its document has the subject does not make it an answer
	}
	above := append([]string{v.p.Title}, v.p.Headings...)
	for i := len(above) - 1; i >= 0; i-- {
		own := v.n.termSet(above[i])
		if slices.ContainsFunc(v.n.terms, func(t weighted) bool { return own[t.text] && !held[t.text] }) {
			s = above[i] + ": " + s
			maps.Copy(held, own)
		}
	}
	return s
}
