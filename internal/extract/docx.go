package extract

import (
	"archive/zip"
	"context"
	"encoding/xml"
	"errors"
	"io"
	"strings"
)

// readDOCX reads the main text of a WordprocessingML document (ECMA-376 part 1), strict and
// transitional: headings by style, lists, tables, text boxes and footnotes, without what tracked
// changes deleted. Word computes pages anew on each screen, so the document has none.
func readDOCX(ctx context.Context, _ *Extractor, f *file) (*Document, error) {
	archive, err := openZIP(f)
	if err != nil {
		return nil, err
	}
	styles, err := readDOCXStyles(archive)
	if err != nil {
		return nil, err
	}
	numbering, err := readDOCXNumbering(archive)
	if err != nil {
		return nil, err
	}
	doc := &Document{}
	w := docxWalker{out: builder{budget: newBudget(f.limits)}, styles: styles, numbering: numbering}
	found := false
	for _, name := range []string{docxMainPart(archive), "word/footnotes.xml", "word/endnotes.xml"} {
		part, err := openPart(archive, name)
		if err != nil {
			return nil, err
		}
		if part == nil {
			continue
		}
		err = w.read(ctx, part)
		part.Close()
		switch {
		case err == nil:
		case isSyntaxError(err) && len(w.out.blocks) > 0:
			doc.Notes = append(doc.Notes, "the document is damaged, and was read up to the damage")
		case isSyntaxError(err):
			return nil, damaged("the text of the document is not well-formed XML")
		default:
			return nil, err
		}
		found = true
	}
	if !found {
		return nil, damaged("the archive holds no Word document")
	}
	doc.Title = docxTitle(archive)
	doc.Pages = []Page{w.out.page(0, false)}
	return doc, nil
}

// docxMainPart finds the main part by the package's relationships (ECMA-376 part 2), as some
// writers do not call it word/document.xml.
func docxMainPart(archive *zip.Reader) string {
	name := "word/document.xml"
	_ = eachElement(archive, "_rels/.rels", func(_ *xml.Decoder, e xml.StartElement) error {
		if e.Name.Local == "Relationship" && strings.HasSuffix(xmlAttr(e, "Type"), "/officeDocument") {
			name = strings.TrimPrefix(xmlAttr(e, "Target"), "/")
		}
		return nil
	})
	return name
}

// docxTitle is the title in the document's core properties, "" when it has none worth showing.
func docxTitle(archive *zip.Reader) string {
	title := ""
	_ = eachElement(archive, "docProps/core.xml", func(d *xml.Decoder, e xml.StartElement) error {
		if e.Name.Local == "title" {
			return d.DecodeElement(&title, &e)
		}
		return nil
	})
	return sensibleTitle(title)
}

// eachElement calls visit for the start of every element of a part, until its error. A missing
// part has no elements.
func eachElement(archive *zip.Reader, name string, visit func(*xml.Decoder, xml.StartElement) error) error {
	part, err := openPart(archive, name)
	if err != nil || part == nil {
		return err
	}
	defer part.Close()
	d := xml.NewDecoder(part)
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if start, ok := token.(xml.StartElement); ok {
			if err := visit(d, start); err != nil {
				return err
			}
		}
	}
}

func xmlAttr(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// isSyntaxError holds for the errors of broken XML and of broken compression, and not for the
// limits and ctx.
func isSyntaxError(err error) bool {
	var typed *Error
	return !errors.As(err, &typed) && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
}
