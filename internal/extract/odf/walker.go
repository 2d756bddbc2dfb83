package odf

import (
	"encoding/xml"
	"errors"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"

	"parley/internal/extract"
	"parley/internal/extract/compose"
	"parley/internal/extract/latex"
	"parley/internal/extract/zipxml"
)

// odfWalker turns the content of an OpenDocument file into pages while reading it.
type odfWalker struct {
	limits  extract.Limits
	archive *zipxml.Archive // nil for a flat document
	budget  *compose.Budget
	out     compose.Builder
	pages   []extract.Page
	slides  int
	begun   bool // the content was found
	sheets  bool // it is a spreadsheet
	text    bool // it is a text
	hasText bool

	numbers odfNumbering
	counted map[string]int // number of items of the last list of a style

	open  []*odfParagraph // a note or a text box is a paragraph inside a paragraph
	lists []odfList
	table []*odfTable // a table can be in a cell
	aside string      // the element that contains the paragraphs: "annotation", "note", or "" for the body
	title bool        // they are the slide's title
	notes []string    // footnotes and endnotes, which come last

	charts []string // parts of the archive with charts of the paragraphs that are open, or of the slide
}

// odfParagraph is a paragraph or heading that is being read.
type odfParagraph struct {
	text  strings.Builder
	level int       // of a heading; 0 for a paragraph
	spans []odfSpan // the open ones
}

// script returns the Script of the next text: that of the innermost span that is raised or lowered.
func (p *odfParagraph) script() compose.Script {
	for _, s := range slices.Backward(p.spans) {
		if s.script != compose.OnLine {
			return s.script
		}
	}
	return compose.OnLine
}

// signs returns the sign font of the next text, or "" for none.
func (p *odfParagraph) signs() string {
	for _, s := range slices.Backward(p.spans) {
		if s.signs != "" {
			return s.signs
		}
	}
	return ""
}

// odfSpan is a part of a paragraph with a style.
type odfSpan struct {
	script compose.Script
	signs  string // its sign font
}

// odfList is an open list.
type odfList struct {
	style string
	item  int
	first bool // the next paragraph is the first one of an item
}

func newODFWalker(f *extract.File) *odfWalker {
	b := compose.NewBudget(f.Limits)
	return &odfWalker{
		limits: f.Limits, budget: b, out: compose.Builder{Budget: b}, numbers: odfNumbering{}, counted: map[string]int{},
	}
}

// maxODFDepth is the maximum depth of paragraphs, lists and tables inside each other.
const maxODFDepth = 100

func (w *odfWalker) visit(d *xml.Decoder, token xml.Token) error {
	switch t := token.(type) {
	case xml.StartElement:
		return w.start(d, t)
	case xml.EndElement:
		return w.end(t.Name.Local)
	case xml.CharData:
		if n := len(w.open); n > 0 {
			text := compose.SignText(w.open[n-1].signs(), odfSpaces.Replace(string(t)))
			return w.write(w.open[n-1].script().Write(text))
		}
	}
	return nil
}

// odfSpaces turns white space of the source into single spaces. Tabs and line breaks of the text have elements.
var odfSpaces = strings.NewReplacer("\n", " ", "\r", " ", "\t", " ")

// skippedODF are elements whose content does not belong to the document's text: deleted text, settings, and replacements
// for objects.
var skippedODF = map[string]bool{
	"tracked-changes": true, "master-styles": true, "font-face-decls": true,
	"scripts": true, "settings": true, "binary-data": true, "note-citation": true,
	"sender-initials": true, "ruby-text": true, "forms": true, "meta": true, "desc": true, "number": true,
	"page-number": true, "index-title-template": true, "table-of-content-source": true, "sequence-decls": true,
	"header": true, "footer": true, "date-time": true, "footer-decl": true, "header-decl": true, "date-time-decl": true,
}

// isSkippedODF also skips the authors and dates of comments, and the names of pictures.
func isSkippedODF(name xml.Name) bool {
	return skippedODF[name.Local] || strings.HasPrefix(name.Space, "http://purl.org/dc/") ||
		name.Local == "title" && strings.Contains(name.Space, "svg")
}

func (w *odfWalker) start(d *xml.Decoder, e xml.StartElement) error {
	switch e.Name.Local {
	case "automatic-styles", "styles":
		return w.numbers.skip(d)
	case "math":
		formula, err := latex.ReadMathML(d, e)
		if written := w.write(formula); err == nil {
			err = written
		}
		return err
	case "object":
		return w.object(zipxml.Attr(e, "href"))
	}
	if isSkippedODF(e.Name) {
		return d.Skip()
	}
	if len(w.open)+len(w.lists)+len(w.table) > maxODFDepth {
		return extract.Damagedf("the document's lists, tables and boxes are nested too deeply")
	}
	switch e.Name.Local {
	case "text", "spreadsheet", "presentation", "drawing":
		if strings.HasSuffix(e.Name.Space, ":office:1.0") || strings.HasSuffix(e.Name.Space, "/office") {
			w.begun, w.sheets, w.text = true, e.Name.Local == "spreadsheet", e.Name.Local == "text"
		}
	case "p":
		p := &odfParagraph{}
		if w.numbers.isTitle(zipxml.Attr(e, "style-name")) && w.slides == 0 && !w.sheets {
			p.level = 1
		}
		w.open = append(w.open, p)
	case "h":
		level := max(1, zipxml.SmallNumber(zipxml.Attr(e, "outline-level")))
		w.open = append(w.open, &odfParagraph{level: level})
	case "span":
		if n := len(w.open); n > 0 && len(w.open[n-1].spans) < maxODFDepth {
			w.open[n-1].spans = append(w.open[n-1].spans, odfSpan{w.numbers.script(zipxml.Attr(e, "style-name")), w.numbers.signs(zipxml.Attr(e, "style-name"))})
		}
	case "s":
		n, err := strconv.Atoi(zipxml.Attr(e, "c"))
		if err != nil {
			n = 1
		}
		return w.write(strings.Repeat(" ", min(max(n, 1), 100)))
	case "tab":
		return w.write("\t")
	case "line-break":
		return w.write("\n")
	case "list":
		w.startList(e)
	case "list-item", "list-header":
		if n := len(w.lists); n > 0 {
			w.lists[n-1].first = e.Name.Local == "list-item"
			if start, err := strconv.Atoi(zipxml.Attr(e, "start-value")); err == nil && w.lists[n-1].first {
				w.lists[n-1].item = start - 1
			}
		}
	case "frame":
		w.title = zipxml.Attr(e, "class") == "title"
	case "notes": // the speaker's notes
		w.title = false
	case "annotation":
		w.aside = "annotation"
	case "note-body":
		w.aside = "note"
	case "page":
		return w.startSlide()
	default:
		return w.startTable(e)
	}
	return nil
}

func (w *odfWalker) end(name string) error {
	switch name {
	case "p", "h":
		return w.endParagraph()
	case "span":
		if n := len(w.open); n > 0 && len(w.open[n-1].spans) > 0 {
			w.open[n-1].spans = w.open[n-1].spans[:len(w.open[n-1].spans)-1]
		}
	case "list":
		w.endList()
	case "frame":
		w.title = false
	case "annotation", "note-body":
		w.aside = ""
	case "page":
		return w.endSlide()
	default:
		return w.endTable(name)
	}
	return nil
}

// object writes the formula that a part of the archive holds, and notes a chart. Other objects are left out.
func (w *odfWalker) object(href string) error {
	if w.archive == nil || href == "" {
		return nil
	}
	formula := ""
	err := zipxml.IgnoreSyntax(zipxml.EachElement(w.archive, path.Join(href, "content.xml"), func(d *xml.Decoder, e xml.StartElement) (err error) {
		switch {
		case formula == "" && e.Name.Local == "math":
			formula, err = latex.ReadMathML(d, e)
		case e.Name.Local == "chart" && !w.sheets && len(w.charts) < maxCharts: // a sheet has the values itself
			w.charts = append(w.charts, href)
			err = io.EOF
		case formula == "" && e.Name.Local != "document-content" && e.Name.Local != "body":
			err = skipStyles(d, e)
		}
		return err
	}))
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return w.write(formula)
}

// write adds to the innermost paragraph.
func (w *odfWalker) write(s string) error {
	n := len(w.open)
	if n == 0 {
		return nil
	}
	if int64(w.open[n-1].text.Len()+len(s)) > w.budget.Left {
		return w.budget.Exceeded()
	}
	w.open[n-1].text.WriteString(s)
	return nil
}

func (w *odfWalker) endParagraph() (err error) {
	n := len(w.open)
	if n == 0 {
		return nil
	}
	p := w.open[n-1]
	w.open = w.open[:n-1]
	if n == 1 && len(w.table) == 0 {
		defer func() {
			if err == nil {
				err = w.writeCharts()
			}
		}()
	}
	text := collapseODF(p.text.String())
	if text == "" {
		return nil
	}
	w.hasText = true
	switch w.aside {
	case "annotation":
		if t := w.cell(); t != nil {
			return t.comment(text, w.budget)
		}
		text = "Comment: " + text
	case "note":
		w.notes = append(w.notes, text)
		return nil
	}
	if t := w.cell(); t != nil {
		return t.write(text, w.budget)
	}
	if n := len(w.table); n > 0 { // a box on a sheet
		if err := w.table[n-1].grid.Heading(); err != nil {
			return err
		}
	}
	switch {
	case p.level > 0:
		return w.out.Add(extract.Heading, p.level, compose.OneLine(text))
	case w.title && w.slides > 0:
		return w.out.Add(extract.Heading, 1, compose.OneLine(text))
	case len(w.lists) > 0:
		return w.addItem(text)
	case compose.ListMarker(text) > 0:
		return w.out.Add(extract.ListItem, 0, text)
	}
	return w.out.Add(extract.Paragraph, 0, text)
}

// startList begins a list. A nested list has the style of the enclosing list unless it names its own. A list that
// continues another starts with the next number of the last list of its style.
func (w *odfWalker) startList(e xml.StartElement) {
	list := odfList{style: zipxml.Attr(e, "style-name")}
	if n := len(w.lists); n > 0 && list.style == "" {
		list.style = w.lists[n-1].style
	}
	if zipxml.Attr(e, "continue-numbering") == "true" || zipxml.Attr(e, "continue-list") != "" {
		list.item = w.counted[list.style]
	} else if start := w.numbers.level(list.style, len(w.lists)+1).start; start > 1 {
		list.item = start - 1
	}
	w.lists = append(w.lists, list)
}

func (w *odfWalker) endList() {
	n := len(w.lists)
	if n == 0 {
		return
	}
	if list := w.lists[n-1]; n == 1 && len(w.counted) < maxODFStyles {
		w.counted[list.style] = list.item
	}
	w.lists = w.lists[:n-1]
}

// addItem appends a paragraph of a list; the first one of an item gets a bullet or a number.
func (w *odfWalker) addItem(text string) error {
	list := &w.lists[len(w.lists)-1]
	if list.first {
		if list.item++; compose.ListMarker(text) == 0 {
			text = w.numbers.marker(w.lists) + text
		}
	}
	list.first = false
	return w.out.Add(extract.ListItem, 0, text)
}

// collapseODF replaces each run of white space by one space, as OpenDocument does (part 3, section 6.1.2). Line breaks of
// the document stay: their elements were written as "\n".
func collapseODF(s string) string {
	lines := strings.Split(compose.Clean(s), "\n")
	kept := lines[:0]
	for _, line := range lines {
		if line = compose.OneLine(line); line != "" {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n")
}

func (w *odfWalker) startSlide() error {
	if w.slides++; w.slides > w.limits.Pages {
		return extract.TooLargef("the presentation has more than %d slides", w.limits.Pages)
	}
	w.out = compose.Builder{Budget: w.budget}
	return nil
}

func (w *odfWalker) endSlide() error {
	if err := w.writeCharts(); err != nil {
		return err
	}
	w.pages = append(w.pages, w.out.Page(w.slides, false))
	w.out = compose.Builder{Budget: w.budget}
	return nil
}

// finish ends all open elements, at the end of the content or where it breaks off.
func (w *odfWalker) finish() error {
	w.open = nil
	for len(w.table) > 0 {
		if err := w.endTable("table"); err != nil {
			return err
		}
	}
	for _, note := range w.notes {
		if err := w.out.Add(extract.Paragraph, 0, note); err != nil {
			return err
		}
	}
	if err := w.writeCharts(); err != nil {
		return err
	}
	if w.slides == 0 {
		w.pages = append(w.pages, w.out.Page(0, false))
	} else if len(w.out.Blocks) > 0 {
		return w.endSlide()
	}
	return nil
}
