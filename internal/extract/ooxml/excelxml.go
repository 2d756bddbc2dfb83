package ooxml

import (
	"context"
	"encoding/xml"
	"io"
	"strconv"
	"strings"

	"parley/internal/extract"
	"parley/internal/extract/compose"
	"parley/internal/extract/numfmt"
	"parley/internal/extract/tabular"
	"parley/internal/extract/zipxml"
)

var _ = extract.Register("Excel XML", extract.Reader{Read: readExcelXML})

// readExcelXML reads a workbook of Excel 2003 that is one XML file.
func readExcelXML(ctx context.Context, f *extract.File) (*extract.Document, error) {
	out := compose.Builder{Budget: compose.NewBudget(f.Limits)}
	w := excelXMLWalker{grid: tabular.Grid{Out: &out}, out: &out}
	doc := &extract.Document{}
	switch err := zipxml.EachToken(ctx, io.NewSectionReader(f.Content, 0, f.Size), w.visit); {
	case zipxml.IsSyntaxError(err) && len(out.Blocks) > 0:
		doc.Notes = append(doc.Notes, "the workbook is damaged, and was read up to the damage")
	case zipxml.IsSyntaxError(err):
		return nil, extract.Damagedf("the workbook is not well-formed XML")
	case err != nil:
		return nil, err
	}
	doc.Pages = []extract.Page{out.Page(0, false)}
	return doc, nil
}

// excelXMLWalker reads the rows of a workbook's sheets.
type excelXMLWalker struct {
	out    *compose.Builder
	grid   tabular.Grid
	number int // of the row
	column int
	cells  []tabular.GridCell
	held   int64 // bytes of the row
}

func (w *excelXMLWalker) visit(d *xml.Decoder, token xml.Token) error {
	switch t := token.(type) {
	case xml.StartElement:
		switch t.Name.Local {
		case "Worksheet":
			w.grid = tabular.Grid{Out: w.out, Name: compose.Clean(zipxml.Attr(t, "Name"))}
			w.number = 0
		case "Row":
			w.number = indexed(t, w.number)
			w.cells, w.column, w.held = w.cells[:0], 0, 0
		case "Cell":
			w.column = indexed(t, w.column)
		case "Data":
			return w.data(d, t)
		case "Comment":
			return d.Skip()
		}
	case xml.EndElement:
		if t.Name.Local == "Row" {
			return w.grid.Row(w.number, w.cells)
		}
	}
	return nil
}

// data reads a cell's value, which may hold markup.
func (w *excelXMLWalker) data(d *xml.Decoder, e xml.StartElement) error {
	var text strings.Builder
	for depth := 1; depth > 0; {
		token, err := d.Token()
		if err != nil {
			return err
		}
		switch t := token.(type) {
		case xml.StartElement:
			depth++
		case xml.EndElement:
			depth--
		case xml.CharData:
			text.Write(t)
		}
	}
	value := compose.Clean(text.String())
	if date, _, ok := strings.Cut(value, "T00:00:00"); ok && zipxml.Attr(e, "Type") == "DateTime" {
		value = date
	}
	if v, err := strconv.ParseFloat(value, 64); err == nil && zipxml.Attr(e, "Type") == "Number" {
		value = numfmt.Plain(v)
	}
	if w.held += int64(len(value)); w.held > w.out.Budget.Left {
		return w.out.Budget.Exceeded()
	}
	if value != "" && w.column <= tabular.MaxColumns {
		w.cells = append(w.cells, tabular.GridCell{Column: w.column, Text: value})
	}
	return nil
}

// indexed returns the number of a row or cell: its Index attribute, or the number after last.
func indexed(e xml.StartElement, last int) int {
	n, err := strconv.Atoi(zipxml.Attr(e, "Index"))
	if err != nil || n <= last || n > 1<<21 {
		return last + 1
	}
	return n
}
