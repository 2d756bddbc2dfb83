package pdf

import (
	"fmt"
	"strings"
	"testing"

	"parley/internal/extract/extracttest"
)

// dvips writes fonts as pictures of their letters (type 3, ISO 32000-1, 9.6.5), in pixels: the size of the font in the page is then
// a number far below one.
func TestPDF_ReadsParagraphsAndHeadingsOfPictureFonts(t *testing.T) {
	var names, procs strings.Builder
	objects := []string{"<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 >>", "", "", ""}
	for c := 'a'; c <= 'z'; c++ {
		objects = append(objects, extracttest.PDFStream("100 0 0 0 90 140 d1 0 0 90 140 re f"))
		fmt.Fprintf(&names, " /%c", c)
		fmt.Fprintf(&procs, " /%c %d 0 R", c, len(objects))
	}
	font := fmt.Sprintf("<< /Type /Font /Subtype /Type3 /FontBBox [0 -40 150 140] /FontMatrix [1 0 0 1 0 0] /FirstChar 97 /LastChar 122 /Widths [%s] /Encoding << /Type /Encoding /Differences [97%s] >> /CharProcs <<%s >> /Resources << >> >>",
		strings.TrimSpace(strings.Repeat("100 ", 26)), names.String(), procs.String())
	set := func(size float64, y int, line string) string { // spaces are gaps, and | is a narrow one, a kern
		shown := strings.NewReplacer(" ", ") -60000 (", "|", ") -8000 (").Replace(line)
		return fmt.Sprintf("BT /T %g Tf 1 0 0 1 72 %d Tm [(%s)] TJ ET\n", size, y, shown)
	}
	content := set(.1, 720, "editing pictures") +
		set(.06, 690, "lefty is an editor for technical pictures and draws each ob|ject where") +
		set(.06, 680, "its program says and it draws the ones that people have typed by their") +
		set(.06, 670, "hands")
	objects[2] = "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /T 5 0 R >> >> >>"
	objects[3], objects[4] = extracttest.PDFStream(content), font
	doc := extracttest.Read(t, "a.pdf", extracttest.PDFObjects("/Root 1 0 R", objects...))
	want := "page 1\nH1 editing pictures\nP lefty is an editor for technical pictures and draws each object where its program says and it draws the ones that people have typed by their hands\n"
	if got := extracttest.Outline(doc); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
