package pdf

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"parley/internal/extract/extracttest"
)

// The files of testdata/running were made by other programs: letters and slides by reportlab, deck by
// LibreOffice from a flat presentation, report by Chromium from a page of HTML.
func TestPDF_KeepsTitlesAndLastLinesAndDropsRunningLines(t *testing.T) {
	for name, want := range map[string]map[string]int{ // how often each line is read
		"letters": {"Yours sincerely": 3, "Acme Ltd, 1 High Street": 1, "Page 3 of 8": 0, "Sentence": 36},
		"slides": {
			"Agenda": 3, "Results": 3, "Outlook": 2, "Thanks": 1, "Point": 10,
			"Sales rose by 10 per cent": 1, "Sales rose by 24 per cent": 1, "Sales rose by 31 per cent": 1, "Numbers are audited": 3,
		},
		"deck":   {"Results": 3, "Outlook": 3, "Questions": 1, "Finding": 7, "Acme annual meeting": 1},
		"report": {"North paragraph": 40, "South paragraph": 40, "East paragraph": 40},
	} {
		data, err := os.ReadFile("testdata/running/" + name + ".pdf")
		if err != nil {
			t.Fatal(err)
		}
		got := extracttest.Outline(extracttest.Read(t, name+".pdf", data))
		for line, n := range want {
			if found := strings.Count(got, line); found != n {
				t.Errorf("%s: %q is read %d times, want %d", name, line, found, n)
			}
		}
	}
}

// TestPDF_LosesNoLineOfTheBody draws documents whose pages are of any length, with lines at their
// edges that recur at random, and holds that each line stands in the text as often as on the pages,
// except for the headers, footers and page numbers that are printed on all of them.
func TestPDF_LosesNoLineOfTheBody(t *testing.T) {
	rounds := 60
	if testing.Short() {
		rounds = 10
	}
	for seed := range rounds {
		rng := rand.New(rand.NewPCG(25, uint64(seed)))
		pick := func(of ...string) string { return of[rng.IntN(len(of))] }
		titleSize, footed := []float64{11, 14, 20}[rng.IntN(3)], rng.IntN(2) == 0
		var pages, body []string
		count := 6 + rng.IntN(20)
		for i := range count {
			var b strings.Builder
			say := func(size, y float64, line string) {
				b.WriteString(extracttest.Set("R", size, 72, y, line))
				body = append(body, line)
			}
			switch rng.IntN(3) {
			case 0: // a title, now and then the same as pages before
				say(titleSize, 755, pick("Results", "Agenda", "Outlook", "Risks", "Next steps", "Team", "Finance", "Plan"))
			case 1: // a row of a table that goes on
				say(11, 755, fmt.Sprintf("Total %d", rng.IntN(1000)))
			}
			y := 700.0
			for line := range 1 + rng.IntN(44) {
				say(11, y, fmt.Sprintf("Line %d of page %d", line, i))
				y -= 14
			}
			if rng.IntN(3) == 0 {
				say(11, 50, pick("Yours sincerely", "Total due", "See above", "Continued", fmt.Sprint(rng.IntN(1000)), fmt.Sprintf("%d / %d", rng.IntN(9), rng.IntN(9))))
			}
			if footed {
				b.WriteString(extracttest.Set("R", 8, 72, 770, "Acme handbook 2024") + extracttest.Set("R", 8, 300, 30, fmt.Sprintf("Page %d of %d", i+1, count)))
			}
			pages = append(pages, b.String())
		}
		doc := extracttest.Read(t, "a.pdf", extracttest.MakePDF(pages...))
		var text strings.Builder
		for _, p := range doc.Pages {
			text.WriteString(" " + strings.ReplaceAll(p.Text, "\n", " "))
		}
		got := text.String() + " "
		want := map[string]int{}
		for _, line := range body {
			want[line]++
		}
		for line, n := range want {
			if found := strings.Count(got, " "+line+" "); found < n {
				// Words of neighbouring lines share the space between them.
				if found = strings.Count(strings.ReplaceAll(got, " ", "  "), " "+strings.ReplaceAll(line, " ", "  ")+" "); found < n {
					t.Errorf("seed %d: %q stands on %d of %d pages, and is read %d times", seed, line, n, count, found)
				}
			}
		}
		if n := strings.Count(got, "Acme handbook 2024"); footed && n != 1 {
			t.Errorf("seed %d: the header of %d pages is read %d times", seed, count, n)
		}
		if footed && strings.Contains(got, " Page 3 of") {
			t.Errorf("seed %d: page numbers are read", seed)
		}
	}
}
