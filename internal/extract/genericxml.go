package extract

import (
	"context"
	"encoding/xml"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"parley/internal/extract/numfmt"
)

var (
	_ = reads("XML", reader{read: readXML, looks: func(f *file) bool { return f.isMisnamed() && looksLikeXML(f.head) }})
	_ = reads("Word XML", reader{read: readWordXML})
	_ = reads("Excel XML", reader{read: readExcelXML})
)

// readXML reads XML of any kind by its form: an element with a long text is a paragraph, whatever
// stands inside it; elements with short texts are lines "name: text" of the element around them;
// what is called a title or heading is one.
func readXML(ctx context.Context, f *file) (*Document, error) {
	w := xmlWalker{out: builder{budget: newBudget(f.limits)}}
	err := eachToken(ctx, io.NewSectionReader(f.r, 0, f.size), w.visit)
	if err != nil && !isSyntaxError(err) {
		return nil, err
	}
	doc := &Document{}
	if err != nil {
		doc.Notes = append(doc.Notes, "the file is damaged, and was read up to the damage")
		w.open = nil
		if !w.hasText {
			return nil, damaged("the file is not well-formed XML")
		}
	}
	if err := w.flush(); err != nil {
		return nil, err
	}
	doc.Pages = []Page{w.out.page(0, false)}
	return doc, nil
}

// xmlWalker collects the texts of elements as they stream by.
type xmlWalker struct {
	out     builder
	hasText bool
	open    []*xmlElement
	lines   strings.Builder // of short texts that are not written yet
	depth   int             // of the element whose lines these are
	table   xmlTable        // that is not written yet
}

// xmlElement is an element that is open.
type xmlElement struct {
	name  string          // in lower case
	label string          // as it is written
	text  strings.Builder // its own and that of the elements inside it
	own   bool            // it has text of its own
	wide  bool            // a paragraph or cell, to which text farther inside belongs too
	inner bool            // what was added last is of an element inside it
}

// The bounds of elements.
const (
	maxXMLDepth = 100
	shortText   = 120 // characters
	longLines   = 2000
)

func (w *xmlWalker) visit(_ *xml.Decoder, token xml.Token) error {
	switch t := token.(type) {
	case xml.StartElement:
		if len(w.open) >= maxXMLDepth {
			return damaged("its elements are nested too deeply")
		}
		name := strings.ToLower(t.Name.Local)
		if around := len(w.open) - 1; around >= 0 && xmlBreaks[name] {
			w.open[around].text.WriteByte(' ')
		}
		w.open = append(w.open, &xmlElement{
			name: name, label: t.Name.Local, own: w.startsCell(name), wide: xmlProse[name] || xmlCells[name],
		})
	case xml.CharData:
		return w.text(string(t))
	case xml.EndElement:
		return w.end()
	}
	return nil
}

func (w *xmlWalker) text(s string) error {
	if len(w.open) == 0 {
		return nil
	}
	e := w.open[len(w.open)-1]
	if int64(e.text.Len()+len(s)) > w.out.budget.left {
		return w.out.budget.exceeded()
	}
	if strings.TrimSpace(s) != "" {
		e.own = true
		if e.inner && meets(e.text.String(), s) {
			e.text.WriteByte(' ')
		}
		e.inner = false
	}
	e.text.WriteString(s)
	return nil
}

// meets reports whether two texts put together would make one word of two.
func meets(before, after string) bool {
	last, _ := utf8.DecodeLastRuneInString(before)
	first, _ := utf8.DecodeRuneInString(after)
	isWord := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	return isWord(last) && isWord(first)
}

// end writes the element that ends, or hands its text to the element around it when that has text
// of its own.
func (w *xmlWalker) end() error {
	last := len(w.open) - 1
	if last < 0 {
		return nil
	}
	e := w.open[last]
	text, own := e.text.String(), e.own
	startsCell := w.cellIs(last)
	w.open = w.open[:last]
	switch around := w.mixed(); {
	case startsCell && around == nil:
		return w.endCell(e)
	case around != nil && (own || last > 0 && around == w.open[last-1]):
		return w.within(around, e)
	case xmlRows[e.name] && w.table.endRow():
		return nil
	}
	if last < w.depth {
		if err := w.flush(); err != nil {
			return err
		}
	}
	if !own {
		return nil
	}
	text = oneLine(cleanText(text))
	w.hasText = true
	short := utf8.RuneCountInString(text) <= shortText
	switch e.name {
	case "title", "head", "heading", "h1", "h2", "h3", "h4":
		if short {
			if err := w.flush(); err != nil {
				return err
			}
			return w.out.add(Heading, min(max(last, 1), 6), text)
		}
	}
	switch {
	case short && xmlProse[e.name]:
		return w.line(text, last)
	case short:
		return w.line(e.label+": "+text, last)
	}
	if err := w.flush(); err != nil {
		return err
	}
	return w.out.add(Paragraph, 0, text)
}

// xmlProse are the elements of the usual vocabularies of documents whose names say nothing of their
// text: DocBook, DITA, TEI, JATS, FictionBook and XHTML.
var xmlProse = map[string]bool{
	"p": true, "para": true, "simpara": true, "ab": true, "li": true, "listitem": true, "item": true, "cmd": true,
	"text": true, "body": true, "div": true, "span": true, "note": true, "footnote": true, "quote": true, "seg": true,
	"l": true, "line": true, "v": true, "code": true, "codeblock": true, "programlisting": true, "screen": true,
	"literallayout": true, "pre": true, "shortdesc": true, "emphasis": true, "strong": true, "subtitle": true,
}

// xmlBreaks are the elements without content that end a line.
var xmlBreaks = map[string]bool{"br": true, "lb": true, "pb": true}

// mixed is the open element to whose text an element that has ended belongs, nil for none: the one
// around it if that has text of its own, or a paragraph or cell farther out, as for a footnote's.
func (w *xmlWalker) mixed() *xmlElement {
	for i, e := range slices.Backward(w.open) {
		if e.own && (e.wide || i == len(w.open)-1) {
			return e
		}
	}
	return nil
}

// within adds the text of an element that has ended to one around it.
func (w *xmlWalker) within(around, e *xmlElement) error {
	text := e.text.String()
	if int64(around.text.Len()+len(text)) > w.out.budget.left {
		return w.out.budget.exceeded()
	}
	if xmlProse[e.name] || around != w.open[len(w.open)-1] || meets(around.text.String(), text) {
		around.text.WriteByte(' ')
	}
	around.text.WriteString(text)
	around.inner = true
	return nil
}

// line adds a line to those that stand together.
func (w *xmlWalker) line(text string, depth int) error {
	if w.lines.Len() > longLines || len(w.table.rows) > 0 {
		if err := w.flush(); err != nil {
			return err
		}
	}
	if w.lines.Len() > 0 {
		w.lines.WriteByte('\n')
	}
	w.lines.WriteString(cleanText(text))
	w.depth = depth
	return nil
}

func (w *xmlWalker) flush() error {
	text := w.lines.String()
	w.lines.Reset()
	w.depth = 0
	if err := w.out.add(Paragraph, 0, text); err != nil {
		return err
	}
	return w.table.write(&w.out)
}

// readWordXML reads a Word document that is one XML file: of Word 2003, or a package of today in
// the flat form. It has no styles that could be looked up, and so no headings but by outline level.
func readWordXML(ctx context.Context, f *file) (*Document, error) {
	w := docxWalker{out: builder{budget: newBudget(f.limits)}, styles: docxStyles{}, numbering: newDOCXNumbering()}
	doc := &Document{}
	switch err := w.read(ctx, io.NewSectionReader(f.r, 0, f.size)); {
	case isSyntaxError(err) && len(w.out.blocks) > 0:
		doc.Notes = append(doc.Notes, "the document is damaged, and was read up to the damage")
	case isSyntaxError(err):
		return nil, damaged("the text of the document is not well-formed XML")
	case err != nil:
		return nil, err
	}
	doc.Pages = []Page{w.out.page(0, false)}
	return doc, nil
}

// readExcelXML reads a workbook of Excel 2003 that is one XML file.
func readExcelXML(ctx context.Context, f *file) (*Document, error) {
	out := builder{budget: newBudget(f.limits)}
	w := excelXMLWalker{grid: grid{out: &out}, out: &out}
	doc := &Document{}
	switch err := eachToken(ctx, io.NewSectionReader(f.r, 0, f.size), w.visit); {
	case isSyntaxError(err) && len(out.blocks) > 0:
		doc.Notes = append(doc.Notes, "the workbook is damaged, and was read up to the damage")
	case isSyntaxError(err):
		return nil, damaged("the workbook is not well-formed XML")
	case err != nil:
		return nil, err
	}
	doc.Pages = []Page{out.page(0, false)}
	return doc, nil
}

// excelXMLWalker reads the rows of a workbook's sheets.
type excelXMLWalker struct {
	out    *builder
	grid   grid
	number int // of the row
	column int
	cells  []gridCell
	held   int64 // bytes of the row
}

func (w *excelXMLWalker) visit(d *xml.Decoder, token xml.Token) error {
	switch t := token.(type) {
	case xml.StartElement:
		switch t.Name.Local {
		case "Worksheet":
			w.grid = grid{out: w.out, name: cleanText(xmlAttr(t, "Name"))}
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
			return w.grid.row(w.number, w.cells)
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
	value := cleanText(text.String())
	if date, _, ok := strings.Cut(value, "T00:00:00"); ok && xmlAttr(e, "Type") == "DateTime" {
		value = date
	}
	if v, err := strconv.ParseFloat(value, 64); err == nil && xmlAttr(e, "Type") == "Number" {
		value = numfmt.Plain(v)
	}
	if w.held += int64(len(value)); w.held > w.out.budget.left {
		return w.out.budget.exceeded()
	}
	if value != "" && w.column <= maxColumns {
		w.cells = append(w.cells, gridCell{w.column, value})
	}
	return nil
}

// indexed returns the number of a row or cell: that which it names, or the next one.
func indexed(e xml.StartElement, last int) int {
	n, err := strconv.Atoi(xmlAttr(e, "Index"))
	if err != nil || n <= last || n > 1<<21 {
		return last + 1
	}
	return n
}
