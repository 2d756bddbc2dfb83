package pdf

import (
	"slices"

	"parley/internal/extract/compose"
)

// The kinds of annotations (fpdf_annot.h) that say something.
const (
	annotText      = 1
	annotFreeText  = 3
	annotHighlight = 9
	annotStrikeOut = 12
	annotStamp     = 13
	annotInk       = 15
	annotWidget    = 20
)

// maxAnnots bounds how many annotations of a page are looked at.
const maxAnnots = 2000

// loadPage loads a page for its text. What is filled into its forms, and what was written or stamped
// on it, becomes part of the page; what readers have remarked comes back beside it. The page is 0
// when it cannot be loaded.
func (d *pdfDocument) loadPage(index int) (page uint64, comments []string) {
	page = d.call("FPDF_LoadPage", d.handle, uint64(index))
	if page == 0 {
		return 0, nil
	}
	written := false
	for i := range min(d.int("FPDFPage_GetAnnotCount", page), maxAnnots) {
		annot := d.call("FPDFPage_GetAnnot", page, uint64(i))
		if annot == 0 {
			continue
		}
		switch kind := d.int("FPDFAnnot_GetSubtype", annot); {
		case kind == annotFreeText, kind == annotStamp, kind == annotWidget:
			written = true
		case kind == annotText, kind >= annotHighlight && kind <= annotStrikeOut, kind == annotInk:
			if said := d.annotContents(annot); said != "" && !slices.Contains(comments, said) {
				comments = append(comments, said)
			}
		}
		d.call("FPDFPage_CloseAnnot", annot)
	}
	const forScreen, done = 0, 1
	if written && d.int("FPDFPage_Flatten", page, forScreen) == done {
		// A page shows what it is made of when it is loaded.
		d.call("FPDF_ClosePage", page)
		page = d.call("FPDF_LoadPage", d.handle, uint64(index))
	}
	return page, comments
}

// annotContents is the text of an annotation.
func (d *pdfDocument) annotContents(annot uint64) string {
	key, ok := d.cString("Contents")
	if !ok {
		return ""
	}
	defer d.call("free", key)
	return compose.OneLine(compose.Clean(d.string16("FPDFAnnot_GetStringValue", annot, key)))
}
