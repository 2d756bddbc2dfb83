package ooxml

import (
	"context"
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"

	"parley/internal/extract"
	"parley/internal/extract/compose"
	"parley/internal/extract/tabular"
	"parley/internal/extract/zipxml"
)

// docxWalker reads parts of WordprocessingML as streams.
type docxWalker struct {
	out       compose.Builder
	styles    docxStyles
	numbering *compose.Numbering

	paragraphs []*docxParagraph // open ones: a text box is a paragraph inside a paragraph
	tables     []docxTable      // open ones
	parts      docxParts
}

// docxParagraph is a paragraph that is being read.
type docxParagraph struct {
	text    strings.Builder
	style   string
	outline int
	list    string
	level   int
	script  compose.Script // of the run that is being read
	font    string         // of the run
}

// docxTable is a table that is being read. Tables in cells are read into the cell.
type docxTable struct {
	rows      [][]string
	hasHeader bool
	span      int // columns of the cell that is being read
}

// skippedDOCX are elements whose content does not belong to the document's text: fallbacks for newer elements, deleted
// text, instructions of fields, and the anchors of comments.
var skippedDOCX = map[string]bool{
	"Fallback": true, "del": true, "moveFrom": true, "instrText": true, "delText": true, "delInstrText": true,
	"rPrChange": true, "pPrChange": true, "sectPr": true, "tblPr": true, "tblGrid": true, "tcPr": true, "rubyPr": true, "rt": true,
	"sdtPr": true, "binData": true,
}

// maxDOCXDepth is the maximum depth of paragraphs and tables inside each other.
const maxDOCXDepth = 100

func (w *docxWalker) read(ctx context.Context, part io.Reader) error {
	err := zipxml.EachToken(ctx, part, func(d *xml.Decoder, token xml.Token) error {
		switch t := token.(type) {
		case xml.StartElement:
			if skippedDOCX[t.Name.Local] {
				return d.Skip()
			}
			return w.start(d, t)
		case xml.EndElement:
			return w.end(t.Name.Local)
		}
		return nil
	})
	if zipxml.IsSyntaxError(err) {
		w.finish()
	}
	return err
}

func (w *docxWalker) start(d *xml.Decoder, e xml.StartElement) error {
	switch e.Name.Local {
	case "p":
		if isDrawing(e.Name) {
			return nil
		}
		if len(w.paragraphs) >= maxDOCXDepth {
			return extract.Damagedf("the document's text boxes are nested too deeply")
		}
		w.paragraphs = append(w.paragraphs, &docxParagraph{})
		return nil
	case "tbl":
		if len(w.tables) >= maxDOCXDepth {
			return extract.Damagedf("the document's tables are nested too deeply")
		}
		w.tables = append(w.tables, docxTable{})
		return nil
	case "footnote", "endnote":
		if zipxml.Attr(e, "type") != "" { // separators between the text and the notes
			return d.Skip()
		}
		return nil
	}
	if n := len(w.tables); n > 0 {
		table := &w.tables[n-1]
		rows := len(table.rows)
		switch {
		case e.Name.Local == "tr":
			table.rows = append(table.rows, nil)
		case e.Name.Local == "tc" && rows > 0:
			table.rows[rows-1] = append(table.rows[rows-1], "")
			table.span = 1
		case e.Name.Local == "gridSpan":
			table.span = max(1, zipxml.SmallNumber(zipxml.Attr(e, "val")))
		case e.Name.Local == "tblHeader" && rows == 1:
			table.hasHeader = true
		}
	}
	if n := len(w.paragraphs); n > 0 {
		if e.Name.Local == "oMath" {
			latex, err := readFormula(d, e)
			w.paragraphs[n-1].text.WriteString(latex)
			return err
		}
		if e.Name.Local == "rStyle" {
			w.paragraphs[n-1].script = w.styles[zipxml.Attr(e, "val")].script
			return nil
		}
		if id, found := w.parts.refersTo(e); found {
			w.parts.due = append(w.parts.due, id)
			return nil
		}
		return w.paragraphs[n-1].element(d, e)
	}
	return nil
}

// element reads one element inside a paragraph.
func (p *docxParagraph) element(d *xml.Decoder, e xml.StartElement) error {
	switch e.Name.Local {
	case "pStyle":
		p.style = zipxml.Attr(e, "val")
	case "outlineLvl":
		p.outline = outlineLevel(zipxml.Attr(e, "val"))
	case "numId":
		p.list = zipxml.Attr(e, "val")
	case "ilvl":
		p.level = zipxml.SmallNumber(zipxml.Attr(e, "val"))
	case "r":
		p.script, p.font = compose.OnLine, ""
	case "rFonts":
		p.font = zipxml.Attr(e, "ascii")
	case "position": // raised by a number of half points
		if n, err := strconv.Atoi(zipxml.Attr(e, "val")); err == nil && n != 0 {
			p.script = compose.Shift(n)
		}
	case "vertAlign":
		p.script = vertical(zipxml.Attr(e, "val"))
	case "t":
		var s string
		if err := d.DecodeElement(&s, &e); err != nil {
			return fmt.Errorf("read the document's text: %w", err)
		}
		p.text.WriteString(p.script.Write(compose.FontText(p.font, s)))
	case "tab", "ptab":
		if len(e.Attr) == 0 || e.Name.Local == "ptab" { // with attributes it defines a tab stop
			p.text.WriteByte('\t')
		}
	case "docPr": // of a picture or a shape
		if alt := zipxml.Attr(e, "descr"); alt != "" {
			p.text.WriteString(" " + withoutOrigin(alt) + " ")
		}
	case "br", "cr":
		p.text.WriteByte('\n')
	case "noBreakHyphen":
		p.text.WriteByte('-')
	case "sym":
		if code, err := strconv.ParseUint(zipxml.Attr(e, "char"), 16, 16); err == nil {
			p.text.WriteRune(compose.FontRune(zipxml.Attr(e, "font"), rune(code)))
		}
	}
	return nil
}

func (w *docxWalker) end(name string) error {
	switch name {
	case "p":
		if err := w.endParagraph(); err != nil {
			return err
		}
		return w.writeParts()
	case "tbl":
		if err := w.endTable(); err != nil {
			return err
		}
		return w.writeParts()
	case "tc":
		if n := len(w.tables); n > 0 {
			w.tables[n-1].endCell()
		}
	}
	return nil
}

func (w *docxWalker) endParagraph() error {
	if len(w.paragraphs) == 0 {
		return nil
	}
	p := w.paragraphs[len(w.paragraphs)-1]
	text := strings.TrimSpace(compose.SpacesOnly.Replace(compose.Clean(p.text.String())))
	heading, list, level := w.styles.resolve(p.style)
	if p.outline > 0 {
		heading = p.outline
	}
	if p.list != "" {
		list, level = p.list, p.level
	}
	w.paragraphs = w.paragraphs[:len(w.paragraphs)-1]
	if text == "" {
		return nil
	}
	isItem := heading == 0 && list != "" && list != "0"
	if list != "" && list != "0" {
		if marker := w.numbering.Marker(list, level); isItem || marker != compose.Bullet {
			text = marker + text
		}
	}
	if n := len(w.tables); n > 0 {
		w.tables[n-1].write(text)
		return nil
	}
	switch {
	case heading > 0:
		return w.out.Add(extract.Heading, heading, compose.OneLine(text))
	case isItem || compose.ListMarker(text) > 0:
		return w.out.Add(extract.ListItem, 0, text)
	}
	return w.out.Add(extract.Paragraph, 0, text)
}

// write adds a paragraph to the cell that is being read.
func (t *docxTable) write(text string) {
	if len(t.rows) == 0 || len(t.rows[len(t.rows)-1]) == 0 {
		return
	}
	cells := t.rows[len(t.rows)-1]
	last := &cells[len(cells)-1]
	*last = strings.TrimSpace(*last + " " + text)
}

// endCell adds empty cells for the other columns of a cell that spans several, so that later cells stay below their
// names.
func (t *docxTable) endCell() {
	if len(t.rows) == 0 {
		return
	}
	row := &t.rows[len(t.rows)-1]
	for ; t.span > 1; t.span-- {
		*row = append(*row, "")
	}
}

// endTable appends a table to the text, or to the cell of the enclosing table. A table of one column is a frame around
// paragraphs. The first row is the header if it is marked as such, or if all its cells are filled and short, since Word
// marks few headers.
func (w *docxWalker) endTable() error {
	if len(w.tables) == 0 {
		return nil
	}
	table := w.tables[len(w.tables)-1]
	w.tables = w.tables[:len(w.tables)-1]
	if n := len(w.tables); n > 0 {
		for _, cells := range table.rows {
			w.tables[n-1].write(compose.RowText(nil, cells))
		}
		return nil
	}
	columns := 0
	for _, cells := range table.rows {
		columns = max(columns, len(cells))
	}
	if columns < 2 {
		for _, cells := range table.rows {
			if err := w.out.Add(extract.Paragraph, 0, strings.Join(cells, " ")); err != nil {
				return err
			}
		}
		return nil
	}
	hasHeader := table.hasHeader || columns > 2 && len(table.rows[0]) == columns && tabular.IsHeader(table.rows[0])
	return w.out.AddTable(table.rows, hasHeader)
}

// finish keeps the text of open tables when the document ends early.
func (w *docxWalker) finish() {
	w.paragraphs = nil
	for len(w.tables) > 0 {
		if w.endTable() != nil {
			return
		}
	}
}
