package markup

import (
	"context"
	"encoding/xml"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"parley/internal/extract"
	"parley/internal/extract/compose"
	"parley/internal/extract/latex"
	"parley/internal/extract/zipxml"
)

var (
	_ = extract.Register("XML", extract.Reader{Read: readXML, Looks: func(f *extract.File) bool { return f.IsMisnamed() && extract.LooksLikeXML(f.Head) }})
)

// readXML reads XML of any kind by its form. An element with a long text is a paragraph, whatever is inside it. Elements
// with short texts are lines "name: text" of the enclosing element. Elements that are called title or heading are
// headings.
func readXML(ctx context.Context, f *extract.File) (*extract.Document, error) {
	w := xmlWalker{out: compose.Builder{Budget: compose.NewBudget(f.Limits)}}
	err := zipxml.EachToken(ctx, io.NewSectionReader(f.Content, 0, f.Size), w.visit)
	if err != nil && !zipxml.IsSyntaxError(err) {
		return nil, err
	}
	doc := &extract.Document{}
	if err != nil {
		doc.Notes = append(doc.Notes, "the file is damaged, and was read up to the damage")
		w.open = nil
		if !w.hasText {
			return nil, extract.Damagedf("the file is not well-formed XML")
		}
	}
	if err := w.flush(); err != nil {
		return nil, err
	}
	doc.Pages = []extract.Page{w.out.Page(0, false)}
	return doc, nil
}

// xmlWalker collects the texts of elements while it reads them.
type xmlWalker struct {
	out      compose.Builder
	hasText  bool
	open     []*xmlElement
	lines    strings.Builder // of short texts that are not written yet
	depth    int             // of the element whose lines these are
	table    xmlTable        // that is not written yet
	declared bool            // the document type was read
}

// xmlElement is an element that is open.
type xmlElement struct {
	name  string          // in lower case
	label string          // as it is written
	text  strings.Builder // its own and that of the elements inside it
	own   bool            // it has text of its own
	wide  bool            // a paragraph or cell, which also owns text deeper inside
	inner bool            // the last text added came from an element inside it
}

// The bounds of elements.
const (
	maxXMLDepth = 100
	shortText   = 120 // characters
	longLines   = 2000
)

func (w *xmlWalker) visit(d *xml.Decoder, token xml.Token) error {
	if d.Entity == nil {
		d.Entity = xml.HTMLEntity
		d.Strict = false // accept a bare &
	}
	switch t := token.(type) {
	case xml.Directive:
		if !w.declared { // a document has one type
			w.declared = true
			d.Entity = knownEntities(string(t))
		}
	case xml.StartElement:
		if t.Name.Local == "math" {
			formula, err := latex.ReadMathML(d, t)
			if text := w.text(formula); err == nil {
				err = text
			}
			return err
		}
		if len(w.open) >= maxXMLDepth {
			return extract.Damagedf("its elements are nested too deeply")
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
	if int64(e.text.Len()+len(s)) > w.out.Budget.Left {
		return w.out.Budget.Exceeded()
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

// meets reports whether joining two texts would merge two words.
func meets(before, after string) bool {
	last, _ := utf8.DecodeLastRuneInString(before)
	first, _ := utf8.DecodeRuneInString(after)
	isWord := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	return isWord(last) && isWord(first)
}

// end writes the element that ends, or passes its text to the enclosing element if that has text of its own.
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
	text = compose.OneLine(compose.Clean(text))
	w.hasText = true
	short := utf8.RuneCountInString(text) <= shortText
	switch e.name {
	case "title", "head", "heading", "h1", "h2", "h3", "h4":
		if short {
			if err := w.flush(); err != nil {
				return err
			}
			return w.out.Add(extract.Heading, min(max(last, 1), 6), text)
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
	return w.out.Add(extract.Paragraph, 0, text)
}

// xmlProse are elements of common document vocabularies (DocBook, DITA, TEI, JATS, FictionBook and XHTML) whose names
// say nothing about their text.
var xmlProse = map[string]bool{
	"p": true, "para": true, "simpara": true, "ab": true, "li": true, "listitem": true, "item": true, "cmd": true,
	"text": true, "body": true, "div": true, "span": true, "note": true, "footnote": true, "quote": true, "seg": true,
	"l": true, "line": true, "v": true, "code": true, "codeblock": true, "programlisting": true, "screen": true,
	"literallayout": true, "pre": true, "shortdesc": true, "emphasis": true, "strong": true, "subtitle": true,
}

// xmlBreaks are the elements without content that end a line.
var xmlBreaks = map[string]bool{"br": true, "lb": true, "pb": true}

// mixed returns the open element that owns the text of an element that has ended, or nil for none: the enclosing element
// if it has text of its own, or a paragraph or cell farther out, as for the text of a footnote.
func (w *xmlWalker) mixed() *xmlElement {
	for i, e := range slices.Backward(w.open) {
		if e.own && (e.wide || i == len(w.open)-1) {
			return e
		}
	}
	return nil
}

// within adds the text of an element that has ended to an enclosing one.
func (w *xmlWalker) within(around, e *xmlElement) error {
	text := e.text.String()
	if int64(around.text.Len()+len(text)) > w.out.Budget.Left {
		return w.out.Budget.Exceeded()
	}
	if xmlProse[e.name] || around != w.open[len(w.open)-1] || meets(around.text.String(), text) {
		around.text.WriteByte(' ')
	}
	around.text.WriteString(text)
	around.inner = true
	return nil
}

// line adds a line to the current paragraph of lines.
func (w *xmlWalker) line(text string, depth int) error {
	if w.lines.Len() > longLines || len(w.table.rows) > 0 {
		if err := w.flush(); err != nil {
			return err
		}
	}
	if w.lines.Len() > 0 {
		w.lines.WriteByte('\n')
	}
	w.lines.WriteString(compose.Clean(text))
	w.depth = depth
	return nil
}

func (w *xmlWalker) flush() error {
	text := w.lines.String()
	w.lines.Reset()
	w.depth = 0
	if err := w.out.Add(extract.Paragraph, 0, text); err != nil {
		return err
	}
	return w.table.write(&w.out)
}
