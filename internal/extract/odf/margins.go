package odf

import (
	"context"
	"encoding/xml"
	"slices"
	"strings"

	"parley/internal/extract"
	"parley/internal/extract/compose"
	"parley/internal/extract/zipxml"
)

// odfMargins collects the headers and footers of an OpenDocument text, which are part of its page styles.
type odfMargins struct {
	left  int64 // bytes of text that they may have
	depth int   // elements that are open inside a header or footer; 0 outside
	text  strings.Builder
	lines []string // of the current header or footer
	all   []string // without repetitions
}

// writeMargins appends the texts of headers and footers, each once.
func (w *odfWalker) writeMargins(ctx context.Context) error {
	m := odfMargins{left: w.limits.TextBytes}
	if _, err := zipxml.ReadPart(ctx, w.archive, "styles.xml", m.visit); err != nil {
		return err
	}
	for _, text := range m.all {
		if err := w.out.Add(extract.Paragraph, 0, text); err != nil {
			return err
		}
		w.hasText = true
	}
	return nil
}

func (m *odfMargins) visit(d *xml.Decoder, token xml.Token) error {
	switch t := token.(type) {
	case xml.StartElement:
		switch name := t.Name.Local; {
		case m.depth > 0 && (name == "tab" || name == "s" || name == "line-break"):
			m.text.WriteByte(' ')
		case m.depth > 0 && (name == "page-number" || name == "page-count" || name == "annotation" || isSkippedODF(t.Name)):
			return d.Skip()
		case m.depth == 0 && !isMargin(name):
			return nil
		}
		m.depth++
	case xml.CharData:
		if m.depth == 0 {
			return nil
		}
		if m.left -= int64(len(t)); m.left < 0 {
			return extract.TooLargef("the document has too much text in its headers")
		}
		m.text.WriteString(odfSpaces.Replace(string(t)))
	case xml.EndElement:
		if m.depth > 0 {
			m.end(t.Name.Local)
		}
	}
	return nil
}

func (m *odfMargins) end(name string) {
	if name == "p" || name == "h" {
		if line := compose.OneLine(compose.Clean(m.text.String())); line != "" {
			m.lines = append(m.lines, line)
		}
		m.text.Reset()
	}
	if m.depth--; m.depth > 0 {
		return
	}
	text := strings.Join(m.lines, " ")
	m.lines = nil
	m.text.Reset()
	if compose.SaysMoreThanPages(text) && !slices.Contains(m.all, text) {
		m.all = append(m.all, text)
	}
}

// isMargin reports whether an element is a header or footer: of all pages, of left ones, or of the first one.
func isMargin(name string) bool {
	kind, _, _ := strings.Cut(name, "-")
	return (kind == "header" || kind == "footer") && (name == kind || strings.HasSuffix(name, "-left") || strings.HasSuffix(name, "-first"))
}
