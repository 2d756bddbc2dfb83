package pdf

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"parley/internal/extract"
	"parley/internal/extract/compose"
)

// table is a table that was found by the positions of its lines: neighbouring strips, some of which are rows, and the
// others labels of rows.
type table struct {
	strips  []strip
	head    int      // number of first strips that are its header
	columns []column // of its figures, from left to right; none if they cannot be told apart
	rows    []bool   // which of the strips are rows
}

// column is the horizontal range of the figures of a column.
type column struct{ left, right float32 }

// findTable returns the table that begins with the first row at or after strips[at], and its first and end strip. The end is
// 0 if there is none.
func findTable(strips []strip, at int) (t table, from, to int) {
	for i := at; i < len(strips); i++ {
		rows, end := tableRows(strips, i)
		if end == 0 {
			continue
		}
		from = i
		t = table{strips: strips[i:end], rows: rows}
		t.findColumns()
		if up := t.firstStrip(strips, at, i); up < i {
			above := inOrder(strips[up : i+1])
			t.rows = append(make([]bool, len(above)-1), t.rows...)
			from, t.strips = up, append(above, t.strips[1:]...)
			t.findRowsAbove(len(above) - 1)
		}
		t.findHead()
		return t, from, end
	}
	return table{}, 0, 0
}

// maxLabels is the maximum number of strips without cells between two rows: the label of a group of rows,
// and labels of more than one line.
const maxLabels = 3

// tableRows returns which strips, beginning with first, are rows of one table, and the end of the table. Each row has a wide
// gap, and a column in common with a row above it or as many cells. A table has at least three rows, or two with three cells
// each, since less happens by chance; otherwise the end is 0.
func tableRows(strips []strip, first int) (rows []bool, end int) {
	if len(strips[first].pieces) < 2 || !strips[first].sure {
		return nil, 0
	}
	rows = []bool{true}
	found, cells, figures, last := 1, len(strips[first].pieces) > 2, strips[first].values() > 0, first
	for i := first + 1; i < len(strips) && i-last <= maxLabels+1; i++ {
		s, above := &strips[i], &strips[i-1]
		if step := above.base - s.base; step <= 0 || step > 4*s.size {
			break
		}
		if isRowBelow(strips[first:i], rows, s) {
			if i-last > 1 && s.isYears() {
				break // another table
			}
			rows = append(rows, slices.Repeat([]bool{false}, i-last-1)...)
			rows = append(rows, true)
			found, last = found+1, i
			cells = cells && len(s.pieces) > 2
			figures = figures || s.values() > 0
			continue
		}
		if !figures || !s.isLabel(strips[max(first, last-20):last+1]) {
			break
		}
	}
	if found >= 3 || found == 2 && cells {
		return rows, last + 1
	}
	return nil, 0
}

// isRowBelow reports whether a strip is a row of the table above it. It looks at the last three rows.
func isRowBelow(above []strip, rows []bool, s *strip) bool {
	if len(s.pieces) < 2 {
		return false
	}
	looked := 0
	for i := len(rows) - 1; i >= 0 && looked < 3; i-- {
		if !rows[i] {
			continue
		}
		if sameColumns(&above[i], s, looked == 0) {
			return true
		}
		looked++
	}
	return false
}

// sameColumns reports whether two strips can be rows of one table: cells start at the same place, figures end at the same
// place, as in right-aligned columns, or, for neighbours, both have several gaps.
func sameColumns(above, s *strip, neighbours bool) bool {
	near := .6 * s.size
	for i, a := range above.pieces {
		for j, b := range s.pieces {
			figures := a.figure && b.figure
			if figures && abs(a.right-b.right) < near || i > 0 && j > 0 && abs(a.left-b.left) < near && (figures || above.sure && s.sure) {
				return true
			}
		}
	}
	return neighbours && above.sure && s.sure && len(above.pieces) == len(s.pieces) && len(s.pieces) > 2
}

// isLabel reports whether a strip can be within a table without being a row: it is one piece that does not reach far into the
// figures of the table, and is not a figure other than a year.
func (s *strip) isLabel(table []strip) bool {
	if len(s.pieces) != 1 || s.pieces[0].figure && !s.isYears() {
		return false
	}
	begin, left := float32(0), table[len(table)-1].left
	for i := range table {
		left = min(left, table[i].left)
		for j, p := range table[i].pieces {
			if p.figure && j > 0 && (begin == 0 || p.left < begin) {
				begin = p.left
			}
		}
	}
	last := &table[len(table)-1]
	return s.left < begin && s.right < begin+2*s.size && s.size < 1.15*last.size && s.left > left-6*s.size
}

// findColumns finds the columns of the table's figures. It finds none if figures of one row are in the same column, or
// figures of one column are side by side.
func (t *table) findColumns() {
	t.columns = nil
	for i := range t.strips {
		s := &t.strips[i]
		if !t.rows[i] || s.isYears() {
			continue
		}
		for j, p := range s.pieces {
			if p.figure && (j > 0 || s.pieces[min(1, len(s.pieces)-1)].figure) {
				t.columns = append(t.columns, column{p.left, p.right})
			}
		}
	}
	slices.SortFunc(t.columns, func(a, b column) int { return cmp.Compare(a.left, b.left) })
	merged := t.columns[:0]
	for _, c := range t.columns {
		if n := len(merged); n > 0 && c.left < merged[n-1].right {
			merged[n-1].right = max(merged[n-1].right, c.right)
			continue
		}
		merged = append(merged, c)
	}
	const most = 100 // those of hostile pages would take long to compare
	if t.columns = merged; len(merged) > most {
		t.columns = nil
	}
	for i := range t.strips {
		last := -1
		for _, p := range t.strips[i].pieces {
			if !t.rows[i] || !p.figure || t.strips[i].isYears() {
				continue
			}
			c := t.column(p.left, p.right)
			if c >= 0 && c <= last {
				t.columns = nil
				return
			}
			last = max(c, last)
		}
	}
}

// goesOnAs reports whether another table continues this one after labels: it has no header, and each of its columns is a
// column of this one, or this one is only its header.
func (t *table) goesOnAs(next *table, between []strip) bool {
	const farthest = 9 // sizes of the type
	last, first := &t.strips[len(t.strips)-1], &next.strips[0]
	if next.head > 0 || len(between) > maxLabels || last.base < first.base || last.base-first.base > farthest*last.size {
		return false
	}
	rows := t.strips
	if len(t.columns) == 0 {
		rows = next.strips
	}
	for i := range between {
		if s := &between[i]; s.base > last.base || s.base < first.base || !s.isLabel(rows[max(0, len(rows)-20):]) {
			return false
		}
	}
	if len(t.columns) == 0 {
		other := func(s strip) bool { return !next.isHead(&s) }
		return len(next.columns) > 0 && len(t.strips) <= maxHead && !slices.ContainsFunc(t.strips, other)
	}
	return t.hasColumnsOf(next)
}

// maxHead is the maximum number of strips in a header.
const maxHead = 12

// hasColumnsOf reports whether each figure of another table is in a column of this one.
func (t *table) hasColumnsOf(next *table) bool {
	found := 0
	for i := range next.strips {
		for j, p := range next.strips[i].pieces {
			if !p.figure || j == 0 {
				continue
			}
			if t.column(p.left, p.right) < 0 {
				return false
			}
			found++
		}
	}
	return found > 1
}

// goOn adds the labels and the rows after them to the table.
func (t *table) goOn(next *table, between []strip) {
	if len(t.columns) == 0 {
		t.columns, t.head = next.columns, len(t.strips)
	}
	t.strips = slices.Concat(t.strips, between, next.strips)
	t.rows = slices.Concat(t.rows, make([]bool, len(between)), next.rows)
}

// column returns the column that overlaps an interval; -1 for none, -2 for several.
func (t *table) column(left, right float32) int {
	found := -1
	for i, c := range t.columns {
		if left < c.right && right > c.left {
			if found >= 0 {
				return -2
			}
			found = i
		}
	}
	return found
}

// isRow reports whether a strip has figures in the table's columns, and a label before them.
func (t *table) isRow(s *strip) bool {
	n := 0
	for i, p := range s.pieces {
		if p.figure && i > 0 && t.column(p.left, p.right) >= 0 {
			n++
		}
	}
	return n > 0 && !s.isYears() && (n == len(s.pieces)-1 || n == len(s.pieces))
}

// blocks returns the rows of the table.
func (t *table) blocks() []pdfBlock {
	blocks := t.headBlocks()
	for i := t.head; i < len(t.strips); i++ {
		s := &t.strips[i]
		row := pdfBlock{kind: extract.TableRow, lines: s.lines, row: t.rowText(s)}
		if n := len(blocks); n > 0 && i > t.head {
			before, above := &blocks[n-1], &t.strips[i-1]
			if goesOn(above, s, t.rows[i-1], t.rows[i]) {
				if t.rows[i] {
					row.row = join(before.row, " ", row.row)
				} else {
					row.row = intoLabel(before.row, row.row)
				}
				row.lines = append(slices.Clip(before.lines), row.lines...)
				blocks = blocks[:n-1]
			}
		}
		blocks = append(blocks, row)
	}
	return blocks
}

// goesOn reports whether a strip begins in the middle of a label that the strip above it began.
func goesOn(above, s *strip, aboveIsRow, isRow bool) bool {
	first, _ := utf8.DecodeRune(s.pieces[0].Text)
	return (isRow != aboveIsRow || !isRow) && (isRow || !bytes.ContainsFunc(s.pieces[0].Text, unicode.IsDigit)) && unicode.IsLower(first) && above.base-s.base < 1.7*s.size &&
		!strings.HasSuffix(string(above.pieces[0].Text), ":")
}

// intoLabel adds the end of a label to the first cell of a row.
func intoLabel(row, rest compose.Mapped) compose.Mapped {
	at := strings.Index(string(row.Text), " | ")
	if at < 0 {
		return join(row, " ", rest)
	}
	out := join(row.Slice(0, at), " ", rest)
	out.Append(row.Slice(at, len(row.Text)))
	return out
}

// rowText is the text of a row, with bars between its cells. Empty cells count where the columns are known.
func (t *table) rowText(s *strip) compose.Mapped {
	var out compose.Mapped
	last := -1
	for i, p := range s.pieces {
		if i > 0 {
			out.Put(" | ")
		}
		if len(t.columns) > 0 && (p.figure && i > 0 || len(s.pieces) > 1 && s.pieces[1].figure && p.figure) {
			if c := t.column(p.left, p.right); c >= 0 {
				out.Put(strings.Repeat(" | ", max(0, c-last-1)))
				last = c
			}
		}
		out.Append(p.Mapped)
	}
	return out
}
