package markup

import (
	"context"
	"encoding/xml"
	"io"
	"strings"

	"parley/internal/extract"
	"parley/internal/extract/compose"
	"parley/internal/extract/zipxml"
)

var _ = extract.Register("SVG", extract.Reader{Read: readSVG})

// readSVG reads the text of a drawing (SVG 2): its title, its descriptions, and the texts in it, one a line. Texts are in
// the order of the file, in which they are also drawn.
func readSVG(ctx context.Context, f *extract.File) (*extract.Document, error) {
	out := compose.Builder{Budget: compose.NewBudget(f.Limits)}
	doc := &extract.Document{}
	var texts []string
	depth := 0
	err := zipxml.EachToken(ctx, io.NewSectionReader(f.Content, 0, f.Size), func(d *xml.Decoder, token xml.Token) error {
		switch t := token.(type) {
		case xml.EndElement:
			depth--
		case xml.StartElement:
			depth++
			switch t.Name.Local {
			case "metadata", "style", "script", "switch":
				depth--
				return d.Skip()
			case "title", "desc", "text", "foreignObject":
				depth--
				text, err := svgText(d)
				if t.Name.Local == "title" && depth == 1 && doc.Title == "" {
					doc.Title = text
				}
				if text != "" && (len(texts) == 0 || texts[len(texts)-1] != text) {
					texts = append(texts, text)
				}
				return err
			}
		}
		return nil
	})
	if err != nil && !zipxml.IsSyntaxError(err) {
		return nil, err
	}
	if err != nil {
		doc.Notes = append(doc.Notes, "the file is damaged, and was read up to the damage")
		if len(texts) == 0 {
			return nil, extract.Damagedf("the file is not well-formed XML")
		}
	}
	if err := out.Add(extract.Paragraph, 0, strings.Join(texts, "\n")); err != nil {
		return nil, err
	}
	doc.Pages = []extract.Page{out.Page(0, false)}
	return doc, nil
}

// svgText returns the text of an element that has begun, on one line. Its parts may be anywhere in the drawing, so each
// becomes a separate word.
func svgText(d *xml.Decoder) (string, error) {
	var b strings.Builder
	for depth := 1; depth > 0; {
		token, err := d.Token()
		if err != nil {
			return compose.OneLine(compose.Clean(b.String())), err
		}
		switch t := token.(type) {
		case xml.StartElement:
			depth++
			if t.Attr != nil && (zipxml.Attr(t, "x") != "" || zipxml.Attr(t, "dy") != "" || t.Name.Local != "tspan") {
				b.WriteByte(' ')
			}
		case xml.EndElement:
			depth--
		case xml.CharData:
			b.Write(t)
		}
	}
	return compose.OneLine(compose.Clean(b.String())), nil
}
