// Package tabular reads delimited values, and turns the rows of sheets into blocks: it recognises
// titles and headers, and writes each row so that it can be understood without the rows around it.
package tabular

import (
	"strings"

	"parley/internal/extract"
	"parley/internal/extract/compose"
)

// GridCell is a cell of a sheet that is not empty.
type GridCell struct {
	Column int // from 0
	Text   string
}

// Grid turns the rows of a sheet into blocks. A sheet may have titles above its tables and several
// tables one below the other. The first row of names becomes the header of the rows below it; after
// empty rows, a title or another row of names begins a new table.
type Grid struct {
	Out     *compose.Builder
	Name    string         // of the sheet, its heading; "" once written
	header  map[int]string // names of the columns; nil while none are known
	Least   int            // fewest columns of a header; 0 means 2
	inTable bool
	last    int // number of the last row with cells
}

// Row appends a row. Numbers ascend from 1; empty rows may be left out.
func (g *Grid) Row(number int, cells []GridCell) error {
	texts := make([]string, 0, len(cells))
	for i := range cells {
		cells[i].Text = compose.OneLine(cells[i].Text)
		texts = append(texts, cells[i].Text)
	}
	if Filled(texts) == 0 {
		return nil
	}
	if err := g.Heading(); err != nil {
		return err
	}
	gap := number > g.last+1
	g.last = number
	if len(cells) == 1 && (gap || !g.inTable) {
		g.header, g.inTable = nil, false
		return g.Out.Add(extract.Paragraph, 0, texts[0])
	}
	if (!g.inTable || gap && !g.fits(cells)) && len(cells) >= g.Least && IsHeader(texts) {
		g.inTable, g.header = true, map[int]string{}
		for _, c := range cells {
			g.header[c.Column] = c.Text
		}
		return g.Out.Add(extract.TableHeader, 0, strings.Join(texts, " | "))
	}
	g.inTable = true
	return g.Out.Add(extract.TableRow, 0, g.text(cells))
}

// Heading writes the sheet's name once it has something below it.
func (g *Grid) Heading() error {
	name := g.Name
	g.Name = ""
	return g.Out.Add(extract.Heading, 1, compose.OneLine(name))
}

// fits reports whether all cells are in columns that have a name.
func (g *Grid) fits(cells []GridCell) bool {
	for _, c := range cells {
		if g.header[c.Column] == "" {
			return false
		}
	}
	return true
}

// text renders a row so that it can be read on its own, as compose.RowText does.
func (g *Grid) text(cells []GridCell) string {
	header, texts := make([]string, 0, len(cells)), make([]string, 0, len(cells))
	for _, c := range cells {
		texts = append(texts, c.Text)
		if g.header != nil {
			header = append(header, g.header[c.Column])
		}
	}
	return compose.RowText(header, texts)
}

// MaxColumns is the maximum number of columns of a sheet.
const MaxColumns = 16384
