package extract

import (
	"context"
	"encoding/xml"
	"io"
	"strings"
)

var (
	_ = reads("OpenDocument text", reader{read: readODF})
	_ = reads("OpenDocument spreadsheet", reader{read: readODF})
	_ = reads("OpenDocument presentation", reader{read: readODF})
	_ = reads("flat OpenDocument", reader{read: readFlatODF})
)

// readODF reads an OpenDocument text, spreadsheet or presentation (OASIS OpenDocument 1.3). Slides
// are pages; texts and spreadsheets have none.
func readODF(ctx context.Context, f *file) (*Document, error) {
	archive, err := openZIP(f)
	if err != nil {
		return nil, err
	}
	if err := checkODFEncryption(archive); err != nil {
		return nil, err
	}
	w := newODFWalker(f)
	if err := w.numbers.styles(archive); err != nil {
		return nil, err
	}
	broken, err := readPart(ctx, archive, "content.xml", w.visit)
	if err != nil {
		return nil, err
	}
	if !w.begun {
		return nil, damaged("the archive holds no OpenDocument content")
	}
	doc, err := w.document(broken)
	if err != nil {
		return nil, err
	}
	doc.Title = odfTitle(archive)
	return doc, nil
}

// readFlatODF reads a document that is one XML file.
func readFlatODF(ctx context.Context, f *file) (*Document, error) {
	w := newODFWalker(f)
	err := eachToken(ctx, io.NewSectionReader(f.r, 0, f.size), w.visit)
	if err != nil && !isSyntaxError(err) {
		return nil, err
	}
	if !w.begun {
		return nil, damaged("the file holds no OpenDocument content")
	}
	return w.document(err != nil)
}

// document returns what was read; broken says that the content breaks off.
func (w *odfWalker) document(broken bool) (*Document, error) {
	if err := w.finish(); err != nil {
		return nil, err
	}
	doc := &Document{Pages: w.pages}
	if broken {
		doc.Notes = append(doc.Notes, "the document is damaged, and was read up to the damage")
		if !w.hasText {
			return nil, damaged("the text of the document is not well-formed XML")
		}
	}
	return doc, nil
}

// checkODFEncryption refuses a document whose parts are encrypted (part 2, section 4.8).
func checkODFEncryption(archive *container) error {
	return ignoreSyntax(eachElement(archive, "META-INF/manifest.xml", func(_ *xml.Decoder, e xml.StartElement) error {
		if e.Name.Local == "encryption-data" {
			return &Error{Reason: Encrypted, Detail: "the document is encrypted in OpenDocument's way, which is not supported: " +
				"save it without a password, or with one as a DOCX, XLSX or PPTX file"}
		}
		return nil
	}))
}

func odfTitle(archive *container) string {
	title := ""
	_ = eachElement(archive, "meta.xml", func(d *xml.Decoder, e xml.StartElement) error {
		if e.Name.Local == "title" && title == "" {
			return d.DecodeElement(&title, &e)
		}
		return nil
	}) // without properties the first heading is the title
	return sensibleTitle(strings.TrimSpace(title))
}
