package ooxml

import (
	"context"
	"io"

	"parley/internal/extract"
	"parley/internal/extract/compose"
	"parley/internal/extract/zipxml"
)

var _ = extract.Register("Word XML", extract.Reader{Read: readWordXML})

// readWordXML reads a Word document that is one XML file: of Word 2003, or a newer package in the flat form. It does not
// read styles, so only outline levels make headings.
func readWordXML(ctx context.Context, f *extract.File) (*extract.Document, error) {
	w := docxWalker{out: compose.Builder{Budget: compose.NewBudget(f.Limits)}, styles: docxStyles{}, numbering: compose.NewNumbering()}
	doc := &extract.Document{}
	switch err := w.read(ctx, io.NewSectionReader(f.Content, 0, f.Size)); {
	case zipxml.IsSyntaxError(err) && len(w.out.Blocks) > 0:
		doc.Notes = append(doc.Notes, "the document is damaged, and was read up to the damage")
	case zipxml.IsSyntaxError(err):
		return nil, extract.Damagedf("the text of the document is not well-formed XML")
	case err != nil:
		return nil, err
	}
	doc.Pages = []extract.Page{w.out.Page(0, false)}
	return doc, nil
}
