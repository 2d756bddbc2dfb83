package ingest

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"parley/internal/extract"
	"parley/internal/text"
)

// joint is the kind of border between a unit and the previous one.
type joint uint8

const (
	jointWord      joint = iota // a cut within a sentence, row or line that was too long
	jointLine                   // a line of code, or of text without sentences
	jointSentence               // a sentence of the same block
	jointRow                    // a row of the same table
	jointItem                   // an item of the same list
	jointBlock                  // a new paragraph, list, table or block of code
	jointHeading                // a new section
	jointGlue                   // the unit that a heading or a table's header row introduces
	jointPage                   // a new page
	jointContinued              // a sentence that began on the previous page
	jointTail                   // the rest of a paragraph or list that began on the previous page
)

// unit is the smallest piece that stays whole in a chunk: a sentence, a row, a heading, a block of code.
// Units ascend, do not overlap, and cover every word of every page.
type unit struct {
	page       int32 // index in Document.Pages
	start, end int32 // in the page's text, without white space around
	runes      int32
	gap        int32 // characters between it and the previous unit in a chunk that contains both
	tokens     int32
	path       int32 // index in splitter.paths
	table      int32 // index in splitter.tables of the header to repeat, or -1
	kind       extract.Kind
	joint      joint
}

// header is a table's header row, or several of them.
type header struct {
	page       int32
	start, end int32
	runes      int32
	tokens     int32
}

// splitter is the state of splitting one document.
type splitter struct {
	opts   SplitOptions
	pages  []extract.Page
	units  []unit
	paths  [][]string // heading paths; paths[0] is empty
	levels []int      // levels of the headings of the current path
	tables []header
	table  int32 // the open table, or -1
	runes  []int // number of characters in the units of each page
}

// readUnits cuts all pages into units.
func (s *splitter) readUnits() {
	s.paths = [][]string{nil}
	s.table = -1
	s.runes = make([]int, len(s.pages))
	for p := range s.pages {
		text, at := s.pages[p].Text, 0
		for _, b := range s.pages[p].Blocks {
			start, end := min(max(b.Start, at), len(text)), min(b.End, len(text))
			if end <= start {
				continue
			}
			// Words outside of the blocks break extract's contract, but must not get lost.
			s.readBlock(p, extract.Block{Start: at, End: start})
			s.readBlock(p, extract.Block{Kind: b.Kind, Level: b.Level, Start: start, End: end})
			at = end
		}
		s.readBlock(p, extract.Block{Start: at, End: len(text)})
	}
	s.joinPages()
}

// readBlock appends the units of one block.
func (s *splitter) readBlock(p int, b extract.Block) {
	body := s.pages[p].Text
	span, ok := text.Trim(body, b.Start, b.End)
	if !ok {
		return
	}
	if b.Kind != extract.TableRow {
		if b.Kind != extract.TableHeader || len(s.units) == 0 || s.last().kind != extract.TableHeader {
			s.table = -1
		}
	}
	first := len(s.units)
	switch b.Kind {
	case extract.Heading:
		s.pushHeading(body[span.Start:span.End], b.Level)
		s.add(p, span, b, jointHeading)
	case extract.TableHeader:
		s.add(p, span, b, jointBlock)
		s.openTable(p, span)
	case extract.TableRow:
		s.add(p, span, b, jointRow)
	case extract.Code:
		s.addCode(p, span, b)
	default:
		s.addSentences(p, span, b)
	}
	s.setFirstJoint(first)
}

// setFirstJoint corrects the joint of a block's first unit according to the unit before it.
func (s *splitter) setFirstJoint(first int) {
	if first == 0 {
		return
	}
	u, before := &s.units[first], s.units[first-1]
	switch {
	case before.kind == extract.Heading:
		u.joint = jointGlue
	case u.page != before.page:
		u.joint = jointPage
	case u.kind == extract.Heading:
		u.joint = jointHeading
	case before.kind == extract.TableHeader &&
		(u.kind == extract.TableHeader || u.kind == extract.TableRow):
		u.joint = jointGlue
	case u.kind == extract.TableRow && before.kind == extract.TableRow:
		u.joint = jointRow
	case u.kind == extract.ListItem && before.kind == extract.ListItem:
		u.joint = jointItem
	default:
		u.joint = jointBlock
	}
}

func (s *splitter) last() unit { return s.units[len(s.units)-1] }

// maxHeading limits the characters of a heading in the path.
const maxHeading = 200

// pushHeading sets the current path.
func (s *splitter) pushHeading(text string, level int) {
	path, level := s.paths[len(s.paths)-1], max(level, 1)
	depth := len(s.levels)
	for depth > 0 && s.levels[depth-1] >= level {
		depth--
	}
	s.levels = append(s.levels[:depth], level)
	title := strings.Join(strings.Fields(text), " ")
	if utf8.RuneCountInString(title) > maxHeading {
		title = string([]rune(title)[:maxHeading])
	}
	s.paths = append(s.paths, append(path[:depth:depth], title))
}

// openTable records the header row that later chunks of a table repeat, unless it takes more than a
// quarter of a chunk.
func (s *splitter) openTable(p int, span text.Span) {
	h := header{page: int32(p), start: int32(span.Start), end: int32(span.End)}
	if s.table >= 0 {
		h = s.tables[s.table]
		if h.page != int32(p) {
			return
		}
		h.end = int32(span.End)
	}
	text := s.pages[p].Text[h.start:h.end]
	h.runes = int32(utf8.RuneCountInString(text))
	h.tokens = int32(countTokens(text))
	if s.table >= 0 {
		s.tables[s.table] = h
		return
	}
	s.tables = append(s.tables, h)
	s.table = int32(len(s.tables) - 1)
}

// addSentences appends a unit for each sentence. A long text with lines but without sentences, such as a
// table of contents or a poem, is cut at its lines.
func (s *splitter) addSentences(p int, span text.Span, b extract.Block) {
	body := s.pages[p].Text
	for _, sen := range text.Sentences(body[span.Start:span.End]) {
		sen = text.Span{Start: span.Start + sen.Start, End: span.Start + sen.End}
		sentence := body[sen.Start:sen.End]
		if !strings.Contains(sentence, "\n") || utf8.RuneCountInString(sentence) <= s.opts.Size/2 {
			s.add(p, sen, b, jointSentence)
			continue
		}
		s.addLines(p, sen, b, jointSentence)
	}
}

// addCode appends a block of code as one unit if it fits, and otherwise line by line.
func (s *splitter) addCode(p int, span text.Span, b extract.Block) {
	if s.fits(s.pages[p].Text[span.Start:span.End]) {
		s.add(p, span, b, jointBlock)
		return
	}
	s.addLines(p, span, b, jointBlock)
}

// maxIndent is the maximum number of bytes of indentation of a line of code.
const maxIndent = 100

// addLines appends a unit for each line. first is the joint of the first one.
func (s *splitter) addLines(p int, span text.Span, b extract.Block, first joint) {
	body := s.pages[p].Text
	for at := span.Start; at < span.End; {
		end := span.End
		if i := strings.IndexByte(body[at:span.End], '\n'); i >= 0 {
			end = at + i + 1
		}
		if words, ok := text.Trim(body, at, end); ok {
			line := text.Span{Start: at, End: words.End}
			// Indentation is part of code, up to a limit.
			if b.Kind != extract.Code || words.Start-at > maxIndent {
				line = words
			}
			s.add(p, line, b, first)
			first = jointLine
		}
		at = end
	}
}

// add appends one unit, or several if it is too long for a chunk.
func (s *splitter) add(p int, span text.Span, b extract.Block, j joint) {
	body := s.pages[p].Text
	for span.Start < span.End {
		end := span.Start + s.prefix(body[span.Start:span.End])
		piece := body[span.Start:end]
		u := unit{
			page: int32(p), start: int32(span.Start), end: int32(end),
			runes:  int32(utf8.RuneCountInString(piece)),
			tokens: int32(countTokens(piece)),
			path:   int32(len(s.paths) - 1), table: -1,
			kind: b.Kind, joint: j,
		}
		if b.Kind == extract.TableRow {
			u.table = s.table
		}
		u.gap = 1
		if len(s.units) > 0 && s.last().page == u.page {
			u.gap = int32(utf8.RuneCountInString(body[s.last().end:u.start]))
		}
		s.units = append(s.units, u)
		s.runes[p] += int(u.runes)
		rest, ok := text.Trim(body, end, span.End)
		if !ok {
			return
		}
		span, j = rest, jointWord
	}
}

// fits reports whether text fits into one chunk.
func (s *splitter) fits(text string) bool {
	limit := s.opts.limit()
	return len(text) <= limit*utf8.UTFMax && utf8.RuneCountInString(text) <= limit &&
		(len(text) <= s.opts.Tokens || countTokens(text) <= s.opts.Tokens) // no token is shorter than a byte
}

// prefix returns how many bytes of text go into one unit: all of it if it fits, else as much as fits, up
// to a line break, a clause or white space in its second half, without white space at its end. The
// result is at least one character.
func (s *splitter) prefix(text string) int {
	if s.fits(text) {
		return len(text)
	}
	n := runeOffset(text, s.opts.Size)
	for {
		tokens := countTokens(text[:n])
		if tokens <= s.opts.Tokens {
			break
		}
		shorter := runeStart(text, n*s.opts.Tokens/tokens)
		if shorter >= n || shorter == 0 {
			shorter = runeStart(text, n-1)
		}
		if shorter == 0 {
			_, n = utf8.DecodeRuneInString(text)
			return n
		}
		n = shorter
	}
	if n == len(text) {
		return n
	}
	cut := len(strings.TrimRightFunc(text[:lastBreak(text[:n])], unicode.IsSpace))
	if cut == 0 {
		return n
	}
	return cut
}

// lastBreak returns the best place for a cut in the second half of text, or its end if there is none.
func lastBreak(text string) int {
	half := runeStart(text, len(text)/2)
	tail := text[half:]
	if i := strings.LastIndexByte(tail, '\n'); i >= 0 {
		return half + i + 1
	}
	for _, set := range []string{".;!?。；！？", ",:，、：|", " \t\u00a0\u3000"} {
		i := strings.LastIndexAny(tail, set)
		for i >= 0 {
			r, n := utf8.DecodeRuneInString(tail[i:])
			// A full stop within a number or a name does not count, unless its script writes no spaces.
			if r > unicode.MaxLatin1 || unicode.IsSpace(r) ||
				i+n < len(tail) && (tail[i+n] == ' ' || tail[i+n] == '\n') {
				return half + i + n
			}
			i = strings.LastIndexAny(tail[:i], set)
		}
	}
	return len(text)
}

// runeOffset returns the byte offset of the n-th character, or the length of text.
func runeOffset(text string, n int) int {
	for i := range text {
		if n == 0 {
			return i
		}
		n--
	}
	return len(text)
}

// runeStart returns the last start of a character at or before byte n.
func runeStart(text string, n int) int {
	if n >= len(text) {
		return len(text)
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return n
}
