package markup

import (
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"parley/internal/extract"
	"parley/internal/extract/compose"
)

// table appends a table that holds data. It walks a table that lays out a page, or contains other tables, like any other
// element.
func (w *htmlWalker) table(table *html.Node) {
	if nestsTable(table) { // before any cell is read, which would double the work with each level
		w.layoutTable(table)
		return
	}
	var rows [][]string
	hasHeader, reaching := false, htmlSpans{cells: map[int]*htmlSpan{}}
	for n := range table.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		switch n.DataAtom {
		case atom.Caption:
			if w.err == nil {
				w.err = w.out.Add(extract.Paragraph, 0, compose.OneLine(w.textOf(n)))
			}
		case atom.Tr:
			cells, headers := w.row(n, &reaching)
			if len(cells) > 0 {
				names := headers == len(cells) || n.Parent.DataAtom == atom.Thead
				hasHeader = hasHeader || len(rows) == 0 && names
				rows = append(rows, cells)
			}
		}
	}
	columns := 0
	for _, cells := range rows {
		columns = max(columns, len(cells))
	}
	if columns < 2 {
		w.layoutTable(table)
		return
	}
	if w.err == nil {
		w.err = w.out.AddTable(rows, hasHeader)
	}
}

func nestsTable(table *html.Node) bool {
	for n := range table.Descendants() {
		if n.DataAtom == atom.Table {
			return true
		}
	}
	return false
}

func (w *htmlWalker) layoutTable(n *html.Node) {
	switch n.DataAtom {
	case atom.Table, atom.Tbody, atom.Thead, atom.Tfoot, atom.Tr:
		for c := n.FirstChild; c != nil && w.err == nil; c = c.NextSibling {
			if c.Type == html.ElementNode {
				w.layoutTable(c)
			}
		}
	default:
		w.flush()
		w.walk(n)
		w.flush()
	}
}

// htmlSpans are the cells of a table that reach into the rows below, by column.
type htmlSpans struct {
	cells map[int]*htmlSpan
	room  int // number of cells that they may still fill
}

// htmlSpan is a cell that counts for several rows.
type htmlSpan struct {
	text string
	left int
}

// fill appends the cells from rows above that reach into the next columns of a row.
func (s *htmlSpans) fill(cells []string) []string {
	for {
		span := s.cells[len(cells)]
		if span == nil || len(cells) >= maxHTMLColumns || s.room == 0 {
			return cells
		}
		if span.left--; span.left == 0 {
			delete(s.cells, len(cells))
		}
		cells = append(cells, span.text)
		s.room--
	}
}

// The bounds of a table's rows.
const (
	maxHTMLSpan    = 100
	maxHTMLColumns = 1000
	maxHTMLReach   = 30 // cells filled from above for each cell in the row
)

// row returns the cells of a row and the number of header cells. A cell that spans columns is followed by empty cells,
// so that later cells stay below their names. A cell that spans rows counts for each of them.
func (w *htmlWalker) row(tr *html.Node, reaching *htmlSpans) (cells []string, headers int) {
	own := false
	for n := tr.FirstChild; n != nil; n = n.NextSibling {
		if n.DataAtom != atom.Td && n.DataAtom != atom.Th {
			continue
		}
		reaching.room += maxHTMLReach
		cells = reaching.fill(cells)
		if len(cells) >= maxHTMLColumns {
			break
		}
		text := compose.OneLine(w.textOf(n))
		own = own || text != ""
		columns, rows := htmlSpanOf(n, "colspan"), htmlSpanOf(n, "rowspan")
		if n.DataAtom == atom.Th {
			headers += columns
		}
		for range columns {
			if rows > 1 {
				reaching.cells[len(cells)] = &htmlSpan{text, rows - 1}
			}
			cells = append(cells, text)
			text = ""
		}
	}
	cells = reaching.fill(cells)
	if !own {
		return nil, 0
	}
	return cells, headers
}

func htmlSpanOf(cell *html.Node, name string) int {
	n, err := strconv.Atoi(strings.TrimSpace(attr(cell, name)))
	if err != nil {
		return 1
	}
	return min(max(n, 1), maxHTMLSpan)
}
