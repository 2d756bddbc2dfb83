package pdf

import (
	"bytes"
	"strings"
	"testing"

	"parley/internal/extract"
	"parley/internal/extract/extracttest"
)

func TestPDF_ReadsThePagesOfADocumentThatIsCutOff(t *testing.T) {
	whole := extracttest.MakePDF(extracttest.SetLines(72, 700, "The first page is about sluices."), extracttest.SetLines(72, 700, "The second page is about weirs."), extracttest.SetLines(72, 700, "The third page is about locks."))
	at := func(mark string) int { return bytes.Index(whole, []byte(mark)) }
	leaves := func(data []byte) []byte { // without its catalog and tree, as where they stood at the end
		data = bytes.Replace(data, []byte("/Type /Catalog"), []byte("/Type /Nothing"), 1)
		return bytes.Replace(data, []byte("/Type /Pages"), []byte("/Type /Nowhere"), 1)
	}
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"no table of objects": {whole[:at("xref")], "page 1\nP The first page is about sluices.\npage 2\nP The second page is about weirs.\npage 3\nP The third page is about locks.\n"},
		"in the third page":   {whole[:at("The third")], "page 1\nP The first page is about sluices.\npage 2\nP The second page is about weirs.\n"},
		"no tree of pages":    {leaves(whole[:at("The third")]), "page 1\nP The first page is about sluices.\npage 2\nP The second page is about weirs.\n"},
	} {
		t.Run(name, func(t *testing.T) {
			doc := extracttest.Read(t, "a.pdf", c.data)
			if got := extracttest.Outline(doc); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if len(doc.Notes) == 0 || !strings.Contains(strings.Join(doc.Notes, " "), "cut off") {
				t.Errorf("notes %q", doc.Notes)
			}
		})
	}
	extracttest.WantReason(t, "a.pdf", whole[:at("The first")-60], extract.Limits{}, extract.Damaged)
	extracttest.WantReason(t, "a.pdf", append(whole[:at("xref"):at("xref")], "/Encrypt 9 0 R"...), extract.Limits{}, extract.Damaged)
}

// An object that is not ended says nothing of itself with the dictionary of the next one.
func TestPDFStructure_EndsAnObjectWhereTheNextBegins(t *testing.T) {
	_, _, kids, highest := pdfStructure([]byte("4 0 obj << /Length 7\n5 0 obj << /Type /Page >> endobj\n6 0 obj << /Type /Font\n"), 10)
	if got := strings.Join(kids, ", "); got != "5 0 R" || highest != 6 {
		t.Errorf("pages %s of %d objects", got, highest)
	}
}
