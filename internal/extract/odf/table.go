package odf

import (
	"encoding/xml"
	"strconv"
	"strings"

	"parley/internal/extract/compose"
	"parley/internal/extract/tabular"
	"parley/internal/extract/zipxml"
)

// odfTable is a table that is being read. The sheets of a spreadsheet are tables too, with a million rows, most of them
// empty.
type odfTable struct {
	grid   tabular.Grid
	number int // of the row
	rows   int // number of repetitions of the row
	column int
	repeat int // number of repetitions of the cell
	cells  []tabular.GridCell
	text   strings.Builder // of the cell
	said   []string        // comments on the cell
	inCell bool
}

// repeats is the maximum number of repetitions of a cell or row that is not empty.
const repeats = 1000

// cell returns the innermost table if the walker is in one of its cells, and nil otherwise.
func (w *odfWalker) cell() *odfTable {
	if n := len(w.table); n > 0 && w.table[n-1].inCell {
		return w.table[n-1]
	}
	return nil
}

func (w *odfWalker) startTable(e xml.StartElement) error {
	if e.Name.Local == "table" && isODFTable(e.Name) {
		w.table = append(w.table, &odfTable{grid: w.newGrid(e)})
		return nil
	}
	n := len(w.table)
	if n == 0 || !isODFTable(e.Name) {
		return nil
	}
	t := w.table[n-1]
	switch e.Name.Local {
	case "table-header-rows":
		t.grid.Least = min(t.grid.Least, 2)
	case "table-row":
		t.rows = repeated(e, "number-rows-repeated")
		t.column, t.cells = 0, t.cells[:0]
	case "table-cell", "covered-table-cell":
		t.repeat = repeated(e, "number-columns-repeated")
		t.text.Reset()
		t.said = nil
		t.inCell = true
	}
	return nil
}

func isODFTable(name xml.Name) bool {
	return strings.HasSuffix(name.Space, ":table:1.0") || strings.HasSuffix(name.Space, "/table")
}

// newGrid begins a sheet, which has a name, or a table in a text. In texts, few tables of two columns have a header.
func (w *odfWalker) newGrid(e xml.StartElement) tabular.Grid {
	if w.sheets {
		return tabular.Grid{Out: &w.out, Name: compose.Clean(zipxml.Attr(e, "name"))}
	}
	return tabular.Grid{Out: &w.out, Least: 3}
}

func repeated(e xml.StartElement, attr string) int {
	n, err := strconv.Atoi(zipxml.Attr(e, attr))
	if err != nil || n < 1 {
		return 1
	}
	return n
}

func (w *odfWalker) endTable(name string) error {
	n := len(w.table)
	if n == 0 {
		return nil
	}
	t := w.table[n-1]
	switch name {
	case "table-cell", "covered-table-cell":
		t.endCell()
	case "table-row":
		return w.endRow(t)
	case "table":
		w.table = w.table[:n-1]
	}
	return nil
}

// write adds a paragraph to the cell.
func (t *odfTable) write(text string, b *compose.Budget) error {
	if int64(t.text.Len()+len(text)) > b.Left {
		return b.Exceeded()
	}
	if t.text.Len() > 0 {
		t.text.WriteByte(' ')
	}
	t.text.WriteString(text)
	return nil
}

// comment notes a comment on the cell. The file has it before the text of the cell; the document has it after the text.
func (t *odfTable) comment(text string, b *compose.Budget) error {
	if int64(len(t.said)) > b.Left {
		return b.Exceeded()
	}
	t.said = append(t.said, text)
	return nil
}

func (t *odfTable) endCell() {
	if len(t.said) > 0 {
		if t.text.Len() > 0 {
			t.text.WriteByte(' ')
		}
		t.text.WriteString("(Comment: " + strings.Join(t.said, " ") + ")")
	}
	if t.text.Len() > 0 {
		for i := range min(t.repeat, repeats) {
			if t.column+i < tabular.MaxColumns {
				t.cells = append(t.cells, tabular.GridCell{Column: t.column + i, Text: t.text.String()})
			}
		}
	}
	t.column = min(t.column+t.repeat, tabular.MaxColumns)
	t.inCell = false
}

// endRow appends a row, or puts it into the cell of the table around it.
func (w *odfWalker) endRow(t *odfTable) error {
	defer func() { t.number += t.rows }()
	if len(t.cells) == 0 {
		return nil
	}
	if n := len(w.table); n > 1 && w.table[n-2].inCell {
		var texts []string
		for _, c := range t.cells {
			texts = append(texts, c.Text)
		}
		return w.table[n-2].write(compose.RowText(nil, texts), w.budget)
	}
	for i := range min(t.rows, repeats) {
		if err := t.grid.Row(t.number+i+1, t.cells); err != nil {
			return err
		}
	}
	return nil
}
