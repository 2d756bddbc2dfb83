package pdf

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/extract/extracttest"
)

func TestPDF_ReadsTextWhicheverWayUpItIsShown(t *testing.T) {
	content := extracttest.Set("B", 18, 172, 700, "Chapter heading") +
		extracttest.SetLines(172, 660, "Some of the benefits that are listed here may need an approval,", "and after that the plan has bene-", "fits for all who ask.") +
		extracttest.Set("R", 11, 172, 560, "Plan") + extracttest.Set("R", 11, 300, 560, "Price") + extracttest.Set("R", 11, 400, 560, "Year") +
		extracttest.Set("R", 11, 172, 546, "Plus") + extracttest.Set("R", 11, 300, 546, "5") + extracttest.Set("R", 11, 400, 546, "2024")
	want := extracttest.Outline(extracttest.Read(t, "a.pdf", []byte(extracttest.PDFPageOf("", content))))
	if wantParagraph := "and after that the plan has benefits for all who ask."; !strings.Contains(want, wantParagraph) {
		t.Fatalf("%q is not in %q", wantParagraph, want)
	}
	for turn, matrix := range []string{"1 0 0 1 0 0", "0 1 -1 0 1000 -100", "-1 0 0 -1 612 1200", "0 -1 1 0 -300 750"} {
		for _, shown := range []int{0, 90, 180, 270} {
			page := extracttest.PDFPageOf(fmt.Sprintf("/Rotate %d /MediaBox [-1000 -1000 2000 2000]", shown), "q "+matrix+" cm\n"+content+"Q\n")
			if diff := cmp.Diff(want, extracttest.Outline(extracttest.Read(t, "a.pdf", []byte(page)))); diff != "" {
				t.Errorf("set with %d quarter turns, shown with %d°: %s", turn, shown, diff)
			}
		}
	}
}
