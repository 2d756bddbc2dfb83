package ooxml

import (
	"context"

	"parley/internal/extract"
	"parley/internal/extract/compose"
	"parley/internal/extract/zipxml"
)

var _ = extract.Register("Word", extract.Reader{Read: readDOCX, Unlock: unlockOffice})

// readDOCX reads the main text of a WordprocessingML document (ECMA-376 part 1), strict and
// transitional: headings by style, lists, tables, text boxes, charts, diagrams, comments and footnotes, then headers and
// footers. It leaves out text that tracked changes deleted. Word computes the pages on each machine, so the document has
// none.
func readDOCX(ctx context.Context, f *extract.File) (*extract.Document, error) {
	archive, err := zipxml.Open(f)
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
	doc := &extract.Document{}
	w := docxWalker{out: compose.Builder{Budget: compose.NewBudget(f.Limits)}, styles: styles, numbering: numbering}
	found, main := false, mainPart(archive, "word/document.xml")
	if w.parts, err = readDOCXParts(ctx, archive, main, f.Limits.TextBytes); err != nil {
		return nil, err
	}
	for _, name := range []string{main, "word/footnotes.xml", "word/endnotes.xml"} {
		part, err := zipxml.OpenPart(archive, name)
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
		case zipxml.IsSyntaxError(err) && len(w.out.Blocks) > 0:
			doc.Notes = append(doc.Notes, "the document is damaged, and was read up to the damage")
		case zipxml.IsSyntaxError(err):
			return nil, extract.Damagedf("the text of the document is not well-formed XML")
		default:
			return nil, err
		}
		found = true
	}
	if !found {
		return nil, extract.Damagedf("the archive holds no Word document")
	}
	if err := w.parts.writeMargins(&w.out); err != nil {
		return nil, err
	}
	if err := w.parts.takeFiles(ctx, f.Spool); err != nil {
		return nil, err
	}
	describe(doc, archive)
	doc.Pages = []extract.Page{w.out.Page(0, false)}
	return doc, nil
}
