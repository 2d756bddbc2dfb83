package pdf

import (
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"parley/internal/extract"
	"parley/internal/extract/codepage"
	"parley/internal/extract/compose"
)

// pdfLayout makes blocks of lines. It holds facts about the typography of the whole document.
type pdfLayout struct {
	words    *pdfWords
	body     float32             // size of most of the text
	boldBody bool                // most of the text is bold
	leading  map[float32]float32 // usual distance of baselines by size
	sizes    []float32           // of headings, falling
	levels   map[float32]int     // levels of the headings that structure tags name, by size
}

func newPDFLayout(pages []*pdfPage) *pdfLayout {
	l := &pdfLayout{words: newPDFWords(pages), leading: map[float32]float32{}, levels: map[float32]int{}}
	chars := map[float32]int{}
	steps := map[float32]map[float32]int{}
	bold, total := 0, 0
	for _, p := range pages {
		for i := range p.lines {
			line := &p.lines[i]
			chars[line.size] += len(line.Text)
			total += len(line.Text)
			if line.bold {
				bold += len(line.Text)
			}
			if level := line.element.level; level > 0 && (l.levels[line.size] == 0 || level < l.levels[line.size]) {
				l.levels[line.size] = level
			}
			if i > 0 && p.lines[i-1].size == line.size {
				step := float32(math.Round(float64(p.lines[i-1].base-line.base)*2) / 2)
				if step > line.size*.8 && step < line.size*3 {
					if steps[line.size] == nil {
						steps[line.size] = map[float32]int{}
					}
					steps[line.size][step]++
				}
			}
		}
	}
	l.body = mode(chars)
	l.boldBody = bold*2 > total
	for size, counts := range steps {
		l.leading[size] = mode(counts)
	}
	l.sizes = headingSizes(pages, l.body)
	return l
}

// mode returns the key with the highest count, the smallest one if there are several.
func mode(counts map[float32]int) float32 {
	best, most := float32(0), 0
	for k, n := range counts {
		if n > most || n == most && k < best {
			best, most = k, n
		}
	}
	return best
}

// headingSizes returns the sizes that are clearly larger than the body type.
func headingSizes(pages []*pdfPage, body float32) []float32 {
	var sizes []float32
	for _, p := range pages {
		for _, line := range p.lines {
			if line.size >= body*1.12 && line.size >= body+1 && !slices.Contains(sizes, line.size) {
				sizes = append(sizes, line.size)
			}
		}
	}
	slices.Sort(sizes)
	slices.Reverse(sizes)
	return sizes
}

// pdfBlock is a block in the making.
type pdfBlock struct {
	kind  extract.Kind
	level int
	lines []pdfLine
	row   compose.Mapped // the text of a row that was found by its position; otherwise empty
}

// page appends the blocks of a page.
func (l *pdfLayout) page(p *pdfPage, out *compose.Builder) error {
	var blocks []pdfBlock
	useTags := isTagged(p)
	for i := 0; i < len(p.lines); {
		id := p.lines[i].element.id
		j := i + 1
		if g := p.lines[i].grid; g != nil {
			if !g.done {
				blocks = append(blocks, g.blocks(l.words, p.lines)...)
				g.done = true
			}
			i = j
			continue
		}
		for j < len(p.lines) && p.lines[j].grid == nil && (!useTags || p.lines[j].element.id == id) {
			j++
		}
		if useTags && id > 0 {
			blocks = append(blocks, l.taggedBlocks(p.lines[i:j], j < len(p.lines))...)
		} else {
			blocks = append(blocks, l.untaggedBlocks(p.lines[i:j], j < len(p.lines))...)
		}
		i = j
	}
	nameTaggedColumns(blocks)
	blocks = l.mergeContinued(blocks)
	l.promoteTitles(blocks)
	for _, b := range blocks {
		if err := out.AddMapped(b.kind, b.level, l.text(b)); err != nil {
			return err
		}
	}
	return nil
}

// isTagged reports whether structure elements cover enough of the page to be used.
func isTagged(p *pdfPage) bool {
	covered, total := 0, 0
	for _, line := range p.lines {
		total += len(line.Text)
		if line.element.id > 0 {
			covered += len(line.Text)
		}
	}
	return covered*10 >= total*7
}

// taggedBlocks makes blocks of one structure element. Authors use heading styles for their looks, and one paragraph with
// line breaks for a whole page, so a long heading is a paragraph, and a paragraph is treated like untagged text.
func (l *pdfLayout) taggedBlocks(lines []pdfLine, more bool) []pdfBlock {
	e := lines[0].element
	length := 0
	for _, line := range lines {
		length += len(line.Text)
	}
	switch {
	case e.kind == extract.Paragraph, e.kind == extract.Heading && length > 250:
		return l.textBlocks(lines, more)
	case e.kind == extract.ListItem:
		return splitItems(lines)
	case e.kind == extract.TableRow && !slices.ContainsFunc(lines, func(l pdfLine) bool { return !l.element.names }):
		return []pdfBlock{{kind: extract.TableHeader, lines: lines}}
	}
	return []pdfBlock{{kind: e.kind, level: e.level, lines: lines}}
}

// splitItems separates the list items in one element.
func splitItems(lines []pdfLine) []pdfBlock {
	var blocks []pdfBlock
	for i, line := range lines {
		if i == 0 || isBullet(string(line.Text)) {
			blocks = append(blocks, pdfBlock{kind: extract.ListItem})
		}
		b := &blocks[len(blocks)-1]
		b.lines = append(b.lines, line)
	}
	return blocks
}

func isBullet(s string) bool { return strings.HasPrefix(s, "•") }

// text joins the lines of a block.
func (l *pdfLayout) text(b pdfBlock) compose.Mapped {
	if len(b.row.Text) > 0 {
		return b.row
	}
	var out compose.Mapped
	out.Append(b.lines[0].Mapped)
	for i := 1; i < len(b.lines); i++ {
		before, line := &b.lines[i-1], b.lines[i]
		switch {
		case b.kind == extract.Code:
			out.Put("\n")
			out.Append(line.Mapped)
		case (b.kind == extract.TableRow || b.kind == extract.TableHeader) && before.element.cell != line.element.cell:
			out.Put(betweenCells(before.Text, line.Text))
			out.Append(line.Mapped)
		case b.kind == extract.Paragraph && l.endsShort(b.lines, i-1):
			out.Put("\n")
			out.Append(line.Mapped)
		default:
			l.words.join(&out, before, &line)
		}
	}
	return out
}

// endsShort reports whether line i ends on purpose: the first word of the next line would still have fitted.
func (l *pdfLayout) endsShort(lines []pdfLine, i int) bool {
	line, next := lines[i], lines[i+1]
	if line.base-next.base < line.size*.5 { // beside it or in another column
		return false
	}
	if bytesEndInHyphen(line.Text) && !spacedHyphen(line.Text) {
		return false
	}
	first, _ := utf8.DecodeRune(next.Text)
	word := next.first
	if codepage.Unspaced(first) {
		word = next.size
	}
	room := float32(0)
	if len(lines) < 3 { // too few to show where their lines end
		room = line.room
	}
	for _, other := range lines {
		if line.rtl {
			room = max(room, line.left-other.left)
		} else {
			room = max(room, other.right-line.right)
		}
	}
	return room > word+line.size
}

// mergeContinued joins paragraphs that bad tags or odd spacing cut in the middle of a sentence: the first ends without a
// full stop at the end of a full line, and the second begins with a small letter at the usual distance. The numbers along
// a chart become one paragraph.
func (l *pdfLayout) mergeContinued(blocks []pdfBlock) []pdfBlock {
	var out []pdfBlock
	for _, b := range blocks {
		if len(out) > 0 && b.kind == extract.Paragraph {
			before := &out[len(out)-1]
			joins := (before.kind == extract.Paragraph || before.kind == extract.ListItem) && l.continues(before.lines, b.lines)
			if joins || before.kind == extract.Paragraph && !hasLetters(before.lines) && !hasLetters(b.lines) {
				before.lines = append(slices.Clip(before.lines), b.lines...)
				continue
			}
		}
		out = append(out, b)
	}
	return out
}

func hasLetters(lines []pdfLine) bool {
	return slices.ContainsFunc(lines, func(l pdfLine) bool { return strings.ContainsFunc(string(l.Text), unicode.IsLetter) })
}

func (l *pdfLayout) continues(before, after []pdfLine) bool {
	line, next := before[len(before)-1], after[0]
	first, _ := utf8.DecodeRune(next.Text)
	last, _ := utf8.DecodeLastRune(line.Text)
	if !unicode.IsLower(first) || strings.ContainsRune(".!?:;", last) || line.size != next.size {
		return false
	}
	both := append(slices.Clip(before), after...)
	return l.closeTo(&line, &next) && !l.endsShort(both, len(before)-1)
}

// closeTo reports whether a line follows another at the distance of lines in a paragraph.
func (l *pdfLayout) closeTo(line, next *pdfLine) bool {
	leading := l.leading[line.size]
	if leading == 0 {
		leading = 1.25 * line.size
	}
	step := line.base - next.base
	return step > line.size*.5 && step <= leading*1.25+.5
}
