package pdf

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"parley/internal/extract"
	"parley/internal/extract/compose"
)

// untaggedBlocks makes blocks of lines by how they stand on the page: rows of tables first, then
// groups of lines that are set alike and close together, then the paragraphs in them. More says
// that the page goes on after the lines.
func (l *pdfLayout) untaggedBlocks(lines []pdfLine, more bool) []pdfBlock {
	var blocks []pdfBlock
	from := 0
	for i := 0; i < len(lines); {
		n := tableLength(lines[i:])
		if n == 0 {
			i++
			continue
		}
		blocks = append(blocks, l.textBlocks(lines[from:i], true)...)
		for j := i; j < i+n; j++ {
			kind := extract.TableRow
			if j == i && lines[i].bold && !lines[i+1].bold {
				kind = extract.TableHeader
			}
			blocks = append(blocks, pdfBlock{kind: kind, lines: lines[j : j+1]})
		}
		i += n
		from = i
	}
	return append(blocks, l.textBlocks(lines[from:], more)...)
}

// tableLength is the number of lines, from the first on, that are rows of one table: each has a
// wide gap, and a column in common with the line above it or as many gaps. It is 0 for fewer than
// three rows, or two with two gaps: those happen by chance.
func tableLength(lines []pdfLine) int {
	n := 0
	for n < len(lines) && len(lines[n].gaps) > 0 && !lines[n].rtl && (n == 0 || sameColumns(&lines[n-1], &lines[n])) {
		n++
	}
	if n >= 3 || n == 2 && len(lines[0].gaps) > 1 && len(lines[1].gaps) > 1 {
		return n
	}
	return 0
}

// sameColumns reports whether two lines can be rows of one table: cells start at the same place,
// figures end there, as they do in columns that are set to the right, or both have several gaps.
func sameColumns(above, line *pdfLine) bool {
	if step := above.base - line.base; step <= 0 || step > 4*line.size {
		return false
	}
	near := .6 * line.size
	for i, a := range above.gaps {
		for j, b := range line.gaps {
			if abs(a.x-b.x) < near || abs(above.cellRight(i)-line.cellRight(j)) < near && above.isFigure(i) && line.isFigure(j) {
				return true
			}
		}
	}
	return len(above.gaps) == len(line.gaps) && len(line.gaps) > 1
}

// cellRight is where the text between a gap and the next ends.
func (l *pdfLine) cellRight(gap int) float32 {
	if gap+1 < len(l.gaps) {
		return l.gaps[gap+1].from
	}
	return l.right
}

// isFigure reports whether that text is a number or a sign that stands for one. Words do not count:
// those of justified prose end at the same place too.
func (l *pdfLine) isFigure(gap int) bool {
	from, to := l.Offset(l.gaps[gap].char), len(l.Text)
	if gap+1 < len(l.gaps) {
		to = l.Offset(l.gaps[gap+1].char)
	}
	return from < to && !bytes.ContainsFunc(l.Text[from:to], unicode.IsLetter)
}

// textBlocks makes blocks of lines that are not in a table.
func (l *pdfLayout) textBlocks(lines []pdfLine, more bool) []pdfBlock {
	var groups [][]pdfLine
	for i := range lines {
		if i > 0 && l.sameGroup(&lines[i-1], &lines[i]) {
			groups[len(groups)-1] = append(groups[len(groups)-1], lines[i])
		} else {
			groups = append(groups, lines[i:i+1:i+1])
		}
	}
	var blocks []pdfBlock
	for i, group := range groups {
		if level := l.headingLevel(group); level > 0 && (more || i+1 < len(groups) || group[0].size > l.body) {
			blocks = append(blocks, pdfBlock{extract.Heading, level, group})
			continue
		}
		blocks = append(blocks, l.paragraphs(group)...)
	}
	return blocks
}

// sameGroup reports whether a line is set like the one before it and stands close below it.
func (l *pdfLayout) sameGroup(line, next *pdfLine) bool {
	if line.size == 0 || math.Abs(float64(line.size-next.size)) > .08*float64(line.size) {
		return false
	}
	// A bold line above plain ones is a heading that runs in; a bold end of a sentence is not.
	if line.bold != next.bold && (line.bold || len(next.Text) > 20) && !endsMidSentence(line.Text) {
		return false
	}
	if next.right < line.left || next.left > line.right {
		return false
	}
	return l.closeTo(line, next)
}

func endsMidSentence(text []byte) bool {
	last, _ := utf8.DecodeLastRune(text)
	return last == ',' || last == '-'
}

// headingLevel is the level of a heading that a group of lines makes, 0 for none. A heading is
// short, does not end like a sentence, and is larger or bolder than the body, or in capitals.
func (l *pdfLayout) headingLevel(group []pdfLine) int {
	const maxLines, maxBytes = 3, 160
	length, letters := 0, 0
	for _, line := range group {
		length += len(line.Text)
		for _, r := range string(line.Text) {
			if unicode.IsLetter(r) {
				letters++
			}
		}
	}
	first, last := group[0], group[len(group)-1]
	end, _ := utf8.DecodeLastRune(last.Text)
	if len(group) > maxLines || length > maxBytes || letters < 2 || strings.ContainsRune(".,;:。、，；：", end) || isBullet(string(first.Text)) {
		return 0
	}
	if rank := slices.Index(l.sizes, first.size); rank >= 0 {
		if level := l.levels[first.size]; level > 0 {
			return level
		}
		return min(rank+1, 6)
	}
	capitals := len(l.levels) == 0 && len(group) == 1 && letters >= 6 && compose.IsCapitals(string(first.Text))
	if first.size >= l.body && (first.bold && !l.boldBody || capitals) {
		return min(max(len(l.sizes)+1, 2), 6)
	}
	return 0
}

// paragraphs parts a group at bullets and numbers, at first lines that are indented, and after
// lines that end short with the end of a sentence.
func (l *pdfLayout) paragraphs(group []pdfLine) []pdfBlock {
	var blocks []pdfBlock
	for i, line := range group {
		marker := l.startsItem(group, i)
		if i == 0 || marker || l.startsParagraph(group, i, blocks[len(blocks)-1].kind) {
			kind := extract.Paragraph
			if marker {
				kind = extract.ListItem
			}
			blocks = append(blocks, pdfBlock{kind: kind})
		}
		b := &blocks[len(blocks)-1]
		b.lines = append(b.lines, line)
	}
	return blocks
}

// startsItem reports whether a line starts an item of a list. A dash or number at the start of a
// line may just as well go on with the sentence of the line before it.
func (l *pdfLayout) startsItem(group []pdfLine, i int) bool {
	text := string(group[i].Text)
	if compose.ListMarker(text) == 0 {
		return false
	}
	if i == 0 || isBullet(text) || endsSentence(group[i-1].Text) || l.endsShort(group, i-1) {
		return true
	}
	number := leadingNumber(text)
	for j := i - 1; j >= 0 && number > 1; j-- {
		if before := leadingNumber(string(group[j].Text)); before > 0 {
			return number == before+1
		}
	}
	return false
}

func leadingNumber(s string) int {
	n, _ := strconv.Atoi(strings.TrimRight(strings.TrimLeft(s[:compose.ListMarker(s)], "("), ".) \t"))
	return n
}

func endsSentence(text []byte) bool {
	last, _ := utf8.DecodeLastRune(text)
	return strings.ContainsRune(".!?:;…”\")»。！？：」』؟۔।", last)
}

func (l *pdfLayout) startsParagraph(group []pdfLine, i int, current extract.Kind) bool {
	ended := endsSentence(group[i-1].Text)
	first, _ := utf8.DecodeRune(group[i].Text)
	if ended && !unicode.IsLower(first) && l.endsShort(group, i-1) {
		return true
	}
	if current == extract.ListItem || group[i].rtl {
		return false
	}
	margin := group[0].left
	for _, line := range group {
		margin = min(margin, line.left)
	}
	indent := .8 * group[i].size
	indented := group[i].left-margin > indent && group[i-1].left-margin < indent
	if i+1 < len(group) {
		return indented && group[i+1].left-margin < indent
	}
	return indented && ended
}

// promoteTitles makes headings of those that differ from the text in their wording only: a line
// in title case, without a full stop, right above the paragraph it stands over.
func (l *pdfLayout) promoteTitles(blocks []pdfBlock) {
	deepest := 0
	for _, level := range l.levels {
		deepest = max(deepest, level)
	}
	if deepest == 0 {
		deepest = len(l.sizes)
	}
	for i := range len(blocks) - 1 {
		b, next := &blocks[i], &blocks[i+1]
		if b.kind != extract.Paragraph || len(b.lines) != 1 || next.kind != extract.Paragraph && next.kind != extract.ListItem {
			continue
		}
		line, below := &b.lines[0], &next.lines[0]
		step := line.base - below.base
		over := step > 0 && step < 3*line.size && math.Abs(float64(line.left-below.left)) < 2*float64(line.size)
		if over && line.size >= below.size && len(below.Text) > len(line.Text) && isTitleCase(string(line.Text)) {
			b.kind, b.level = extract.Heading, min(deepest+1, 6)
		}
	}
}

// isTitleCase holds for up to eight words, the first and all longer ones of which start with a
// capital, without a mark at the end.
func isTitleCase(s string) bool {
	words := strings.Fields(s)
	if len(words) == 0 || len(words) > 8 || len(s) > 70 || compose.ListMarker(s) > 0 {
		return false
	}
	for i, word := range words {
		first, _ := utf8.DecodeRuneInString(word)
		if (i == 0 || utf8.RuneCountInString(word) > 3) && !unicode.IsUpper(first) && first != '(' {
			return false
		}
	}
	last, _ := utf8.DecodeLastRuneInString(s)
	return unicode.IsLetter(last) || unicode.IsDigit(last) || last == ')' || last == '?'
}
