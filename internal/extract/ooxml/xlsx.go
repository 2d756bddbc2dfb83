package ooxml

import (
	"context"
	"encoding/xml"
	"errors"
	"strconv"
	"strings"
	"time"

	"parley/internal/extract"
	"parley/internal/extract/compose"
	"parley/internal/extract/numfmt"
	"parley/internal/extract/tabular"
	"parley/internal/extract/zipxml"
)

var _ = extract.Register("Excel", extract.Reader{Read: readXLSX})

// readXLSX reads a SpreadsheetML workbook (ECMA-376 part 1), strict and transitional, sheet by
// sheet as a stream: values as the cells show them, then the sheet's comments, text boxes and
// charts. Formulas are represented by the values that were saved with them.
func readXLSX(ctx context.Context, f *extract.File) (*extract.Document, error) {
	archive, err := zipxml.Open(f)
	if err != nil {
		return nil, err
	}
	x := xlsxReader{archive: archive, out: compose.Builder{Budget: compose.NewBudget(f.Limits)}, limit: f.Limits.TextBytes}
	sheets, err := x.workbook()
	if err != nil {
		return nil, err
	}
	if len(sheets) == 0 {
		return nil, extract.Damagedf("the archive holds no workbook")
	}
	if err := x.readStrings(ctx); err != nil {
		return nil, err
	}
	if err := x.readStyles(); err != nil {
		return nil, err
	}
	doc := &extract.Document{}
	describe(doc, archive)
	for _, s := range sheets {
		broken, err := x.sheet(ctx, s)
		if err != nil {
			return nil, err
		}
		if broken {
			doc.Notes = append(doc.Notes, "the sheet "+s.name+" is damaged, and was read up to the damage")
		}
	}
	doc.Pages = []extract.Page{x.out.Page(0, false)}
	if len(x.out.Blocks) == 0 && len(doc.Notes) > 0 {
		return nil, extract.Damagedf("none of the sheets can be read")
	}
	return doc, nil
}

type xlsxReader struct {
	archive *zipxml.Archive
	main    string     // name of the workbook's part
	related []relation // of the workbook
	out     compose.Builder
	limit   int64    // bytes of the shared strings
	strings []string // shared by all sheets
	formats []numfmt.Format
	epoch   time.Time // day 0 of dates
}

// xlsxSheet is a sheet as the workbook lists it.
type xlsxSheet struct{ name, part string }

func (x *xlsxReader) workbook() ([]xlsxSheet, error) {
	x.main = mainPart(x.archive, "xl/workbook.xml")
	x.epoch = time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)
	var err error
	if x.related, err = relations(x.archive, x.main); err != nil {
		return nil, err
	}
	var sheets []xlsxSheet
	err = zipxml.EachElement(x.archive, x.main, func(_ *xml.Decoder, e xml.StartElement) error {
		switch e.Name.Local {
		case "workbookPr":
			if isTrue(zipxml.Attr(e, "date1904")) {
				x.epoch = time.Date(1904, 1, 1, 0, 0, 0, 0, time.UTC)
			}
		case "sheet":
			for _, r := range x.related {
				if r.id == zipxml.Attr(e, "id") {
					sheets = append(sheets, xlsxSheet{compose.Clean(zipxml.Attr(e, "name")), r.target})
				}
			}
		}
		return nil
	})
	if err != nil && !zipxml.IsSyntaxError(err) {
		return nil, err
	}
	if len(sheets) == 0 { // the workbook is damaged or its relations are
		for i, part := range numberedParts(x.archive, "xl/worksheets/sheet", ".xml") {
			sheets = append(sheets, xlsxSheet{"Sheet" + strconv.Itoa(i+1), part})
		}
	}
	return sheets, nil
}

func isTrue(attr string) bool { return attr == "1" || attr == "true" }

// part returns the part of a kind that the workbook refers to.
func (x *xlsxReader) part(kind, usual string) string {
	for _, r := range x.related {
		if r.kind == kind {
			return r.target
		}
	}
	return usual
}

// readStrings reads the strings to which cells refer by number (section 18.4), without the pronunciation in East Asian
// texts.
func (x *xlsxReader) readStrings(ctx context.Context) error {
	var text strings.Builder
	total := int64(0)
	_, err := zipxml.ReadPart(ctx, x.archive, x.part("sharedStrings", "xl/sharedStrings.xml"), func(d *xml.Decoder, token xml.Token) error {
		switch t := token.(type) {
		case xml.StartElement:
			switch t.Name.Local {
			case "rPh":
				return d.Skip()
			case "t":
				return decodeInto(d, t, &text)
			}
		case xml.EndElement:
			if t.Name.Local == "si" {
				if total += int64(text.Len()); total > x.limit {
					return extract.TooLargef("the workbook has more than %s of text", extract.Megabytes(x.limit))
				}
				x.strings = append(x.strings, text.String())
				text.Reset()
			}
		}
		return nil
	})
	return err
}

func decodeInto(d *xml.Decoder, e xml.StartElement, text *strings.Builder) error {
	var s string
	if err := d.DecodeElement(&s, &e); err != nil {
		return err
	}
	text.WriteString(s)
	return nil
}

// readStyles reads the number formats of cells, by style.
func (x *xlsxReader) readStyles() error {
	custom := map[string]numfmt.Format{}
	inCells := false
	err := zipxml.EachElement(x.archive, x.part("styles", "xl/styles.xml"), func(_ *xml.Decoder, e xml.StartElement) error {
		switch e.Name.Local {
		case "numFmt":
			custom[zipxml.Attr(e, "numFmtId")] = numfmt.Parse(zipxml.Attr(e, "formatCode"))
		case "cellXfs":
			inCells = true
		case "cellStyles", "dxfs":
			inCells = false
		case "xf":
			if !inCells {
				return nil
			}
			id := zipxml.Attr(e, "numFmtId")
			f, known := custom[id]
			if !known {
				n, _ := strconv.Atoi(id)
				f = numfmt.Parse(numfmt.Builtin[n])
			}
			x.formats = append(x.formats, f)
		}
		return nil
	})
	if zipxml.IsSyntaxError(err) {
		return nil // numbers are shown as they are stored
	}
	return err
}

// sheet appends one sheet, and reports whether its part ends early.
func (x *xlsxReader) sheet(ctx context.Context, s xlsxSheet) (broken bool, err error) {
	w := sheetWalker{x: x, grid: tabular.Grid{Out: &x.out, Name: s.name}}
	if broken, err = zipxml.ReadPart(ctx, x.archive, s.part, w.visit); err != nil {
		return broken, err
	}
	related, err := attached(x.archive, s.part)
	if err != nil {
		return broken, err
	}
	for _, r := range related {
		switch r.kind {
		case "comments":
			err = x.comments(ctx, &w.grid, r.target)
		case "drawing":
			err = x.drawing(ctx, &w.grid, r.target)
		}
		if err != nil {
			return broken, err
		}
	}
	return broken, nil
}

// comments appends the comments on the cells of a sheet.
func (x *xlsxReader) comments(ctx context.Context, g *tabular.Grid, name string) error {
	var text strings.Builder
	ref := ""
	_, err := zipxml.ReadPart(ctx, x.archive, name, func(d *xml.Decoder, token xml.Token) error {
		switch t := token.(type) {
		case xml.StartElement:
			switch t.Name.Local {
			case "comment":
				ref = zipxml.Attr(t, "ref")
				text.Reset()
			case "t":
				return decodeInto(d, t, &text)
			}
		case xml.EndElement:
			if said := compose.OneLine(compose.Clean(text.String())); t.Name.Local == "comment" && said != "" {
				return errors.Join(g.Heading(), x.out.Add(extract.Paragraph, 0, "Comment on "+compose.Clean(ref)+": "+said))
			}
		}
		return nil
	})
	return err
}

// drawing appends the text boxes, diagrams and charts on a sheet.
func (x *xlsxReader) drawing(ctx context.Context, g *tabular.Grid, name string) error {
	related, err := attached(x.archive, name)
	if err != nil {
		return err
	}
	parts := []string{name}
	for _, r := range related {
		if r.kind == "diagramData" {
			parts = append(parts, r.target)
		}
	}
	for _, part := range parts {
		paragraphs, err := drawingParagraphs(ctx, x.archive, part, x.out.Budget.Left)
		if err != nil {
			return err
		}
		for _, p := range paragraphs {
			if err := errors.Join(g.Heading(), x.out.Add(extract.Paragraph, 0, p)); err != nil {
				return err
			}
		}
	}
	for _, r := range related {
		if r.kind != "chart" {
			continue
		}
		c, err := readChart(ctx, x.archive, r.target)
		if err == nil && (c.title.Len() > 0 || len(c.series) > 0) {
			err = errors.Join(g.Heading(), c.write(&x.out))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
