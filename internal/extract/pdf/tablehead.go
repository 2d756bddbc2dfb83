package pdf

import (
	"math"
	"slices"
	"strings"

	"parley/internal/extract"
	"parley/internal/extract/compose"
)

// firstStrip returns the first strip of the table. Above the first known row, it accepts the header, labels, and rows that
// are set so close that they were not recognised as rows. The cells of a header may be in any order, so only their
// positions count.
func (t *table) firstStrip(strips []strip, at, first int) int {
	if len(t.columns) == 0 {
		return first
	}
	const height = 9 // sizes of the type
	up := first
	below := strips[first].base
	for i := first - 1; i >= at && first-i <= maxHead; i-- {
		s := &strips[i]
		above := s.base - strips[first].base
		switch {
		case above < -.3*s.size || above > height*s.size || s.base-below > 3*s.size:
			return up
		case t.isHead(s) || s.isUnit():
			up = i
		case s.base > below && t.isRow(s):
			up = i
		case s.base <= below || !s.isLabel(strips[first:first+1]):
			return up
		}
		below = max(below, s.base)
	}
	return up
}

// inOrder sorts the lines of strips by their places.
func inOrder(strips []strip) []strip {
	lines := linesOf(strips)
	sortLines(lines)
	return stripsOf(lines)
}

// isUnit reports whether a strip gives the unit of all figures: "(in millions)".
func (s *strip) isUnit() bool {
	text := string(s.pieces[0].Text)
	return len(s.pieces) == 1 && len(text) < 80 && strings.HasPrefix(text, "(") && strings.HasSuffix(text, ")") && !s.pieces[0].figure
}

// isHead reports whether a strip can hold the names of the table's columns: each piece except the first is above
// figures, and no piece runs across the table like a line of prose.
func (t *table) isHead(s *strip) bool {
	if s.values() > 0 && !s.isYears() || s.size > 1.3*t.strips[0].size {
		return false
	}
	begin, end := t.columns[0].left-3*s.size, t.columns[len(t.columns)-1].right+3*s.size
	pieces := t.headPieces(s)
	if len(pieces) > len(t.columns)+2 {
		return false
	}
	over := 0
	for i, p := range pieces {
		switch {
		case p.left >= begin-3*s.size && p.right <= end && t.near(p, s.size):
			over++
		case p.right <= begin+3*s.size && i == 0:
		default:
			return false
		}
	}
	return over > 0
}

// near reports whether a piece is above the figures of a column, or close to that.
func (t *table) near(p piece, size float32) bool {
	return t.column(p.left-2*size, p.right+2*size) != -1
}

// headPieces cuts a strip at the gaps that separate columns, however narrow they are.
func (t *table) headPieces(s *strip) []piece {
	var pieces []piece
	for i := range s.lines {
		line := &s.lines[i]
		if line.rtl || len(line.words) > maxPieces {
			return s.pieces
		}
		from, left := 0, line.left
		for _, gap := range line.words {
			at := line.Offset(gap.char)
			if at <= from || at >= len(line.Text) || gap.x-gap.from < 1.5*line.size && !(gap.x-gap.from > .45*line.size && t.parts(left, gap)) {
				continue
			}
			pieces = append(pieces, piece{Mapped: line.Slice(from, at).Trim(), left: left, right: gap.from})
			from, left = at, gap.x
		}
		pieces = append(pieces, piece{Mapped: line.Slice(from, len(line.Text)).Trim(), left: left, right: line.right})
	}
	return pieces
}

// parts reports whether the text from left to a gap is above other columns than the text after the gap.
func (t *table) parts(left float32, gap pdfGap) bool {
	for _, c := range t.columns {
		middle := (c.left + c.right) / 2
		if middle > left && middle < gap.from {
			return true
		}
	}
	return t.columns[0].left > gap.from // the label of the rows
}

// findRowsAbove tells rows from labels among the first strips.
func (t *table) findRowsAbove(n int) {
	for i := range n {
		t.rows[i] = t.isRow(&t.strips[i])
	}
}

// findHead finds the number of first strips that are the header.
func (t *table) findHead() {
	if len(t.columns) > 0 {
		for i := range t.strips {
			if !t.isHead(&t.strips[i]) && !t.strips[i].isUnit() || !t.rows[i] && len(t.strips[i].pieces) == 1 && !t.strips[i].isUnit() && t.strips[i].isLabel(t.strips[i:]) {
				break
			}
			if i+1 == len(t.strips) {
				break
			}
			t.head = i + 1
		}
	}
	if t.head == 0 && t.strips[0].bold && len(t.strips) > 1 && !t.strips[1].bold {
		t.head = 1
	}
	if t.head == 0 {
		t.head = t.namesAbove()
	}
}

// namesAbove returns the number of first strips that name the columns, without knowing the places of the columns: the
// strips have only words or years side by side, and most rows below them have figures.
func (t *table) namesAbove() int {
	head, names, figures := 0, 0, 0
	for i := range t.strips {
		s := &t.strips[i]
		if s.values() > 0 && !s.isYears() {
			figures++
		} else if figures == 0 && (s.isYears() && len(s.pieces) > 1 || len(s.pieces) > 2 || len(s.pieces) == 2 && s.left > t.labelEnd()) {
			head = i + 1
		}
		if figures == 0 && len(s.pieces) > 1 {
			names++
		}
	}
	if figures < 2 || names > 4 || figures*2 < len(t.strips)-head {
		return 0
	}
	return head
}

// lateHead finds the header of a table among the strips that the page draws after it; -1 if it is not there.
func (t *table) lateHead(behind []strip) int {
	const most, farthest = 8, 4 // strips; sizes of the type
	if t.head > 0 || len(t.columns) == 0 {
		return -1
	}
	first := &t.strips[0]
	for i := range behind[:min(most, len(behind))] {
		s := &behind[i]
		if above := s.base - first.base; above > 0 && above < farthest*first.size && t.isHead(s) && len(t.headPieces(s)) >= min(2, len(t.columns)) {
			return i
		}
	}
	return -1
}

// putHead makes a strip the header.
func (t *table) putHead(s strip) {
	t.strips, t.rows, t.head = slices.Insert(slices.Clone(t.strips), 0, s), slices.Insert(t.rows, 0, false), 1
}

// labelEnd returns the leftmost end of the labels of rows with figures.
func (t *table) labelEnd() float32 {
	end := float32(math.MaxFloat32)
	for i := range t.strips {
		if s := &t.strips[i]; s.values() > 0 && !s.isYears() && !s.pieces[0].figure {
			end = min(end, s.pieces[0].right)
		}
	}
	return end
}

// headBlocks returns the rows of the header. Strips that have one piece over each column are lines of one row.
func (t *table) headBlocks() []pdfBlock {
	var blocks []pdfBlock
	var cells []compose.Mapped // of the last row, with one for the labels before those of the columns
	for i := range t.head {
		s := &t.strips[i]
		if len(t.columns) == 0 {
			blocks = append(blocks, pdfBlock{kind: extract.TableHeader, lines: s.lines, row: t.rowText(s)})
			continue
		}
		pieces := t.headPieces(s)
		byColumn := t.headCells(pieces, s.size)
		n := len(blocks)
		if byColumn != nil && cells != nil {
			for c := range cells {
				if len(cells[c].Text) > 0 && len(byColumn[c].Text) > 0 {
					cells[c] = join(cells[c], " ", byColumn[c])
				} else {
					cells[c].Append(byColumn[c])
				}
			}
			blocks[n-1].lines = append(slices.Clip(blocks[n-1].lines), s.lines...)
			blocks[n-1].row = bars(cells)
			continue
		}
		b := pdfBlock{kind: extract.TableHeader, lines: s.lines}
		if cells = byColumn; cells != nil {
			b.row = bars(cells)
		} else {
			for j, p := range pieces {
				if j > 0 {
					b.row.Put(" | ")
				}
				b.row.Append(p.Mapped)
			}
		}
		blocks = append(blocks, b)
	}
	return blocks
}

// headCells returns the pieces by column, the label of the rows first; nil if a piece is above several columns, or two
// pieces are above one.
func (t *table) headCells(pieces []piece, size float32) []compose.Mapped {
	cells := make([]compose.Mapped, len(t.columns)+1)
	for _, p := range pieces {
		c := t.column(p.left, p.right)
		if c == -2 {
			return nil
		}
		if middle := (p.left + p.right) / 2; c == -1 && middle > t.columns[0].left-4*size {
			c = t.nearest(middle)
		}
		if len(cells[c+1].Text) > 0 {
			return nil
		}
		cells[c+1] = p.Mapped
	}
	return cells
}

// nearest returns the column whose middle is closest to x.
func (t *table) nearest(x float32) int {
	best := 0
	for i, c := range t.columns {
		if abs((c.left+c.right)/2-x) < abs((t.columns[best].left+t.columns[best].right)/2-x) {
			best = i
		}
	}
	return best
}

// bars joins cells. The first one, for the labels of rows, is left out when empty.
func bars(cells []compose.Mapped) compose.Mapped {
	var out compose.Mapped
	for i, c := range cells {
		if i > 0 && (i > 1 || len(cells[0].Text) > 0) {
			out.Put(" | ")
		}
		out.Append(c)
	}
	return out
}
