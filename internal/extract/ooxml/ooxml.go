// Package ooxml reads the documents of Word, PowerPoint and Excel (ECMA-376), also encrypted ones, and
// their older forms in one XML file.
package ooxml

import (
	"context"
	"encoding/xml"
	"io"
	"path"
	"slices"
	"strings"

	"parley/internal/extract"
	"parley/internal/extract/compose"
	"parley/internal/extract/latex"
	"parley/internal/extract/zipxml"
)

// relation is a reference from one part of a package of the Open Packaging Conventions (ECMA-376
// part 2) to another.
type relation struct {
	id     string
	kind   string // the last segment of its type: "slide", "worksheet"
	target string // name of the other part
}

// relations returns the references of a part, or of the package itself for "". It leaves out references to places
// outside the package.
func relations(archive *zipxml.Archive, part string) ([]relation, error) {
	var found []relation
	name := path.Join(path.Dir(part), "_rels", path.Base(part)+".rels")
	if part == "" {
		name = "_rels/.rels"
	}
	err := zipxml.EachElement(archive, name, func(_ *xml.Decoder, e xml.StartElement) error {
		if e.Name.Local != "Relationship" || zipxml.Attr(e, "TargetMode") == "External" {
			return nil
		}
		target := strings.ReplaceAll(zipxml.Attr(e, "Target"), `\`, "/")
		if !strings.HasPrefix(target, "/") {
			target = path.Join(path.Dir(part), target)
		}
		found = append(found, relation{zipxml.Attr(e, "Id"), path.Base(zipxml.Attr(e, "Type")), strings.TrimPrefix(path.Clean(target), "/")})
		return nil
	})
	if zipxml.IsSyntaxError(err) {
		err = nil // related parts cannot be found, but the rest can be read
	}
	return found, err
}

// attached returns the references of a part to things that are placed on it. Each part is returned once, however often
// it is referred to.
func attached(archive *zipxml.Archive, part string) ([]relation, error) {
	all, err := relations(archive, part)
	seen := map[string]bool{}
	return slices.DeleteFunc(all, func(r relation) bool {
		again := seen[r.target]
		seen[r.target] = true
		return again
	}), err
}

// mainPart finds the main part of a package, since some writers do not give it the usual name.
func mainPart(archive *zipxml.Archive, usual string) string {
	all, err := relations(archive, "")
	if err != nil {
		return usual
	}
	for _, r := range all {
		if r.kind == "officeDocument" {
			return r.target
		}
	}
	return usual
}

// coreProperties maps elements of the core properties (part 2, section 11.1) to attributes.
var coreProperties = map[string]string{"creator": "author", "subject": "subject", "keywords": zipxml.Keywords, "language": "language", "created": "created", "modified": "modified"}

// describe sets the document's title, if the package has a sensible one, and attributes from the properties of the package.
func describe(doc *extract.Document, archive *zipxml.Archive) {
	title, values := zipxml.Properties(archive, "docProps/core.xml", coreProperties)
	doc.Title, doc.Meta.Attributes = title, values.Encode() // without a title the first heading is the title
}

// drawingNamespaces are the XML namespaces of DrawingML, transitional and strict, in which shapes, diagrams and
// charts hold their text.
const (
	drawingNamespace       = "http://schemas.openxmlformats.org/drawingml/2006/main"
	strictDrawingNamespace = "http://purl.oclc.org/ooxml/drawingml/main"
)

func isDrawing(name xml.Name) bool {
	return name.Space == drawingNamespace || name.Space == strictDrawingNamespace
}

// readFormula reads an oMath element, and returns it as LaTeX between dollar signs.
func readFormula(d *xml.Decoder, start xml.StartElement) (string, error) {
	return latex.ReadOffice(d, start, func(name xml.Name) bool {
		return name.Local == "Fallback" || name.Local == "del" && !isFormula(name)
	})
}

// isFormula reports whether an element belongs to Office's formulas (ECMA-376 part 1, section 22.1).
func isFormula(name xml.Name) bool { return strings.HasSuffix(name.Space, "/officeDocument/2006/math") }

// drawingParagraphs returns the paragraphs of text in a part of DrawingML, such as a diagram.
func drawingParagraphs(ctx context.Context, archive *zipxml.Archive, name string, limit int64) ([]string, error) {
	var paragraphs []string
	var text strings.Builder
	_, err := zipxml.ReadPart(ctx, archive, name, func(d *xml.Decoder, token xml.Token) error {
		switch t := token.(type) {
		case xml.StartElement:
			if t.Name.Local == "Fallback" {
				return d.Skip()
			}
			if isDrawing(t.Name) {
				return drawingText(d, t, &text)
			}
		case xml.EndElement:
			if t.Name.Local == "p" && isDrawing(t.Name) {
				if limit -= int64(text.Len()); limit < 0 {
					return extract.TooLargef("the document has too much text in its drawings")
				}
				if p := compose.OneLine(compose.Clean(text.String())); p != "" {
					paragraphs = append(paragraphs, p)
				}
				text.Reset()
			}
		}
		return nil
	})
	return paragraphs, err
}

// drawingText adds the text of an element inside a paragraph of DrawingML.
func drawingText(d *xml.Decoder, e xml.StartElement, text io.StringWriter) error {
	var s string
	switch e.Name.Local {
	case "t":
		if err := d.DecodeElement(&s, &e); err != nil {
			return err
		}
	case "br":
		s = "\n"
	case "tab":
		s = "\t"
	default:
		return nil
	}
	_, err := text.WriteString(s)
	return err
}
