package pdf

import (
	"cmp"
	"slices"
)

// minBands is the minimum number of rows of a table that has no lines between its columns.
const minBands = 3

// bandsOf returns the tables in which level lines of one length separate the rows, and only space separates the
// columns. It returns only tables with cells of several lines: rows of other tables are found by their baselines.
func bandsOf(level []rule, lines []pdfLine) []*grid {
	level = slices.Clone(level)
	slices.SortFunc(level, func(a, b rule) int { return cmp.Compare(a.at, b.at) })
	var grids []*grid
	used := make([]bool, len(level))
	for i := range level {
		if used[i] {
			continue
		}
		var same []rule
		for j := i; j < len(level); j++ {
			if !used[j] && abs(level[j].from-level[i].from) <= nearby && abs(level[j].to-level[i].to) <= nearby {
				used[j] = true
				same = append(same, level[j])
			}
		}
		for _, run := range filledRuns(same, lines) {
			if g := newBands(run, lines); g != nil {
				grids = append(grids, g)
			}
		}
	}
	return grids
}

// filledRuns splits level lines, from below to above, wherever there is no text between two of them.
func filledRuns(level []rule, lines []pdfLine) [][]rule {
	var runs [][]rule
	for i, l := range level {
		filled := i > 0 && slices.ContainsFunc(lines, func(line pdfLine) bool { return line.between(level[i-1], l) })
		if !filled {
			runs = append(runs, nil)
		}
		runs[len(runs)-1] = append(runs[len(runs)-1], l)
	}
	return slices.DeleteFunc(runs, func(run []rule) bool { return len(run) <= minBands })
}

// between reports whether a text line is between two level lines.
func (l *pdfLine) between(below, above rule) bool {
	y := l.middle()
	return l.grid == nil && y > below.at && y < above.at && l.right > below.from && l.left < below.to
}

// newBands returns the table of the rows between level lines, or nil if the text there has no columns.
func newBands(level []rule, lines []pdfLine) *grid {
	bottom, top := level[0], level[len(level)-1]
	var inside []pdfLine
	size := float32(0)
	for _, line := range lines {
		if !line.between(bottom, top) {
			continue
		}
		if line.rtl || line.left < bottom.from-nearby || line.right > bottom.to+nearby || len(line.words) > maxPieces {
			return nil
		}
		inside = append(inside, line)
		size = max(size, line.size)
	}
	part := rules{level: level}
	for _, x := range rivers(inside, size) {
		part.upright = append(part.upright, rule{x, bottom.at, top.at})
	}
	g := newGrid(part)
	if g == nil {
		return nil
	}
	if cut := g.cutAll(inside); !g.isTable(cut) || !g.hasRowsInBands(cut) {
		return nil
	}
	return g
}

// rivers returns the middles of the vertical spaces that run through all lines.
func rivers(lines []pdfLine, size float32) []float32 {
	var words []column
	for i := range lines {
		line := &lines[i]
		left := line.left
		for _, gap := range line.words {
			words = append(words, column{left, gap.from})
			left = gap.x
		}
		words = append(words, column{left, line.right})
	}
	slices.SortFunc(words, func(a, b column) int { return cmp.Compare(a.left, b.left) })
	var found []float32
	right := float32(0)
	for i, w := range words {
		if i > 0 && w.left-right > .8*size {
			found = append(found, (w.left+right)/2)
		}
		if i == 0 || w.right > right {
			right = w.right
		}
	}
	return found
}

// hasRowsInBands reports whether each band is one row, and one of them has a cell of several lines. A line that ends
// where the next word would have fitted is a row of its own, and columns of signs alone belong to other columns.
func (g *grid) hasRowsInBands(lines []pdfLine) bool {
	columns := len(g.xs) - 1
	words := make([]int, columns) // in each column
	bases, cells, labels := map[int][]float32{}, map[int]int{}, map[int]pdfLine{}
	for i := range lines {
		l := &lines[i]
		if l.grid != g {
			continue
		}
		if !slices.ContainsFunc(bases[l.cell], func(b float32) bool { return abs(b-l.base) < .3*l.size }) {
			bases[l.cell] = append(bases[l.cell], l.base)
		}
		before, below := labels[l.cell]
		if right := g.xs[l.cell%columns+1]; below && before.base-l.base > .5*l.size && right-before.right > l.first+2*l.size {
			return false
		}
		labels[l.cell] = *l
		if slices.ContainsFunc(l.Text, func(b byte) bool { return b >= '0' && b <= '9' || b >= 'A' && b <= 'z' || b >= 0x80 }) {
			words[l.cell%columns]++
		}
	}
	several, crowded := false, false
	for cell, b := range bases {
		several = several || len(b) > 1
		crowded = crowded || len(b) > 12
		cells[cell/columns]++
	}
	full := 0
	for _, n := range cells {
		if n > 1 {
			full++
		}
	}
	return several && !crowded && full >= minBands && full*3 >= 2*len(cells) && !slices.Contains(words, 0)
}
