package odf

import (
	"encoding/xml"
	"path"
	"strings"

	"parley/internal/extract"
	"parley/internal/extract/compose"
	"parley/internal/extract/zipxml"
)

// The bounds of charts.
const (
	maxCharts  = 100
	chartRows  = 1000
	chartCells = 50 // of a row
)

// skipStyles skips an element of an object if it has only styles or settings. It enters the body.
func skipStyles(d *xml.Decoder, e xml.StartElement) error {
	switch e.Name.Local {
	case "automatic-styles", "styles", "meta", "settings", "font-face-decls", "scripts":
		return d.Skip()
	}
	return nil
}

// writeCharts writes the charts found so far.
func (w *odfWalker) writeCharts() error {
	charts := w.charts
	w.charts = nil
	for _, href := range charts {
		c := odfChart{}
		err := zipxml.IgnoreSyntax(zipxml.EachElement(w.archive, path.Join(href, "content.xml"), c.element))
		if err != nil {
			return err
		}
		if err := c.write(&w.out); err != nil {
			return err
		}
		w.hasText = w.hasText || len(c.rows) > 0
	}
	return nil
}

// odfChart is a chart, whose values are in a table of its own (OpenDocument 1.3 part 3, section 11).
type odfChart struct {
	title []string
	rows  [][]string
}

func (c *odfChart) element(d *xml.Decoder, e xml.StartElement) error {
	switch e.Name.Local {
	case "title", "subtitle":
		text, err := elementText(d)
		if text != "" && len(c.title) < chartCells {
			c.title = append(c.title, text)
		}
		return err
	case "table-row":
		if len(c.rows) < chartRows {
			c.rows = append(c.rows, nil)
		}
	case "table-cell":
		text, err := elementText(d)
		if n := len(c.rows); n > 0 && len(c.rows[n-1]) < chartCells {
			c.rows[n-1] = append(c.rows[n-1], text)
		}
		return err
	}
	return nil
}

// elementText returns the text in an element, read to its end.
func elementText(d *xml.Decoder) (string, error) {
	const longest = 1000
	var b strings.Builder
	for depth := 1; depth > 0; {
		token, err := d.Token()
		if err != nil {
			return "", err
		}
		switch t := token.(type) {
		case xml.StartElement:
			depth++
		case xml.EndElement:
			depth--
		case xml.CharData:
			if b.Len() < longest {
				b.Write(t[:min(len(t), longest)])
			}
		}
	}
	return compose.OneLine(compose.Clean(b.String())), nil
}

// write appends the titles, and the values with a row for each category.
func (c *odfChart) write(out *compose.Builder) error {
	if len(c.title) > 0 {
		if err := out.Add(extract.Paragraph, 0, "Chart: "+strings.Join(c.title, ", ")); err != nil {
			return err
		}
	}
	if len(c.rows) < 2 || len(c.rows[0]) < 2 {
		return nil
	}
	if c.rows[0][0] == "" {
		c.rows[0][0] = "Category"
	}
	return out.AddTable(c.rows, true)
}
