package pdf

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"parley/internal/extract"
	"parley/internal/extract/compose"
)

// untaggedBlocks makes blocks of lines by their positions on the page: first tables, then groups of similar lines that are
// close together, then the paragraphs in these. more says that the page continues after the lines.
func (l *pdfLayout) untaggedBlocks(lines []pdfLine, more bool) []pdfBlock {
	var blocks []pdfBlock
	strips := stripsOf(inRows(lines))
	for at := 0; ; {
		t, from, to := findTable(strips, at)
		if to == 0 {
			return append(blocks, l.textBlocks(linesOf(strips[at:]), more)...)
		}
		blocks = append(blocks, l.textBlocks(linesOf(strips[at:from]), true)...)
		for at = to; ; at = to {
			var next table
			if next, from, to = findTable(strips, at); to == 0 || !t.goesOnAs(&next, strips[at:from]) {
				break
			}
			t.goOn(&next, strips[at:from])
		}
		if late := t.lateHead(strips[at:]); late >= 0 {
			t.putHead(strips[at+late])
			strips = slices.Delete(strips, at+late, at+late+1)
		}
		blocks = append(blocks, t.blocks()...)
	}
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
			blocks = append(blocks, pdfBlock{kind: extract.Heading, level: level, lines: group})
			continue
		}
		blocks = append(blocks, l.paragraphs(group)...)
	}
	return blocks
}

// sameGroup reports whether next is set like line and is close below it.
func (l *pdfLayout) sameGroup(line, next *pdfLine) bool {
	if line.size == 0 || math.Abs(float64(line.size-next.size)) > .08*float64(line.size) {
		return false
	}
	// A bold line above plain ones is a run-in heading, unless a sentence ends in it.
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

// headingLevel returns the level of a group of lines as a heading, or 0 if it is not one. A heading is short, does not end
// like a sentence, and is larger or bolder than the body, or in capitals.
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

// paragraphs splits a group before bullets, numbers and indented first lines, and after short lines that end a sentence.
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

// startsItem reports whether a line starts an item of a list. A dash or number at the start of a line may also continue the
// sentence of the line before.
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

// promoteTitles finds headings that only their wording tells from the text: a line in title case, without a full stop,
// directly above a paragraph.
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

// isTitleCase reports whether a text has up to eight words, of which the first and all longer ones start with a capital, and
// no punctuation at its end.
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
