package office97

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/extract"
	"parley/internal/extract/extracttest"
)

func TestXLS_ReadsWhatLibreOfficeReads(t *testing.T) {
	modern := extracttest.Outline(extracttest.Read(t, "prices.xlsx", extracttest.LibreOffice(t, "prices.xlsx")))
	old := extracttest.Outline(extracttest.Read(t, "prices.xls", extracttest.LibreOffice(t, "prices.xls")))
	if diff := cmp.Diff(modern, old); diff != "" {
		t.Error(diff)
	}
}

// Python's xlwt wrote dates from 1904 on, and strings that go on in further records, in both widths.
func TestXLS_ReadsWhatPythonWrote(t *testing.T) {
	got := extracttest.Outline(extracttest.Read(t, "a.xls", extracttest.CompoundFile(t, "xlwt.xls.gz")))
	for _, want := range []string{
		"H1 Größen\nTH Name | Anteil | Tag | Text\nTR Name: Zeile 1; Anteil: 12.5%; Tag: 2024-02-01; Text: 1 " + strings.Repeat("x", 5000) + "\n",
		"TR Name: Zeile 2; Anteil: 25.0%; Tag: 2024-02-02; Text: 2 " + strings.Repeat("ж", 5000) + "\n",
		"TR Name: Zeile 5; Anteil: 62.5%; Tag: 2024-02-05; Text: 5 " + strings.Repeat("x", 5000) + "\n",
		"Summe", "TRUE",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%.60q is missing in %.300q", want, got)
		}
	}
	if strings.Contains(got, "leer") {
		t.Error("a sheet without cells has a heading")
	}
}

func TestXLS_KeepsWithinItsLimits(t *testing.T) {
	data := extracttest.CompoundFile(t, "xlwt.xls.gz")
	extracttest.WantReason(t, "a.xls", data, extract.Limits{TextBytes: 5000}, extract.TooLarge)
	extracttest.WantReason(t, "a.xls", data[:3000], extract.Limits{}, extract.Damaged)
}

// FuzzWorkbook changes the records of a workbook in a compound file that is sound.
func FuzzWorkbook(f *testing.F) {
	f.Add([]byte("\x09\x08\x04\x00\x00\x06\x05\x00\xfc\x00\x10\x00\x01\x00\x00\x00\x01\x00\x00\x00\x05\x00\x01abc\x3c\x00\x05\x00\x01defg\x0a\x00\x00\x00"))
	f.Add([]byte("\x09\x08\x04\x00\x00\x05\x05\x00\x85\x00\x0a\x00\x00\x00\x00\x00\x00\x00\x01A\xff\xff\x0a\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		extracttest.CheckAnyInput(t, "a.xls", extracttest.Compound("Workbook", data))
	})
}
