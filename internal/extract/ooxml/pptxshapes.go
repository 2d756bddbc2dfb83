package ooxml

import (
	"encoding/xml"
	"strconv"
	"strings"

	"parley/internal/extract"
	"parley/internal/extract/compose"
	"parley/internal/extract/tabular"
	"parley/internal/extract/zipxml"
)

// shape is an object on a slide with text: paragraphs, or a table.
type shape struct {
	role        string // type of the placeholder that it fills: "title", "body"; "" for none
	placeholder bool
	paragraphs  []slideParagraph
	rows        [][]string // of a table
}

// slideParagraph is one paragraph of a shape.
type slideParagraph struct {
	text   string
	level  int // of the list, from 0
	bullet bulletKind
	number string // the scheme of a number (ECMA-376 part 1, section 20.1.10.61): "alphaLcParenR"
	start  int    // the first number of the paragraph's list; 0 for 1
}

type bulletKind uint8

const (
	bulletInherited bulletKind = iota // the master decides: bodies have bullets, other shapes none
	bulletNone
	bulletSign
	bulletNumber
)

// text joins the paragraphs of a shape.
func (s shape) text() string {
	var b strings.Builder
	for _, p := range s.paragraphs {
		b.WriteString(p.text + "\n")
	}
	return b.String()
}

// furniture are the roles of placeholders that say nothing about the slide's subject.
var furniture = map[string]bool{"sldNum": true, "dt": true, "ftr": true, "hdr": true, "sldImg": true}

// write appends the shape's blocks.
func (s shape) write(out *compose.Builder) error {
	if furniture[s.role] {
		return nil
	}
	if s.rows != nil {
		return out.AddTable(s.rows, len(s.rows[0]) > 1 && tabular.IsHeader(s.rows[0]))
	}
	isBody := s.placeholder && (s.role == "" || s.role == "body" || s.role == "obj")
	var lists slideLists
	for _, p := range s.paragraphs {
		kind, marker := extract.Paragraph, ""
		switch {
		case p.bullet == bulletNumber:
			kind, marker = extract.ListItem, lists.next(p)+" "
		case p.bullet == bulletSign, p.bullet == bulletInherited && isBody && len(s.paragraphs) > 1:
			kind, marker = extract.ListItem, "• "
		case compose.ListMarker(p.text) > 0:
			kind = extract.ListItem
		}
		if err := out.Add(kind, 0, marker+p.text); err != nil {
			return err
		}
	}
	return nil
}

// slideLists counts the items of the numbered lists of a shape, by level.
type slideLists [10]struct {
	count, start int
	scheme       string
}

// next returns the number of a paragraph.
func (l *slideLists) next(p slideParagraph) string {
	level := min(max(p.level, 0), len(l)-1)
	at := &l[level]
	if at.count == 0 || at.scheme != p.number || at.start != p.start {
		at.count, at.scheme, at.start = max(p.start, 1)-1, p.number, p.start
	}
	at.count++
	clear(l[level+1:])
	format := "decimal"
	for prefix, name := range map[string]string{"alphaLc": "lowerLetter", "alphaUc": "upperLetter", "romanLc": "lowerRoman", "romanUc": "upperRoman"} {
		if strings.HasPrefix(p.number, prefix) {
			format = name
		}
	}
	number := compose.ListNumber(at.count, format)
	switch {
	case strings.HasSuffix(p.number, "ParenBoth"):
		return "(" + number + ")"
	case strings.HasSuffix(p.number, "ParenR"):
		return number + ")"
	}
	return number + "."
}

// shapeWalker collects the shapes of a slide from its XML.
type shapeWalker struct {
	shapes []shape
	left   int64 // bytes of text that may still come
	text   strings.Builder
	now    slideParagraph
	cell   bool           // within a cell of a table
	script compose.Script // of the run
	font   string         // of signs in the run
}

func (w *shapeWalker) visit(d *xml.Decoder, token xml.Token) error {
	switch t := token.(type) {
	case xml.StartElement:
		return w.start(d, t)
	case xml.EndElement:
		return w.end(t.Name)
	}
	return nil
}

func (w *shapeWalker) start(d *xml.Decoder, e xml.StartElement) error {
	switch e.Name.Local {
	case "Fallback":
		return d.Skip()
	case "sp":
		w.shapes = append(w.shapes, shape{})
	case "ph":
		if s := w.last(); s != nil {
			s.role, s.placeholder = zipxml.Attr(e, "type"), true
		}
	}
	if isFormula(e.Name) {
		if e.Name.Local != "oMath" {
			return nil
		}
		latex, err := readFormula(d, e)
		w.text.WriteString(latex)
		return err
	}
	if !isDrawing(e.Name) {
		return nil
	}
	switch e.Name.Local {
	case "tbl":
		w.shapes = append(w.shapes, shape{})
	case "tr":
		if s := w.last(); s != nil {
			s.rows = append(s.rows, nil)
		}
	case "tc":
		if s := w.last(); s != nil && len(s.rows) > 0 {
			row := &s.rows[len(s.rows)-1]
			*row = append(*row, "")
			w.cell = true
		}
	case "p":
		w.text.Reset()
		w.now = slideParagraph{}
	case "pPr":
		w.now.level = zipxml.SmallNumber(zipxml.Attr(e, "lvl"))
	case "buNone":
		w.now.bullet = bulletNone
	case "buChar", "buBlip":
		w.now.bullet = bulletSign
	case "buAutoNum":
		w.now.bullet = bulletNumber
		w.now.number = zipxml.Attr(e, "type")
		w.now.start, _ = strconv.Atoi(zipxml.Attr(e, "startAt")) // 0 if it is not a number
	case "r", "fld":
		w.script, w.font = compose.OnLine, ""
	case "sym":
		w.font = zipxml.Attr(e, "typeface")
	case "rPr":
		baseline, err := strconv.Atoi(strings.TrimSuffix(zipxml.Attr(e, "baseline"), "%"))
		if w.script = compose.OnLine; err == nil {
			w.script = compose.Shift(baseline)
		}
	default:
		if w.script == compose.OnLine && w.font == "" {
			return drawingText(d, e, &w.text)
		}
		var text strings.Builder
		err := drawingText(d, e, &text)
		w.text.WriteString(w.script.Write(compose.SignText(w.font, text.String())))
		return err
	}
	return nil
}

func (w *shapeWalker) end(name xml.Name) error {
	if !isDrawing(name) {
		return nil
	}
	switch name.Local {
	case "tc":
		w.cell = false
	case "p":
		s := w.last()
		text := strings.TrimSpace(compose.SpacesOnly.Replace(compose.Clean(w.text.String())))
		if s == nil || text == "" {
			return nil
		}
		if w.left -= int64(len(text)); w.left < 0 {
			return extract.TooLargef("a slide has more text than allowed")
		}
		if w.cell {
			row := s.rows[len(s.rows)-1]
			row[len(row)-1] = strings.TrimSpace(row[len(row)-1] + " " + text)
			return nil
		}
		w.now.text = text
		s.paragraphs = append(s.paragraphs, w.now)
	}
	return nil
}

func (w *shapeWalker) last() *shape {
	if len(w.shapes) == 0 {
		return nil
	}
	return &w.shapes[len(w.shapes)-1]
}
