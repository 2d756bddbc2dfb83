package pdf

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/extract/extracttest"
)

// The file was made by reportlab. Lines that are drawn part cells of several lines, and say which cells reach down or
// across; a frame around a paragraph is no table.
func TestPDF_ReadsTablesWithDrawnLines(t *testing.T) {
	want := `page 1
P The cells of this table have several lines, and its last row is one cell.
TH Service | In network | Out of network | Notes
TR Primary care visit to treat an injury or an illness | $25 copay | 40% coinsurance | None
TR Diagnostic tests and imaging | $50 for each test that is ordered by the doctor | 40% | Prior authorisation is needed for scans
TR All of the above needs a referral from the doctor
P Only level lines part the rows of this one.
TH Risk | Owner | Mitigation
TR Loss of data by fire in the main server room | Head of IT | Copies are kept in another town and are tested twice a year
TR Fraud | Chief financial officer | Two people sign each payment above ten thousand
TR Strike of the staff in one of the plants | HR | Talks with the union are held each quarter
P The first cells of this one reach down.
TH Country | City | Cost
TR Germany | Berlin | $ 3.7
TR Germany | Hamburg | $ 1.9
TR France | Paris | $ 2.1
TR France | Lyon | $ 0.5
P A framed note is no table:
P Members who move must tell the plan within thirty days of the move, and choose a doctor in their new region. Those who do not are treated as members without a doctor.
`
	if diff := cmp.Diff(want, readTables(t, "grids")); diff != "" {
		t.Error(diff)
	}
}

// Whatever is drawn on a page, its words stay.
func TestPDF_LosesNoWordToDrawnLines(t *testing.T) {
	for seed := range 25 {
		rng := rand.New(rand.NewPCG(31, uint64(seed)))
		var page strings.Builder
		var want []string
		for row := range 3 + rng.IntN(12) {
			for column := range 1 + rng.IntN(4) {
				word := fmt.Sprintf("w%dx%d", row, column)
				want = append(want, word, word+"b")
				page.WriteString(extracttest.Set("R", 10, 72+float64(110*column), 700-float64(14*row), word+" "+word+"b"))
			}
		}
		for range rng.IntN(40) {
			x, y := 60+10*rng.IntN(40), 500+7*rng.IntN(35)
			switch rng.IntN(4) {
			case 0:
				fmt.Fprintf(&page, "%d %d m %d %d l S\n", x, y, x+50*rng.IntN(10), y)
			case 1:
				fmt.Fprintf(&page, "%d %d m %d %d l S\n", x, y, x, y+20*rng.IntN(10))
			case 2:
				fmt.Fprintf(&page, "%d %d %d %d re S\n", x, y, 20*rng.IntN(20), 14*rng.IntN(14))
			case 3: // a raster in one path
				for i := range 5 {
					fmt.Fprintf(&page, "60 %d m 500 %d l %d 490 m %d 720 l\n", 500+40*i, 500+40*i, 60+110*i, 60+110*i)
				}
				page.WriteString("S\n")
			}
		}
		doc := extracttest.Read(t, "a.pdf", extracttest.MakePDF(page.String()))
		got := strings.Fields(doc.Pages[0].Text)
		for _, word := range want {
			if !slices.Contains(got, word) {
				t.Errorf("seed %d: %q is lost in\n%s", seed, word, doc.Pages[0].Text)
			}
		}
	}
}

// A heading that runs along stands in the midst of sentences, which tells it from the titles of slides.
func TestPDF_DropsRunningChapterTitles(t *testing.T) {
	var pages []string
	for i := range 12 {
		page := extracttest.Set("B", 14, 72, 760, fmt.Sprintf("Chapter %d Risks", 1+i/5)) + extracttest.Set("R", 9, 300, 30, fmt.Sprint(i+1))
		for line := range 30 {
			page += extracttest.Set("R", 11, 72, 720-14*float64(line), fmt.Sprintf("and the sentence goes on in line %d of page %d, with no end", line, i))
		}
		pages = append(pages, page)
	}
	got := extracttest.Outline(extracttest.Read(t, "a.pdf", extracttest.MakePDF(pages...)))
	for chapter, most := range map[string]int{"Chapter 1 Risks": 1, "Chapter 2 Risks": 1, "Chapter 3 Risks": 2} {
		if n := strings.Count(got, chapter); n == 0 || n > most {
			t.Errorf("%q is read %d times", chapter, n)
		}
	}
}
