package extract

import "strings"

// gridCell is a cell of a sheet that is not empty.
type gridCell struct {
	column int // from 0
	text   string
}

// grid turns the rows of a sheet into blocks. A sheet is not one table from corner to corner:
// titles stand above tables, and tables one below the other. The first row of several names
// becomes the header of the rows below it; after empty rows a title or other names begin a new
// table.
type grid struct {
	out     *builder
	name    string         // of the sheet, its heading; "" once written
	header  map[int]string // names of the columns; nil while none are known
	least   int            // columns of a row that can be a header; 0 for 2
	inTable bool
	last    int // number of the last row with cells
}

// row appends a row. Numbers ascend from 1, with gaps for empty rows.
func (g *grid) row(number int, cells []gridCell) error {
	texts := make([]string, 0, len(cells))
	for i := range cells {
		cells[i].text = oneLine(cells[i].text)
		texts = append(texts, cells[i].text)
	}
	if filled(texts) == 0 {
		return nil
	}
	if err := g.heading(); err != nil {
		return err
	}
	gap := number > g.last+1
	g.last = number
	if len(cells) == 1 && (gap || !g.inTable) {
		g.header, g.inTable = nil, false
		return g.out.add(Paragraph, 0, texts[0])
	}
	if (!g.inTable || gap && !g.fits(cells)) && len(cells) >= g.least && isHeader(texts) {
		g.inTable, g.header = true, map[int]string{}
		for _, c := range cells {
			g.header[c.column] = c.text
		}
		return g.out.add(TableHeader, 0, strings.Join(texts, " | "))
	}
	g.inTable = true
	return g.out.add(TableRow, 0, g.text(cells))
}

// heading writes the sheet's name once it has something below it.
func (g *grid) heading() error {
	name := g.name
	g.name = ""
	return g.out.add(Heading, 1, oneLine(name))
}

// fits reports whether all cells stand in columns that have a name.
func (g *grid) fits(cells []gridCell) bool {
	for _, c := range cells {
		if g.header[c.column] == "" {
			return false
		}
	}
	return true
}

// text renders a row so that it reads on its own, as rowText does.
func (g *grid) text(cells []gridCell) string {
	header, texts := make([]string, 0, len(cells)), make([]string, 0, len(cells))
	for _, c := range cells {
		texts = append(texts, c.text)
		if g.header != nil {
			header = append(header, g.header[c.column])
		}
	}
	return rowText(header, texts)
}
