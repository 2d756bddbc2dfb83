package pdf

import (
	"slices"
	"strings"

	"parley/internal/extract"
	"parley/internal/extract/compose"
	"parley/internal/extract/tabular"
)

// grid is a table in which drawn lines separate the cells. It keeps cells of several lines together, which the order of
// the text and its gaps would tear apart.
type grid struct {
	rules  rules
	xs, ys []float32 // the borders of its columns and rows, ascending
	area   []int     // for each field of the raster, its cell, which is named by the first of its fields
	done   bool      // its blocks are made
}

// Limits of a table.
const (
	minFields   = 4
	maxFields   = 4_000
	maxGridText = 1500 // bytes of a cell: more is the text of a page that is laid out as a table
)

// gridsOf returns the tables that are framed by lines on a page.
func gridsOf(all rules) []*grid {
	var grids []*grid
	for _, part := range connected(all) {
		if g := newGrid(part); g != nil {
			grids = append(grids, g)
		}
	}
	return grids
}

// connected splits lines into groups that touch each other.
func connected(all rules) []rules {
	group := make([]int, len(all.level)+len(all.upright)) // for each line, a line that it touches, or itself
	for i := range group {
		group[i] = i
	}
	for i, l := range all.level {
		for j, u := range all.upright {
			if u.at >= l.from-nearby && u.at <= l.to+nearby && l.at >= u.from-nearby && l.at <= u.to+nearby {
				unite(group, i, len(all.level)+j)
			}
		}
	}
	parts := map[int]*rules{}
	var order []int
	part := func(i int) *rules {
		at := root(group, i)
		if parts[at] == nil {
			parts[at] = &rules{}
			order = append(order, at)
		}
		return parts[at]
	}
	for i, l := range all.level {
		p := part(i)
		p.level = append(p.level, l)
	}
	for j, u := range all.upright {
		p := part(len(all.level) + j)
		p.upright = append(p.upright, u)
	}
	var out []rules
	for _, at := range order {
		out = append(out, *parts[at])
	}
	return out
}

// root returns the member that represents the group of member i.
func root(group []int, i int) int {
	for group[i] != i {
		group[i] = group[group[i]]
		i = group[i]
	}
	return i
}

// unite merges two groups. The smallest member represents the new group.
func unite(group []int, a, b int) {
	a, b = root(group, a), root(group, b)
	group[max(a, b)] = min(a, b)
}

// newGrid returns the raster of lines that touch each other. It returns nil if there are less than two rows or columns, or
// if an inner line is less than half as long as the raster. A table may lack its outer lines.
func newGrid(part rules) *grid {
	if len(part.level) == 0 || len(part.upright) == 0 {
		return nil
	}
	g := &grid{rules: part}
	for _, l := range part.level {
		g.ys = append(g.ys, l.at)
		g.xs = append(g.xs, l.from, l.to)
	}
	for _, u := range part.upright {
		g.xs = append(g.xs, u.at)
		g.ys = append(g.ys, u.from, u.to)
	}
	g.xs, g.ys = places(g.xs), places(g.ys)
	rows, columns := len(g.ys)-1, len(g.xs)-1
	if rows < 2 || columns < 2 || rows*columns < minFields || rows*columns > maxFields {
		return nil
	}
	for _, x := range g.xs[1:columns] {
		if coverage(part.upright, x)*2 < g.ys[rows]-g.ys[0] {
			return nil
		}
	}
	for _, y := range g.ys[1:rows] {
		if coverage(part.level, y)*2 < g.xs[columns]-g.xs[0] {
			return nil
		}
	}
	g.area = make([]int, rows*columns)
	for i := range g.area {
		g.area[i] = i
	}
	for row := range rows {
		for column := range columns {
			x, y := (g.xs[column]+g.xs[column+1])/2, (g.ys[row]+g.ys[row+1])/2
			if row+1 < rows && !covers(part.level, g.ys[row+1], x) {
				unite(g.area, g.field(row, column), g.field(row+1, column))
			}
			if column+1 < columns && !covers(part.upright, g.xs[column+1], y) {
				unite(g.area, g.field(row, column), g.field(row, column+1))
			}
		}
	}
	return g
}

// places sorts places and merges those that are close together.
func places(all []float32) []float32 {
	slices.Sort(all)
	return slices.CompactFunc(all, func(a, b float32) bool { return abs(b-a) <= thickest })
}

// field numbers the fields from the left to the right and from above to below. Rows count from below.
func (g *grid) field(row, column int) int {
	return (len(g.ys)-2-row)*(len(g.xs)-1) + column
}

// cell returns the cell that contains a point, or -1 for none.
func (g *grid) cell(x, y float32) int {
	column, row := interval(g.xs, x), interval(g.ys, y)
	if column < 0 || row < 0 {
		return -1
	}
	return root(g.area, g.field(row, column))
}

// interval returns the index of the interval that contains v, or -1 for none.
func interval(bounds []float32, v float32) int {
	i, _ := slices.BinarySearch(bounds, v)
	if i == 0 || i == len(bounds) {
		return -1
	}
	return i - 1
}

// intoGrids cuts text lines where a drawn line separates two cells, and assigns each piece to its cell. Lines that turn
// out not to be in a table stay as they are.
func intoGrids(lines []pdfLine, grids []*grid) []pdfLine {
	for _, g := range grids {
		if cut := g.cutAll(lines); g.isTable(cut) {
			lines = cut
		}
	}
	return lines
}

func (g *grid) cutAll(lines []pdfLine) []pdfLine {
	var cut []pdfLine
	for i := range lines {
		cut = append(cut, g.cut(&lines[i])...)
	}
	return cut
}

// cut returns the parts of a line that are in different cells.
func (g *grid) cut(line *pdfLine) []pdfLine {
	y := line.middle()
	if line.grid != nil || y < g.ys[0] || y > g.ys[len(g.ys)-1] || line.right < g.xs[0] || line.left > g.xs[len(g.xs)-1] {
		return []pdfLine{*line}
	}
	var parts []pdfLine
	rest := *line
	for _, gap := range line.words {
		if len(parts) >= maxPieces || !g.parts(gap, y) {
			continue
		}
		at := rest.Offset(gap.char)
		if at <= 0 || at >= len(rest.Text) {
			continue
		}
		before, after := rest.cut(at, gap)
		parts, rest = append(parts, before), after
	}
	parts = append(parts, rest)
	for i := range parts {
		p := &parts[i]
		if c := g.cell((p.left+p.right)/2, y); c >= 0 {
			p.grid, p.cell = g, c
		}
	}
	return parts
}

// middle returns the height of the middle of small letters.
func (l *pdfLine) middle() float32 { return l.base + .25*l.size }

// parts reports whether, at the height y, an upright line runs through a gap between words.
func (g *grid) parts(gap pdfGap, y float32) bool {
	from, to := min(gap.from, gap.x)-1, max(gap.from, gap.x)+1
	return slices.ContainsFunc(g.rules.upright, func(u rule) bool {
		return u.at > from && u.at < to && y > u.from-nearby && y < u.to+nearby
	})
}

// cut cuts a line at a gap. at is the byte at which the text after the gap begins.
func (l *pdfLine) cut(at int, gap pdfGap) (before, after pdfLine) {
	before, after = *l, *l
	before.Mapped, after.Mapped = l.Slice(0, at).Trim(), l.Slice(at, len(l.Text)).Trim()
	before.space = true
	if l.rtl {
		before.left, after.right = gap.from, gap.x
	} else {
		before.right, after.left = gap.from, gap.x
	}
	inBefore := func(g pdfGap) bool { return g.char < gap.char }
	inAfter := func(g pdfGap) bool { return g.char > gap.char }
	before.words, before.gaps = only(l.words, inBefore), only(l.gaps, inBefore)
	after.words, after.gaps = only(l.words, inAfter), only(l.gaps, inAfter)
	for _, part := range []*pdfLine{&before, &after} {
		part.turn()
		part.first = min(part.first, part.right-part.left)
	}
	return before, after
}

func only(gaps []pdfGap, keep func(pdfGap) bool) []pdfGap {
	return slices.DeleteFunc(slices.Clone(gaps), func(g pdfGap) bool { return !keep(g) })
}

// isTable reports whether the cells form a table: several rows have text in several cells, many cells have text, no cell has
// as much text as a page that is laid out as a table, no text crosses a line, and few cells have columns inside them.
func (g *grid) isTable(lines []pdfLine) bool {
	text := map[int]int{}
	count, gapped := 0, 0
	for i := range lines {
		l := &lines[i]
		if l.grid != g {
			continue
		}
		text[l.cell] += len(l.Text)
		count++
		if len(l.gaps) > 0 {
			gapped++
		}
		y := l.middle()
		if slices.ContainsFunc(g.rules.upright, func(u rule) bool {
			return u.at > l.left+nearby && u.at < l.right-nearby && y > u.from && y < u.to
		}) {
			return false
		}
	}
	cells := map[int]bool{}
	for i := range g.area {
		cells[root(g.area, i)] = true
	}
	inRow := map[int]int{}
	for cell, n := range text {
		if n > maxGridText {
			return false
		}
		inRow[cell/(len(g.xs)-1)]++
	}
	rows := 0
	for _, n := range inRow {
		if n > 1 {
			rows++
		}
	}
	return rows >= 2 && len(text)*3 >= len(cells) && gapped*4 <= count && !g.hasRowsInside(lines)
}

// hasRowsInside reports whether drawn lines separate groups of rows, not rows: a cell has two figures, one below the other,
// or two cells have lines on the same baselines that end although the next word would have fitted.
func (g *grid) hasRowsInside(lines []pdfLine) bool {
	cells := map[int][]pdfLine{}
	for i := range lines {
		if l := &lines[i]; l.grid == g {
			cells[l.cell] = append(cells[l.cell], *l)
		}
	}
	ended := map[[2]int]int{} // number of cells of a row with a line on a baseline below a line that ends short
	short := map[int]bool{}
	columns := len(g.xs) - 1
	for cell, inCell := range cells {
		sortLines(inCell)
		figures := 0
		for i := range inCell {
			l := &inCell[i]
			if isFigure(l.Text) {
				figures++
			}
			if i == 0 || inCell[i-1].base-l.base < .5*l.size {
				continue
			}
			ended[[2]int{cell / columns, int(l.base + .5)}]++
			right := g.xs[min(interval(g.xs, (l.left+l.right)/2)+1, columns)]
			short[cell/columns] = short[cell/columns] || !l.rtl && right-inCell[i-1].right > l.first+1.5*l.size
		}
		if figures > 1 {
			return true
		}
	}
	for place, n := range ended {
		if n > 1 && short[place[0]] {
			return true
		}
	}
	return false
}

// blocks returns the rows of the table, and its header if the first row is one. A cell that spans several rows, such as
// their label, is repeated in each of them.
func (g *grid) blocks(words *pdfWords, lines []pdfLine) []pdfBlock {
	const longest = 80 // bytes of a repeated header
	columns := len(g.xs) - 1
	rtl := 0
	cells := map[int][]pdfLine{}
	for _, line := range lines {
		if line.grid == g {
			cells[line.cell] = append(cells[line.cell], line)
			if line.rtl {
				rtl++
			} else if !isFigure(line.Text) {
				rtl--
			}
		}
	}
	shown := make([][]compose.Mapped, len(g.ys)-1) // by row and column
	var blocks []pdfBlock
	var rows [][]compose.Mapped
	for row := range shown {
		b := pdfBlock{kind: extract.TableRow}
		for column := range columns {
			field := row*columns + column
			first := root(g.area, field)
			var cell compose.Mapped
			switch above := first / columns; {
			case first == field:
				sortLines(cells[field])
				cell = joinCell(words, cells[field])
				b.lines = append(b.lines, cells[field]...)
			case above < row && first%columns == column && len(shown[above][column].Text) <= longest:
				cell = shown[above][column]
			}
			shown[row] = append(shown[row], cell)
		}
		if len(b.lines) > 0 {
			blocks, rows = append(blocks, b), append(rows, shown[row])
		}
	}
	rows = joinColumns(rows)
	header := len(rows) > 1 && isGridHeader(blocks, rows)
	for i := range blocks {
		if rtl > 0 {
			slices.Reverse(rows[i])
		}
		blocks[i].row = cellRow(rows[i])
	}
	if header {
		blocks[0].kind = extract.TableHeader
	}
	return blocks
}

// joinColumns leaves out the columns without any text, and joins currencies and brackets that have a column of
// their own with the figures beside them.
func joinColumns(rows [][]compose.Mapped) [][]compose.Mapped {
	if len(rows) == 0 {
		return rows
	}
	for column := len(rows[0]) - 1; column >= 0; column-- {
		filled, opening, closing := 0, 0, 0
		for _, row := range rows {
			text := string(row[column].Text)
			switch {
			case text == "":
				continue
			case isOpening(text):
				opening++
			case strings.Trim(text, ")%]") == "":
				closing++
			}
			filled++
		}
		for i, row := range rows {
			switch {
			case filled == 0:
			case opening == filled && column+1 < len(row):
				row[column+1] = joinFilled(row[column], " ", row[column+1])
			case closing == filled && column > 0:
				row[column-1] = joinFilled(row[column-1], "", row[column])
			default:
				continue
			}
			rows[i] = slices.Delete(row, column, column+1)
		}
	}
	return rows
}

// joinFilled is join, without the text between if a or b is empty.
func joinFilled(a compose.Mapped, between string, b compose.Mapped) compose.Mapped {
	switch {
	case len(a.Text) == 0:
		return b
	case len(b.Text) == 0:
		return a
	}
	return join(a, between, b)
}

// joinCell returns the text of a cell.
func joinCell(words *pdfWords, lines []pdfLine) compose.Mapped {
	var out compose.Mapped
	for i := range lines {
		if i == 0 {
			out.Append(lines[0].Mapped)
			continue
		}
		words.join(&out, &lines[i-1], &lines[i])
	}
	return out
}

// cellRow puts bars between cells. It leaves out the empty cells after the last one with text.
func cellRow(cells []compose.Mapped) compose.Mapped {
	for len(cells) > 1 && len(cells[len(cells)-1].Text) == 0 {
		cells = cells[:len(cells)-1]
	}
	var out compose.Mapped
	for i, c := range cells {
		if i > 0 {
			out.Put(" | ")
		}
		out.Append(c)
	}
	return out.Trim()
}

// isGridHeader reports whether the first row names the columns: by its type, or by its words if a row below it has figures
// in columns whose names have none.
func isGridHeader(blocks []pdfBlock, rows [][]compose.Mapped) bool {
	var names []string
	for _, cell := range rows[0] {
		names = append(names, string(cell.Text))
	}
	if len(names) > 2 && names[0] == "" && !slices.Contains(names[1:], "") {
		return true // the corner above the names of the rows is empty
	}
	if !tabular.IsHeader(names) {
		return false
	}
	isBold := func(b pdfBlock) bool { return !slices.ContainsFunc(b.lines, func(l pdfLine) bool { return !l.bold }) }
	if isBold(blocks[0]) && !isBold(blocks[1]) || len(names) > 2 && !slices.Contains(names, "") {
		return true
	}
	for i, cell := range rows[1] {
		if names[i] != "" && isFigure(cell.Text) && !isFigure(rows[0][i].Text) && !strings.HasSuffix(names[0], ":") {
			return true
		}
	}
	return false
}
