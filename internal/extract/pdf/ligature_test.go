package pdf

import (
	"strings"
	"testing"

	"parley/internal/extract/extracttest"
)

// One glyph shows lam and alef, and its font says so in the order of writing. The letters of other glyphs keep their places.
func TestPDF_ReadsArabicLigatures(t *testing.T) {
	toUnicode := "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapType 2 def 1 begincodespacerange <00><FF> endcodespacerange " +
		"7 beginbfchar <41> <06440627> <42> <06440623> <43> <0633> <44> <0645> <45> <0627> <46> <0644> <20> <0020> endbfchar endcmap end end"
	// From left to right: "the" and "peace", with the ligature in the second word alone.
	doc := extracttest.Read(t, "a.pdf", extracttest.PDFObjects("",
		"<< /Type /Catalog /Pages 2 0 R >>",
		"<< /Type /Pages /Kids [3 0 R] /Count 1 /MediaBox [0 0 612 792] >>",
		"<< /Type /Page /Parent 2 0 R /Contents 4 0 R /Resources << /Font << /R 5 0 R >> >> >>",
		extracttest.PDFStream(extracttest.Set("R", 12, 300, 700, "DAC DFE")+extracttest.Set("R", 12, 300, 660, "DBF")),
		"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding /ToUnicode 6 0 R >>",
		extracttest.PDFStream(toUnicode)))
	got := extracttest.Outline(doc)
	for _, want := range []string{"الم سلام", "للأم"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in %q", want, got)
		}
	}
}
