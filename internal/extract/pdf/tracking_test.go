package pdf

import (
	"fmt"
	"strings"
	"testing"

	"parley/internal/extract/extracttest"
)

// The text behind a scan covers the picture: each word has its own space between letters, and its last letter is a text
// object of its own.
func TestPDF_ReadsWordsWhoseLettersAreSpacedToCoverAScan(t *testing.T) {
	var page strings.Builder
	line := func(y float64, text string) {
		fmt.Fprintf(&page, "BT 3 Tr /R 12 Tf 70 Tz 1 0 0 1 90 %g Tm\n", y)
		for i, word := range strings.Fields(text) {
			if i > 0 {
				word = " " + word
			}
			end := len(word) - 1
			fmt.Fprintf(&page, "%g Tc (%s) Tj 0 Tc (%s) Tj\n", 2.9+.1*float64(i%3), word[:end], word[end:])
		}
		page.WriteString("ET\n")
	}
	line(700, "The balance sheet of 2019 shows 41500 euros")
	line(680, "Of these 300 belong to members in arrears")
	got := extracttest.Outline(extracttest.Read(t, "scan.pdf", []byte(extracttest.PDFPageOf("", page.String()))))
	for _, want := range []string{"The balance sheet of 2019 shows 41500 euros", "Of these 300 belong to members in arrears"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in %q", want, got)
		}
	}
}

// Where spaces are gaps alone, as TeX sets them, letters that stand alone stay words.
func TestPDF_KeepsWordsOfOneLetterWhereGapsAreSpaces(t *testing.T) {
	page := "BT /R 12 Tf 1 0 0 1 90 700 Tm 2.9 Tc (HEADIN) Tj 0 Tc (G) Tj ET\n" +
		"BT /R 12 Tf 1 0 0 1 90 680 Tm [(This)-250(is)-250(a)-250(plan)-250(of)-250(3)-250(parts)] TJ ET\n"
	got := extracttest.Outline(extracttest.Read(t, "a.pdf", []byte(extracttest.PDFPageOf("", page))))
	for _, want := range []string{"HEADING", "This is a plan of 3 parts"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in %q", want, got)
		}
	}
}
