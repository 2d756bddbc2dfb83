package pdf

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/extract/extracttest"
)

// Columns of figures end at the same place, whatever the lengths of the figures: their rows are rows,
// and what stands before and behind the table is not.
func TestPDF_KnowsRowsByTheRightEdgesOfFigures(t *testing.T) {
	for seed := range 12 {
		rng := rand.New(rand.NewPCG(13, uint64(seed)))
		size := []float64{7, 9, 11, 13}[rng.IntN(4)]
		columns := 1 + rng.IntN(4)
		page := extracttest.SetLines(72, 740, "What follows is a table, and these words stand before it as a line of prose.")
		y := 700.0
		rows := 3 + rng.IntN(8)
		for range rows {
			page += extracttest.Set("R", size, 72, y, []string{"Revenue", "Cost of sales", "Tax", "Income before interest"}[rng.IntN(4)])
			for c := range columns {
				figure := fmt.Sprint(rng.IntN([]int{10, 1000, 100_000}[rng.IntN(3)]))
				switch rng.IntN(5) {
				case 0:
					figure = "(" + figure + ")"
				case 1:
					figure += "%"
				case 2:
					figure = "\x97"
				}
				right := 72 + size*(19+float64(7*c))
				page += extracttest.Set("R", size, right-size*helveticaWidth(figure), y, figure)
			}
			y -= 1.5 * size
		}
		got := extracttest.Outline(extracttest.Read(t, "a.pdf", extracttest.MakePDF(page+extracttest.SetLines(72, y-30, "This is a line of prose behind the table, and no row of it at all."))))
		if n := strings.Count(got, "\nTR ") + strings.Count(got, "\nTH "); n != rows || strings.Count(got, "\nP ") != 2 {
			t.Errorf("seed %d: %d of %d rows are rows:\n%s", seed, n, rows, got)
		}
	}
}

// Justified prose has wide gaps in narrow columns, and all its lines end at the same place.
func TestPDF_TakesJustifiedProseForNoTable(t *testing.T) {
	for seed := range 12 {
		rng := rand.New(rand.NewPCG(14, uint64(seed)))
		var page strings.Builder
		for line := range 12 {
			words := []string{"the", "company", "reports", "income", "of", "12", "percent", "for", "its", "customers"}
			rng.Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] })
			words = words[:4]
			width := 0.0
			for _, w := range words {
				width += 11 * helveticaWidth(w)
			}
			x, y := 72.0, 700-14*float64(line)
			wide := rng.IntN(3) // the gap that the program stretches most
			for i, w := range words {
				page.WriteString(extracttest.Set("R", 11, x, y, w))
				if x += 11*helveticaWidth(w) + 5; i == wide {
					x += max(190-width, 12)
				}
			}
		}
		if got := extracttest.Outline(extracttest.Read(t, "a.pdf", extracttest.MakePDF(page.String()))); strings.Contains(got, "\nT") {
			t.Errorf("seed %d: prose became rows:\n%s", seed, got)
		}
	}
}

// Some programs write fonts whose map to Unicode calls the space a line feed, or another control
// character that is a space. A line of such type is one line.
func TestPDF_ReadsASpaceByWhateverNameItsFontGivesIt(t *testing.T) {
	for _, code := range []string{"0020", "0009", "000A", "000B", "000C", "000D", "0085", "00A0", "2003", "2028", "2029", "000D000A"} {
		toUnicode := "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapType 2 def " +
			"1 begincodespacerange <00><FF> endcodespacerange 2 beginbfrange <21><7E><0021> <20><20><" + code + "> endbfrange endcmap end end"
		doc := extracttest.Read(t, "a.pdf", extracttest.PDFObjects("",
			"<< /Type /Catalog /Pages 2 0 R >>",
			"<< /Type /Pages /Kids [3 0 R] /Count 1 /MediaBox [0 0 612 792] >>",
			"<< /Type /Page /Parent 2 0 R /Contents 4 0 R /Resources << /Font << /R 5 0 R >> >> >>",
			extracttest.PDFStream(extracttest.SetLines(72, 700, "Adjusted revenue of the year that", "ended in December was 4711 euros.")),
			"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding /ToUnicode 6 0 R >>",
			extracttest.PDFStream(toUnicode)))
		want := "page 1\nP Adjusted revenue of the year that ended in December was 4711 euros.\n"
		if diff := cmp.Diff(want, extracttest.Outline(doc)); diff != "" {
			t.Errorf("U+%s: %s", code, diff)
		}
	}
}
