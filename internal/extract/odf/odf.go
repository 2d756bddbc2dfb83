// Package odf reads OpenDocument texts, spreadsheets, presentations and drawings.
package odf

import (
	"context"
	"encoding/xml"
	"io"

	"parley/internal/extract"
	"parley/internal/extract/zipxml"
)

var (
	_ = extract.Register("OpenDocument text", extract.Reader{Read: readODF})
	_ = extract.Register("OpenDocument spreadsheet", extract.Reader{Read: readODF})
	_ = extract.Register("OpenDocument presentation", extract.Reader{Read: readODF})
	_ = extract.Register("flat OpenDocument", extract.Reader{Read: readFlatODF})
)

// readODF reads an OpenDocument text, spreadsheet or presentation (OASIS OpenDocument 1.3). Slides
// are pages; texts and spreadsheets have none.
func readODF(ctx context.Context, f *extract.File) (*extract.Document, error) {
	archive, err := zipxml.Open(f)
	if err != nil {
		return nil, err
	}
	if err := checkODFEncryption(archive); err != nil {
		return nil, err
	}
	w := newODFWalker(f)
	w.archive = archive
	if err := w.numbers.styles(archive); err != nil {
		return nil, err
	}
	broken, err := zipxml.ReadPart(ctx, archive, "content.xml", w.visit)
	if err != nil {
		return nil, err
	}
	if !w.begun {
		return nil, extract.Damagedf("the archive holds no OpenDocument content")
	}
	if w.text {
		if err := w.writeMargins(ctx); err != nil {
			return nil, err
		}
	}
	doc, err := w.document(broken)
	if err != nil {
		return nil, err
	}
	title, values := zipxml.Properties(archive, "meta.xml", odfProperties)
	doc.Title, doc.Meta.Attributes = title, values.Encode() // without a title the first heading is the title
	return doc, nil
}

// readFlatODF reads a document that is one XML file.
func readFlatODF(ctx context.Context, f *extract.File) (*extract.Document, error) {
	w := newODFWalker(f)
	err := zipxml.EachToken(ctx, io.NewSectionReader(f.Content, 0, f.Size), w.visit)
	if err != nil && !zipxml.IsSyntaxError(err) {
		return nil, err
	}
	if !w.begun {
		return nil, extract.Damagedf("the file holds no OpenDocument content")
	}
	return w.document(err != nil)
}

// document returns the document; broken says that its content ends early.
func (w *odfWalker) document(broken bool) (*extract.Document, error) {
	if err := w.finish(); err != nil {
		return nil, err
	}
	doc := &extract.Document{Pages: w.pages}
	if broken {
		doc.Notes = append(doc.Notes, "the document is damaged, and was read up to the damage")
		if !w.hasText {
			return nil, extract.Damagedf("the text of the document is not well-formed XML")
		}
	}
	return doc, nil
}

// checkODFEncryption refuses a document whose parts are encrypted (part 2, section 4.8).
func checkODFEncryption(archive *zipxml.Archive) error {
	return zipxml.IgnoreSyntax(zipxml.EachElement(archive, "META-INF/manifest.xml", func(_ *xml.Decoder, e xml.StartElement) error {
		if e.Name.Local == "encryption-data" {
			return &extract.Error{Reason: extract.Encrypted, Detail: "the document is encrypted in OpenDocument's way, which is not supported: " +
				"save it without a password, or with one as a DOCX, XLSX or PPTX file"}
		}
		return nil
	}))
}

// odfProperties maps elements of the metadata (part 3, section 4.3) to attributes.
var odfProperties = map[string]string{"initial-creator": "author", "subject": "subject", "keyword": zipxml.Keywords, "language": "language",
	"creation-date": "created", "date": "modified"}
