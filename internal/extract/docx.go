package extract

import "context"

var _ = reads("Word", reader{read: readDOCX})

// readDOCX reads the main text of a WordprocessingML document (ECMA-376 part 1), strict and
// transitional: headings by style, lists, tables, text boxes and footnotes, without what tracked
// changes deleted. Word computes pages anew on each screen, so the document has none.
func readDOCX(ctx context.Context, f *file) (*Document, error) {
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
	for _, name := range []string{mainPart(archive, "word/document.xml"), "word/footnotes.xml", "word/endnotes.xml"} {
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
	doc.Title = officeTitle(archive)
	doc.Pages = []Page{w.out.page(0, false)}
	return doc, nil
}
