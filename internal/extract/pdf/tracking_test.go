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

// Ghostscript writes the lines of groff like this: a text object that has the end of one word and the beginning of the next,
// with letter spacing for the space, or a space that word spacing takes back.
func TestPDF_ReadsWordsThatGhostscriptTakesApart(t *testing.T) {
	for name, c := range map[string]struct{ content, want string }{
		"two words share an object":                {"(Calculates what is between tw) Tj 2.5 Tc [(oi) 250] TJ 0 Tc (mages of one scene.) Tj", "Calculates what is between two images of one scene."},
		"a word of one letter between them":        {"(The font is used whene) Tj -.15 Tc [(ve) -15] TJ 2.64 Tc [(rar) 264] TJ 0 Tc (equested one is not there.) Tj", "The font is used whenever a requested one is not there."},
		"a space that takes no room":               {"(It converts in one direction e) Tj -.15 Tc [(ve) -15] TJ 2.5 Tc [(ni) 250 (fg) 250] TJ -.25 Tc -2.28 Tw [(iv e) -25] TJ 0 Tc 0 Tw (n many files.) Tj", "It converts in one direction even if given many files."},
		"a word of two letters that are set wide":  {"(Begin with) Tj 2.5 Tc ( ) Tj [(on) -100] TJ 0 Tc (or off.) Tj", "Begin with on or off."},
		"a space that is narrow, but can be seen":  {"-1.9 Tw (The words of this line are set close.) Tj", "The words of this line are set close."},
		"letters that stand alone in their object": {"(Type) Tj 3 Tc ( ) Tj [(x)] TJ 0 Tc ( and wait.) Tj", "Type x and wait."},
	} {
		t.Run(name, func(t *testing.T) {
			doc := extracttest.Read(t, "a.pdf", extracttest.MakePDF("BT /R 10 Tf 72 700 Td "+c.content+" ET"))
			if got := extracttest.Outline(doc); got != "page 1\nP "+c.want+"\n" {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
