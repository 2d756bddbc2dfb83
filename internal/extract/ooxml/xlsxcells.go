package ooxml

import (
	"encoding/xml"
	"strconv"
	"strings"

	"parley/internal/extract/compose"
	"parley/internal/extract/numfmt"
	"parley/internal/extract/tabular"
	"parley/internal/extract/zipxml"
)

// sheetWalker reads the rows of a sheet from its XML (ECMA-376 part 1, section 18.3).
type sheetWalker struct {
	x      *xlsxReader
	grid   tabular.Grid
	number int // of the row that is being read
	cells  []tabular.GridCell
	cell   xlsxCell
	left   int64
}

// xlsxCell is the cell that is being read.
type xlsxCell struct {
	column int // from 0
	kind   string
	style  int
	value  strings.Builder
}

func (w *sheetWalker) visit(d *xml.Decoder, token xml.Token) error {
	switch t := token.(type) {
	case xml.StartElement:
		switch t.Name.Local {
		case "row":
			w.number++
			if n, err := strconv.Atoi(zipxml.Attr(t, "r")); err == nil && n > w.number {
				w.number = n
			}
			w.cells, w.cell.column = w.cells[:0], -1
			w.left = w.x.out.Budget.Left
		case "c":
			w.startCell(t)
		case "v", "t":
			return decodeInto(d, t, &w.cell.value)
		case "f", "rPh":
			return d.Skip()
		case "oddHeader", "oddFooter", "extLst":
			return d.Skip()
		}
	case xml.EndElement:
		switch t.Name.Local {
		case "c":
			return w.endCell()
		case "row":
			return w.grid.Row(w.number, w.cells)
		}
	}
	return nil
}

func (w *sheetWalker) startCell(e xml.StartElement) {
	w.cell.column++
	if n := columnOf(zipxml.Attr(e, "r")); n > w.cell.column {
		w.cell.column = n
	}
	w.cell.kind = zipxml.Attr(e, "t")
	w.cell.style, _ = strconv.Atoi(zipxml.Attr(e, "s"))
	w.cell.value.Reset()
}

// endCell keeps the text that the cell shows. It limits the text of a row before the row is put together, because cells
// can share one long string.
func (w *sheetWalker) endCell() error {
	if w.cell.column >= tabular.MaxColumns {
		return nil
	}
	text := w.shown()
	if text == "" {
		return nil
	}
	if w.left -= int64(len(text)); w.left < 0 {
		return w.x.out.Budget.Exceeded()
	}
	w.cells = append(w.cells, tabular.GridCell{Column: w.cell.column, Text: text})
	return nil
}

// shown returns the text that the cell shows.
func (w *sheetWalker) shown() string {
	raw := w.cell.value.String()
	switch w.cell.kind {
	case "s":
		i, err := strconv.Atoi(strings.TrimSpace(raw))
		if err != nil || i < 0 || i >= len(w.x.strings) {
			return ""
		}
		return compose.Clean(unescapeOOXML(w.x.strings[i]))
	case "b":
		if strings.TrimSpace(raw) == "1" {
			return "TRUE"
		}
		return "FALSE"
	case "str", "inlineStr", "e", "d":
		return compose.Clean(unescapeOOXML(raw))
	}
	v, err := strconv.ParseFloat(strings.TrimSpace(raw), 64)
	if err != nil {
		return compose.Clean(raw)
	}
	format := numfmt.General
	if s := w.cell.style; s >= 0 && s < len(w.x.formats) {
		format = w.x.formats[s]
	}
	return compose.Clean(format.Text(v, w.x.epoch)) // the format may add text
}

// columnOf returns the column of a reference such as "AB12", from 0, or -1 if there is none.
func columnOf(ref string) int {
	n := 0
	for _, r := range ref {
		if r < 'A' || r > 'Z' || n > tabular.MaxColumns {
			break
		}
		n = n*26 + int(r-'A') + 1
	}
	return n - 1
}

// unescapeOOXML resolves the characters that XML cannot hold, written as _x000D_ (ECMA-376 part 1,
// section 22.4.2.4).
func unescapeOOXML(s string) string {
	if !strings.Contains(s, "_x") {
		return s
	}
	var b strings.Builder
	for {
		i := strings.Index(s, "_x")
		if i < 0 || i+7 > len(s) {
			break
		}
		code, err := strconv.ParseUint(s[i+2:i+6], 16, 16)
		if err != nil || s[i+6] != '_' {
			b.WriteString(s[:i+2])
			s = s[i+2:]
			continue
		}
		b.WriteString(s[:i])
		b.WriteRune(rune(code))
		s = s[i+7:]
	}
	b.WriteString(s)
	return b.String()
}
