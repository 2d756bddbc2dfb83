package builtin

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"parley/internal/lazyregexp"
	"parley/internal/llm"
	"parley/internal/text"
)

// piece is the least part of a passage: a sentence, an item of a list, a row of a table, a heading.
type piece struct {
	text.Span
	kind  kind
	item  bool // of a list
	after bool // it is in the same paragraph as the piece before it
	leans bool // it is meaningless without the piece before it
}

// block is a unit that an answer may quote: pieces of a passage that belong together and are adjacent.
type block struct {
	first, last int // of the passage's pieces
	lead        int // the piece that leads to it, which is part of it unless it is a heading; -1 for none
	asked       int // the piece that asks the question that it answers; -1 for none
	list        bool
	direct      bool // it begins the text after the piece that asks
}

// The limits of blocks, in bytes. A longer block is not used, but its pieces are.
const (
	maxPiece     = 900  // of a sentence that may be quoted alone
	maxParagraph = 700  // of the answer below a question
	maxList      = 2400 // of a list with the text that leads to it
)

// pieces returns the pieces of a passage, in order.
func pieces(p *llm.Passage) []piece {
	s := p.Text
	all := spans(s)
	out := make([]piece, len(all))
	small := smallLetters(s, all)
	headings := append(slices.Clip(p.Headings), p.Title)
	for i, sp := range all {
		q := &out[i]
		q.Span = sp
		q.item = isItem(s, sp.Start)
		q.kind = kindOf(s[sp.Start:sp.End], headings, small || q.item)
		if q.item && (q.kind == heading || q.kind == label) {
			q.kind = statement
		}
		q.after = i > 0 && !strings.Contains(s[all[i-1].End:sp.Start], "\n\n")
		q.leans = i > 0 && (q.after || out[i-1].kind != heading) && leans(s[sp.Start:sp.End])
		if q.kind == fragment && !q.after && isWhole(s[sp.Start:sp.End]) && begins(p, out[:i], s[:sp.Start]) {
			q.kind = statement
		}
	}
	markQuestions(s, out)
	markAnnouncements(s, out)
	markContents(s, out)
	markEntries(s, out)
	markHeadings(s, out)
	return out
}

// begins reports whether the text after these pieces can begin a sentence: at the beginning of the document, after a heading, or
// after a finished piece.
func begins(p *llm.Passage, before []piece, text string) bool {
	if len(before) == 0 {
		return p.Part == 0 && p.Parts > 0
	}
	last := before[len(before)-1].kind
	return last == heading || last != fragment && !unfinished(text)
}

// maxAsking is how many sentences of a paragraph may ask together.
const maxAsking = 4

// markQuestions marks the sentences that lead to a question in its own paragraph as part of it: "I deleted much. Why is the file
// no smaller?" is one question. If the answer is in the same paragraph, this applies only to sentences in the line of the
// question.
func markQuestions(s string, all []piece) {
	for i := range all {
		inLine := i+1 < len(all) && all[i+1].after
		if all[i].kind != question || inLine && !broken(s, all, i+1) {
			continue
		}
		first := i
		for first > 0 && all[first].after && (quotable(all[first-1]) || all[first-1].kind == label) && !all[first-1].item &&
			(!inLine || !broken(s, all, first)) {
			first--
		}
		if i-first >= maxAsking || i+1 == len(all) {
			continue
		}
		for j := first; j < i; j++ {
			all[j].kind = question
		}
	}
}

// broken reports whether a line break stands before a piece.
func broken(s string, all []piece, i int) bool {
	return i > 0 && strings.Contains(s[all[i-1].End:all[i].Start], "\n")
}

// announcing matches sentences that announce a list without ending in a colon: "These steps must be done."
var announcing = lazyregexp.New(`(?i)(?:^|[^\pL])(?:(?:the )?following|as follows|below|these (?:\pL+ ){0,3}(?:steps|things|documents|items|conditions|requirements|rules|points|options|cases|tasks|tools|ways|types|kinds|reasons)` +
	`|folgende[nrsm]?|wie folgt|diese[nr]? (?:\pL+ )?(?:schritte|punkte|unterlagen|bedingungen|voraussetzungen|regeln)|suivante?s?|ci-dessous|siguientes?|a continuación|seguenti?|seguintes?|abaixo)(?:[^\pL]|$)|以下|下列|如下`)

// markAnnouncements marks sentences that announce the list after them.
func markAnnouncements(s string, all []piece) {
	for i := range all[:max(0, len(all)-1)] {
		q := &all[i]
		if q.kind == statement && !q.item && all[i+1].item && announcing.MatchString(s[q.Start:q.End]) {
			q.kind = lends
		}
	}
}

// minContents is the least number of items of a table of contents. A list is one if half of its items are questions.
const minContents = 3

// howTo matches titles of instructions, as contents list them: "How to request leave".
var howTo = lazyregexp.New(`(?i)^(?:[-*•·–] |\d+[.)] )?how to [^.!:]*$`)

// seeAlso matches headings of lists of other pages.
var seeAlso = lazyregexp.New(`(?i)^(?:[\d.]+ )?(?:see also|related (?:topics|pages|articles|links)|siehe auch|voir aussi|véase también|vedi anche|ver(?: e)? también|ver também|veja também|另请参阅|参见|関連項目)[:：]?$`)

// markContents marks lists of questions, of titles or of other pages, which answer nothing.
func markContents(s string, all []piece) {
	for i := 0; i < len(all); i++ {
		end, asking := i, 0
		for end < len(all) && all[end].item {
			if all[end].kind == question || howTo.MatchString(s[all[end].Start:all[end].End]) {
				asking++
			}
			end++
		}
		links := i > 0 && seeAlso.MatchString(s[all[i-1].Start:all[i-1].End])
		if links && all[i-1].kind == lends {
			all[i-1].kind = fragment
		}
		if links || end-i >= minContents && 2*asking >= end-i {
			for j := i; j < end; j++ {
				all[j].kind = fragment
			}
		}
		i = max(i, end-1)
	}
}

// contentsEntry matches an entry of a table of contents: the number of a section, its heading and a page.
var contentsEntry = lazyregexp.New(`^(?:\d+|[A-Z])((?:\.\d+)*)\.?\s[^\n]*\pL[^\n]*\s(\d{1,4})$`)

// markEntries marks entries of a table of contents: at least two in a row with ascending page numbers, one of them of a
// subsection.
func markEntries(s string, all []piece) {
	for i := 0; i < len(all); i++ {
		end, page, part := i, 0, false
		for ; end < len(all); end++ {
			m := contentsEntry.FindStringSubmatch(s[all[end].Start:all[end].End])
			if m == nil {
				break
			}
			on, _ := strconv.Atoi(m[2])
			if on < page {
				break
			}
			page, part = on, part || m[1] != ""
		}
		if part && end-i >= 2 {
			for j := i; j < end; j++ {
				all[j].kind = fragment
			}
		}
		i = max(i, end-1)
	}
}

// markHeadings marks pieces as headings that stand alone above a paragraph, without a full stop, though they look like the only
// item of a list, "4. Canteen prices", or like a label, "Where to".
func markHeadings(s string, all []piece) {
	for i := range all {
		q := &all[i]
		text := s[q.Start:q.End]
		last, _ := utf8.DecodeLastRuneInString(text)
		looks := q.kind == statement && q.item && (i == 0 || !all[i-1].item) || q.kind == label && !q.item
		whole := !q.after && (unicode.IsLetter(last) || unicode.IsDigit(last)) && !strings.ContainsAny(text, "\n;|")
		if !looks || !whole || len(strings.Fields(text)) > maxHeading {
			continue
		}
		switch {
		case q.kind == label && i > 0 && all[i-1].kind == heading && isCommand(text):
			q.kind = fragment // a command below its heading
		case i+1 < len(all) && !all[i+1].after && !all[i+1].item:
			q.kind, q.item = heading, false
		}
	}
}

// smallLetters reports whether the sentences of a text begin without capitals, as in notes: a small letter then does not show
// that a piece continues a sentence from elsewhere.
func smallLetters(s string, all []text.Span) bool {
	small, others := 0, 0
	for _, sp := range all {
		switch r, _ := utf8.DecodeRuneInString(s[sp.Start:]); {
		case isItem(s, sp.Start):
		case unicode.IsLower(r):
			small++
		case unicode.IsUpper(r):
			others++
		}
	}
	return small >= others
}

// blocks returns the blocks of a passage: each statement with the statements that it depends on, each list with the text that
// leads to it, and the text below a question.
func blocks(p *llm.Passage, all []piece) []block {
	var out []block
	known := make(map[[2]int]bool)
	add := func(b block, limit int) {
		if span := [2]int{b.first, b.last}; all[b.last].End-all[b.first].Start <= limit && !known[span] {
			known[span] = true
			out = append(out, b)
		}
	}
	lead, asked, askedAt := -1, -1, -1
	for i := range all {
		q := &all[i]
		s := p.Text[q.Start:q.End]
		switch {
		case q.kind == question:
			if asked < 0 || asked != i-1 || !q.after { // else the question continues
				asked = i
			}
			askedAt, lead = i, -1
			continue
		case q.kind == heading:
			asked, askedAt, lead = -1, -1, i
			if asks(q.kind, s) {
				asked, askedAt = i, i
			}
			continue
		case q.kind == lends:
			lead = i
			switch listed := listAfter(all, i+1); {
			case listed > i+1:
				add(block{first: i, last: listed - 1, lead: i, asked: asked, list: true}, maxList)
			case i+1 < len(all) && quotable(all[i+1]):
				add(block{first: i, last: i + 1, lead: i, asked: asked}, maxParagraph)
			case i+1 < len(all) && !all[i+1].after && isCode(p.Text[all[i+1].Start:all[i+1].End]):
				add(block{first: i, last: i + 1, lead: i, asked: asked, list: true}, maxParagraph)
			}
			continue
		case !q.item && lead >= 0 && (all[lead].kind == lends || !q.after):
			if all[lead].kind == lends {
				lead = -1
			}
		}
		if q.kind == fragment && i > 0 && (i-1 == lead || i-1 == asked) && !q.after && isCommand(s) {
			add(block{first: i, last: i, lead: lead, asked: asked, direct: askedAt == i-1}, maxParagraph)
		}
		if q.kind == fragment || q.kind == label && asked != i-1 && !isShortSentence(s) {
			continue
		}
		b := block{first: i, last: i, lead: lead, asked: asked, direct: askedAt == i-1 && i > 0}
		for b.first > 0 && all[b.first].leans && all[b.first].after && quotable(all[b.first-1]) && b.last-b.first < 2 {
			b.first--
		}
		add(b, maxPiece)
		if goesOn := i + 1; goesOn < len(all) && all[goesOn].leans && all[goesOn].after && quotable(all[goesOn]) && !q.item {
			on := b
			on.last = goesOn
			add(on, maxPiece)
		}
		if b.direct {
			end, section := i, all[askedAt].kind == heading
			for end+1 < len(all) && (section || all[end+1].after) && quotable(all[end+1]) {
				end++
			}
			if end > i {
				below := b
				below.last = end
				add(below, maxParagraph)
			}
		}
		if q.item && (i == 0 || !all[i-1].item) && (lead < 0 || all[lead].kind != lends) {
			if end := listAfter(all, i); end > i+1 {
				add(block{first: i, last: end - 1, lead: lead, asked: asked, list: true, direct: b.direct}, maxList)
			}
		}
	}
	return out
}

// isCode reports whether a sentence leads to a command or other code: "pip install seaborn".
func isCode(s string) bool {
	first, _ := utf8.DecodeRuneInString(s)
	return first < utf8.RuneSelf && !strings.HasSuffix(s, ".") && !strings.HasSuffix(s, ":") && !strings.HasSuffix(s, "?") &&
		(strings.ContainsAny(s, "_=(){}[]<>$\\`;@") || !unicode.IsUpper(first) && !unicode.IsDigit(first))
}

// isCommand reports whether a text is code of several words: "brew install tree".
func isCommand(s string) bool { return isCode(s) && strings.Contains(s, " ") }

// isShortSentence reports whether a label may be a short sentence: "Dutch law applies."
func isShortSentence(s string) bool {
	first, _ := utf8.DecodeRuneInString(s)
	return unicode.IsUpper(first) && strings.HasSuffix(s, ".") && strings.Count(s, " ") >= 2
}

func quotable(q piece) bool { return q.kind == statement }

// listAfter returns the end of the list that begins at a piece.
func listAfter(all []piece, from int) int {
	end := from
	for end < len(all) && all[end].item && all[end].kind != heading {
		end++
		for end < len(all) && !all[end].item && all[end].after && all[end].kind == statement && end+1 < len(all) && all[end+1].item && all[end+1].after {
			end++ // a further sentence of an item
		}
	}
	for end > from && all[end-1].kind == lends {
		end-- // it introduces something outside the list
	}
	return end
}

// trimLabel returns where the text after the label of an answer starts: "A: Yes."
func trimLabel(s string, start, end int) int {
	if m := answerLabel.FindStringIndex(s[start:end]); m != nil && start+m[1] < end {
		return start + m[1]
	}
	return start
}
