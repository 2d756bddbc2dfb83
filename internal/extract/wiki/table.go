package wiki

import (
	"strconv"
	"strings"

	"parley/internal/extract"
	"parley/internal/extract/compose"
	"parley/internal/extract/tabular"
	"parley/internal/lazyregexp"
)

// wikiTable is a table that is being read.
type wikiTable struct {
	rows    [][]string
	headers []int             // header cells by row
	spans   map[int]*wikiSpan // cells that reach into the rows below, by column
	open    *strings.Builder  // markup of the cell that is being read
	caption string
	depth   int // of tables within cells
	count   int // of cells
}

// wikiSpan is a cell that counts for several rows.
type wikiSpan struct {
	text string
	left int
}

// The bounds of a table's spans.
const (
	maxWikiSpan    = 100
	maxWikiColumns = 500
	maxWikiCells   = 1_000_000
)

// table reads the table that begins with the first of the lines, and returns its number of lines. A table without an end
// continues to the end of the page.
func (w *wikiWalker) table(lines []string) (int, error) {
	t := &wikiTable{spans: map[int]*wikiSpan{}}
	used := 1
	for ; used < len(lines); used++ {
		line := strings.TrimLeft(lines[used], " \t:")
		switch {
		case strings.HasPrefix(line, "{|"):
			t.depth++
			t.write(" ")
			continue
		case strings.HasPrefix(line, "|}"):
			if t.depth == 0 {
				t.endCell(w)
				return used + 1, w.addTable(t)
			}
			t.depth--
			continue
		}
		if t.depth > 0 { // a table within a cell is text of the cell
			t.write(" " + strings.TrimLeft(line, "|!-+"))
			continue
		}
		t.line(w, line)
	}
	t.endCell(w)
	return used, w.addTable(t)
}

// line handles one line of a table.
func (t *wikiTable) line(w *wikiWalker, line string) {
	switch {
	case strings.HasPrefix(line, "|-"):
		t.endCell(w)
		t.startRow()
	case strings.HasPrefix(line, "|+"):
		t.endCell(w)
		t.caption = w.inline.render(cellText(line[2:]))
	case strings.HasPrefix(line, "|"):
		t.cells(w, splitCells(line[1:], "||"), false)
	case strings.HasPrefix(line, "!"):
		t.cells(w, splitCells(strings.ReplaceAll(line[1:], "!!", "||"), "||"), true)
	default:
		t.write("\n" + line)
	}
}

func (t *wikiTable) write(s string) {
	if t.open != nil {
		t.open.WriteString(s)
	}
}

func (t *wikiTable) startRow() {
	if n := len(t.rows); n > 0 && len(t.rows[n-1]) == 0 {
		return
	}
	t.rows = append(t.rows, nil)
	t.headers = append(t.headers, 0)
}

// cells begins cells; the last one may continue on the next lines.
func (t *wikiTable) cells(w *wikiWalker, markups []string, header bool) {
	for _, markup := range markups {
		t.endCell(w)
		if len(t.rows) == 0 {
			t.startRow()
		}
		if header {
			t.headers[len(t.headers)-1]++
		}
		t.open = &strings.Builder{}
		t.open.WriteString(markup)
	}
}

// endCell puts the cell that is open into its row.
func (t *wikiTable) endCell(w *wikiWalker) {
	if t.open == nil {
		return
	}
	markup := t.open.String()
	t.open = nil
	text := wikiList(strings.Split(w.inline.render(cellText(markup)), "\n"))
	w.inline.captions = nil
	columns, rows := spanOf(markup, "colspan"), spanOf(markup, "rowspan")
	t.fill()
	row := &t.rows[len(t.rows)-1]
	for i := range columns {
		if t.count++; len(*row) >= maxWikiColumns || t.count > maxWikiCells {
			return
		}
		if rows > 1 {
			t.spans[len(*row)] = &wikiSpan{text, rows - 1}
		}
		if i > 0 {
			text = ""
		}
		*row = append(*row, text)
	}
}

// fill appends the cells from rows above that reach into the current row.
func (t *wikiTable) fill() {
	row := &t.rows[len(t.rows)-1]
	for len(*row) < maxWikiColumns {
		span := t.spans[len(*row)]
		if span == nil {
			return
		}
		if span.left--; span.left == 0 {
			delete(t.spans, len(*row))
		}
		*row = append(*row, span.text)
		t.count++
	}
}

// splitCells splits a line of cells outside of links.
func splitCells(line, sign string) []string {
	var cells []string
	depth, from := 0, 0
	for i := 0; i+1 < len(line); i++ {
		switch line[i : i+2] {
		case "[[":
			depth++
		case "]]":
			depth--
		case sign:
			if depth <= 0 {
				cells = append(cells, line[from:i])
				from = i + 2
				i++
			}
		}
	}
	return append(cells, line[from:])
}

var wikiSpanValue = lazyregexp.New(`(?i)(colspan|rowspan)\s*=\s*["']?\s*(\d{1,4})`)

func spanOf(markup, name string) int {
	attributes, _, found := cutAttributes(markup)
	if !found {
		return 1
	}
	for _, m := range wikiSpanValue.FindAllStringSubmatch(attributes, -1) {
		if strings.EqualFold(m[1], name) {
			n, _ := strconv.Atoi(m[2])
			return min(max(n, 1), maxWikiSpan)
		}
	}
	return 1
}

// cellText returns a cell without the attributes that may precede its text.
func cellText(markup string) string {
	if _, text, found := cutAttributes(markup); found {
		return text
	}
	return markup
}

func cutAttributes(markup string) (attributes, text string, found bool) {
	i := strings.IndexByte(markup, '|')
	if i < 0 || strings.Contains(markup[:i], "[[") {
		return "", markup, false
	}
	return markup[:i], markup[i+1:], true
}

// addTable appends a table. Its first row is the header if at most one of its cells is not a header cell.
func (w *wikiWalker) addTable(t *wikiTable) error {
	if t.count > maxWikiCells {
		return extract.TooLargef("a table has more than %d cells", maxWikiCells)
	}
	if err := w.out.Add(extract.Paragraph, 0, t.caption); err != nil {
		return err
	}
	var rows [][]string
	header, columns := false, 0
	for i, row := range t.rows {
		if tabular.Filled(row) == 0 {
			continue
		}
		if len(rows) == 0 {
			header = len(row) > 1 && t.headers[i] >= len(row)-1 && t.headers[i] > 0
		}
		rows = append(rows, row)
		columns = max(columns, len(row))
	}
	if columns < 2 {
		for _, row := range rows {
			if err := w.out.Add(extract.Paragraph, 0, compose.OneLine(strings.Join(row, " "))); err != nil {
				return err
			}
		}
		return nil
	}
	return w.out.AddTable(rows, header)
}
