package markup

import "parley/internal/extract/compose"

// xmlTable is a table of XML that is being read: rows of cells, with the element names of XHTML, of the CALS model of
// DocBook, or of DITA's simple tables.
type xmlTable struct {
	rows      [][]string
	cells     []string // of the row that is open
	hasHeader bool
	held      int64 // bytes of text
}

var (
	xmlCells = map[string]bool{"td": true, "th": true, "entry": true, "stentry": true, "cell": true}
	xmlRows  = map[string]bool{"tr": true, "row": true, "strow": true, "sthead": true}
)

// startsCell reports whether an element of this name, which begins now, is a cell of a row.
func (w *xmlWalker) startsCell(name string) bool {
	return xmlCells[name] && len(w.open) > 0 && xmlRows[w.open[len(w.open)-1].name]
}

// cellIs reports whether the open element i is a cell of a row.
func (w *xmlWalker) cellIs(i int) bool {
	return i > 0 && xmlCells[w.open[i].name] && xmlRows[w.open[i-1].name]
}

// endCell adds a cell that has ended and is no longer among the open elements.
func (w *xmlWalker) endCell(e *xmlElement) error {
	t := &w.table
	if w.lines.Len() > 0 {
		if err := w.flush(); err != nil {
			return err
		}
	}
	text := compose.OneLine(compose.Clean(e.text.String()))
	if t.held += int64(len(text)) + 2; t.held > w.out.Budget.Left {
		return w.out.Budget.Exceeded()
	}
	w.hasText = w.hasText || text != ""
	t.cells = append(t.cells, text)
	if len(t.rows) == 0 {
		row := w.open[len(w.open)-1]
		t.hasHeader = t.hasHeader || e.name == "th" || row.name == "sthead" || len(w.open) > 1 && w.open[len(w.open)-2].name == "thead"
	}
	return nil
}

// endRow ends the row that is open, and reports whether there is one.
func (t *xmlTable) endRow() bool {
	if len(t.cells) == 0 {
		return false
	}
	t.rows, t.cells = append(t.rows, t.cells), nil
	return true
}

// write appends the rows so far.
func (t *xmlTable) write(out *compose.Builder) error {
	t.endRow()
	rows, hasHeader := t.rows, t.hasHeader
	*t = xmlTable{}
	if len(rows) == 0 {
		return nil
	}
	return out.AddTable(rows, hasHeader)
}
