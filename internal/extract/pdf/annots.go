package pdf

import (
	"slices"

	"parley/internal/extract/compose"
)

// The kinds of annotations (fpdf_annot.h) that have text.
const (
	annotText      = 1
	annotFreeText  = 3
	annotHighlight = 9
	annotStrikeOut = 12
	annotStamp     = 13
	annotInk       = 15
	annotWidget    = 20
)

// maxAnnots is the maximum number of annotations of a page that are examined.
const maxAnnots = 2000

// loadPage loads a page for its text. Values of form fields, and text that was written or stamped on the page, become part
// of it. Comments, and text without an appearance of its own, are returned separately. The page is 0 if it cannot be loaded.
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
			if d.annotHas(annot, "AP") {
				written = true
			} else if said := d.annotUndrawn(annot, kind); said != "" && !slices.Contains(comments, said) {
				comments = append(comments, said)
			}
		case kind == annotText, kind >= annotHighlight && kind <= annotStrikeOut, kind == annotInk:
			if said := d.annotContents(annot); said != "" && !slices.Contains(comments, said) {
				comments = append(comments, said)
			}
		}
		d.call("FPDFPage_CloseAnnot", annot)
	}
	const forScreen, done = 0, 1
	if written && d.int("FPDFPage_Flatten", page, forScreen) == done {
		// Changes of a page take effect when it is loaded again.
		d.call("FPDF_ClosePage", page)
		page = d.call("FPDF_LoadPage", d.handle, uint64(index))
	}
	return page, comments
}

// annotContents returns the text of an annotation.
func (d *pdfDocument) annotContents(annot uint64) string {
	said := d.annotText(annot, "Contents")
	if said == "" {
		return ""
	}
	return "Comment: " + said
}

// annotUndrawn returns the text of an annotation or form field without an appearance of its own, which a viewer must draw. Programs
// that fill in forms often do not add an appearance.
func (d *pdfDocument) annotUndrawn(annot uint64, kind int) string {
	if kind != annotWidget {
		return d.annotText(annot, "Contents")
	}
	value, name := d.annotText(annot, "V"), d.annotText(annot, "T")
	switch {
	case value == "" || d.annotText(annot, "FT") == "Btn":
		return ""
	case name == "":
		return value
	}
	return name + ": " + value
}

// annotText returns a text of an annotation's dictionary.
func (d *pdfDocument) annotText(annot uint64, name string) string {
	key, ok := d.cString(name)
	if !ok {
		return ""
	}
	defer d.call("free", key)
	return compose.OneLine(compose.Clean(d.string16("FPDFAnnot_GetStringValue", annot, key)))
}

// annotHas reports whether the dictionary of an annotation has a key.
func (d *pdfDocument) annotHas(annot uint64, name string) bool {
	key, ok := d.cString(name)
	if !ok {
		return false
	}
	defer d.call("free", key)
	return d.call("FPDFAnnot_HasKey", annot, key) == 1
}
