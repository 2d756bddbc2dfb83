package pdf

import (
	"testing"

	"parley/internal/extract/extracttest"
)

// Programs that fill in forms often leave it to others to draw what they have filled in.
func TestPDF_ReadsFieldsThatNothingDraws(t *testing.T) {
	doc := extracttest.Read(t, "a.pdf", extracttest.PDFObjects("",
		"<< /Type /Catalog /Pages 2 0 R /AcroForm << /Fields [6 0 R 7 0 R] /NeedAppearances true >> >>",
		"<< /Type /Pages /Kids [3 0 R] /Count 1 /MediaBox [0 0 612 792] >>",
		"<< /Type /Page /Parent 2 0 R /Contents 4 0 R /Resources << /Font << /R 5 0 R >> >> /Annots [6 0 R 7 0 R 8 0 R] >>",
		extracttest.PDFStream(extracttest.Set("R", 12, 72, 700, "Lost property")),
		"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
		"<< /Type /Annot /Subtype /Widget /FT /Tx /T (Finder) /V (Anna Berg) /Rect [72 600 300 620] >>",
		"<< /Type /Annot /Subtype /Widget /FT /Btn /T (Paid) /V /Off /Rect [72 560 90 580] >>",
		"<< /Type /Annot /Subtype /FreeText /Contents (Kept in room 4) /Rect [72 500 300 520] >>"))
	const want = "page 1\nP Lost property\nP Finder: Anna Berg\nP Kept in room 4\n"
	if got := extracttest.Outline(doc); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
