package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/internal/extract"
	"parley/internal/extract/extracttest"
	"parley/test/needs"
)

// red sets what the boxes are to cover.
func red(s string) string { return "1 0 0 rg\n" + s + "0 g\n" }

// turned places a line that runs up the page.
func turned(x, y float64, text string) string {
	return fmt.Sprintf("BT /R 11 Tf 0 1 -1 0 %g %g Tm (%s) Tj ET\n", x, y, text)
}

func TestMeasure_CoversTheWordsAsThePageIsShown(t *testing.T) {
	if needs.Race {
		t.Skip("drawing pages under the race detector takes a worker longer than its time")
	}
	column := func(x float64) string {
		return extracttest.SetLines(x, 700, "Here the column begins with", "its own words, and so it", "goes on until it ends.")
	}
	upright := func(before, words, after string) string {
		return extracttest.SetLines(72, 730, before) + red(extracttest.SetLines(72, 716, words)) + extracttest.SetLines(72, 702, after)
	}
	const said = "Contact lenses are covered up to $150."
	plain := upright("Vision care is included in every plan.", said, "Glasses are covered in every second year.")
	cases := map[string]struct {
		attributes, content string
		words               []string // of which the boxes are measured, each a range
		boxes               int
	}{
		"plain":           {"", plain, []string{said}, 1},
		"rotated by 90":   {"/Rotate 90", plain, []string{said}, 1},
		"rotated by 180":  {"/Rotate 180", plain, []string{said}, 1},
		"rotated by 270":  {"/Rotate 270", plain, []string{said}, 1},
		"cropped":         {"/CropBox [60 300 400 760]", plain, []string{said}, 1},
		"cropped, turned": {"/Rotate 90 /CropBox [60 300 400 760]", plain, []string{said}, 1},
		"another origin":  {"/MediaBox [-100 -50 512 792]", plain, []string{said}, 1},
		"half a line": {"", extracttest.Set("R", 11, 72, 700, "Some words. ") + red(extracttest.Set("R", 11, 140, 700, said)) + extracttest.Set("R", 11, 345, 700, "More."),
			[]string{said}, 1},
		"three lines": {"", extracttest.SetLines(72, 714, "A sentence that is not marked stands before the one that is.") +
			red(extracttest.SetLines(72, 700, "Contact lenses are covered up to one hundred and fifty dollars in every",
				"year, unless the plan says otherwise, which no plan has done so far, and",
				"glasses are covered too.")),
			[]string{"Contact lenses are covered up to one hundred and fifty dollars in every year, unless the plan says otherwise, which no plan has done so far, and glasses are covered too."}, 3},
		"a divided word": {"", extracttest.SetLines(72, 714, "Some of the benefits that are listed here may need an approval, and the") +
			red(extracttest.SetLines(72, 700, "plan has bene-", "fits for all.")), []string{"plan has benefits for all."}, 2},
		"ligatures": {"", red("BT /L 11 Tf 1 0 0 1 72 700 Tm (We \\001le bene\\001ts and \\001nd of\\001ces.) Tj ET\n") +
			extracttest.SetLines(72, 660, "The rest of the page is about other things."), []string{"We file benefits and find offices."}, 1},
		"two columns": {"", column(72) + red(extracttest.SetLines(330, 700, "Contact lenses are covered,", "but only up to $150.")) +
			extracttest.SetLines(330, 672, "There is more in this column.", "And then it ends."), []string{"Contact lenses are covered, but only up to $150."}, 2},
		"two ranges": {"", red(extracttest.Set("R", 11, 72, 700, "First words.")) + extracttest.Set("R", 11, 140, 700, "Not these. ") + red(extracttest.Set("R", 11, 200, 700, "Last words.")),
			[]string{"First words.", "Last words."}, 2},
		"up the page":            {"", plain[:0] + extracttest.SetLines(72, 730, "Words across the page are here.") + red(turned(300, 200, "Words up the page.")), []string{"Words up the page."}, 1},
		"up the page, turned":    {"/Rotate 90", red(turned(300, 200, "Words up the page.")) + turned(320, 200, "And others beside them."), []string{"Words up the page."}, 1},
		"small beside large":     {"", red(extracttest.Set("R", 30, 72, 700, "Large")) + extracttest.Set("R", 8, 160, 700, "small"), []string{"Large"}, 1},
		"accented, quoted, euro": {"", red(extracttest.Set("R", 11, 72, 700, "Caf\xe9 \x93cr\xe8me\x94 5 \x80.")) + extracttest.SetLines(72, 680, "More."), []string{"Café “crème” 5 €."}, 1},
	}
	p := newTestPool(t, Options{})
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.pdf")
			if err := os.WriteFile(path, []byte(extracttest.PDFPageOf(c.attributes, c.content)), 0o600); err != nil {
				t.Fatal(err)
			}
			r := extract.Request{Name: "a.pdf", Path: path}
			res, err := p.Extract(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			page := res.Document.Pages[0]
			var ranges [][]int
			for _, words := range c.words {
				at := strings.Index(page.Text, words)
				if at < 0 {
					t.Fatalf("%q is not in %q", words, page.Text)
				}
				ranges = append(ranges, page.CharIndexes(at, at+len(words)))
			}
			g, err := p.Measure(t.Context(), r, 1, ranges)
			if err != nil {
				t.Fatal(err)
			}
			if len(g.Boxes) != c.boxes {
				t.Errorf("%d boxes, want %d: %v", len(g.Boxes), c.boxes, g.Boxes)
			}
			picture, err := p.Render(t.Context(), r, 1, 1600)
			if err != nil {
				t.Fatal(err)
			}
			checkCovered(t, picture, g)
		})
	}
}

// checkCovered compares boxes with a picture: all that is red is in them, all that is dark is not,
// and no box is without red.
func checkCovered(t *testing.T, picture *extract.Image, g *extract.Geometry) {
	t.Helper()
	img, err := jpeg.Decode(bytes.NewReader(picture.Data))
	if err != nil {
		t.Fatal(err)
	}
	size := img.Bounds()
	if ratio := g.Width / g.Height * float64(size.Dy()) / float64(size.Dx()); ratio < .99 || ratio > 1.01 {
		t.Errorf("the page is %g × %g, its picture %v", g.Width, g.Height, size)
	}
	const blur = 3 // pixels of the picture's compression
	var areas []image.Rectangle
	for _, b := range g.Boxes {
		w, h := float64(size.Dx()), float64(size.Dy())
		areas = append(areas, image.Rect(int(b.X*w)-blur, int(b.Y*h)-blur, int((b.X+b.Width)*w)+1+blur, int((b.Y+b.Height)*h)+1+blur))
	}
	reds := make([]int, len(areas))
	outside, strange := 0, 0
	for y := range size.Dy() {
		for x := range size.Dx() {
			r, g, b, _ := img.At(x, y).RGBA()
			isRed := r>>8 > 150 && g>>8 < 110 && b>>8 < 110
			isDark := r>>8 < 70 && g>>8 < 70 && b>>8 < 70
			in, within := false, false
			for i, area := range areas {
				if (image.Point{x, y}).In(area) {
					in, within = true, within || (image.Point{x, y}).In(area.Inset(blur))
					if isRed {
						reds[i]++
					}
				}
			}
			if isRed && !in {
				outside++
			}
			if isDark && within {
				strange++
			}
		}
	}
	if outside > 0 || strange > 0 {
		t.Errorf("%d pixels of the words are outside of the boxes %v, %d of others inside", outside, areas, strange)
	}
	for i, n := range reds {
		if n < 20 {
			t.Errorf("box %d, %v, has nothing of the words", i, areas[i])
		}
	}
}

func TestMeasure_KeepsItsLimits(t *testing.T) {
	if needs.Race {
		t.Skip("drawing pages under the race detector takes a worker longer than its time")
	}
	pdf := string(extracttest.MakePDF(extracttest.Set("R", 12, 50, 700, "text")))
	p := newTestPool(t, Options{})
	g, err := p.Measure(t.Context(), extract.Request{Name: "a.pdf", Path: written(t, pdf)}, 1, nil)
	if err != nil || g.Width != 612 || g.Height != 792 || len(g.Boxes) != 0 {
		t.Errorf("%+v, %v", g, err)
	}
	g, err = p.Measure(t.Context(), extract.Request{Name: "a.pdf", Path: written(t, pdf)}, 1, [][]int{{-1, 1 << 40, 99}, {}, {0}})
	if err != nil || len(g.Boxes) != 1 || g.Boxes[0].Range != 2 {
		t.Errorf("of characters that are not there: %+v, %v", g, err)
	}
	for name, c := range map[string]struct {
		name, content string
		page          int
		want          extract.Reason
	}{
		"page 0": {"a.pdf", pdf, 0, extract.Damaged},
		"page 2": {"a.pdf", pdf, 2, extract.Damaged},
		"text":   {"a.txt", "words", 1, extract.Unsupported},
		"no PDF": {"a.pdf", "%PDF-1.4 and nothing else", 1, extract.Damaged},
	} {
		_, err := p.Measure(t.Context(), extract.Request{Name: c.name, Path: written(t, c.content)}, c.page, [][]int{{0}})
		if e, ok := errors.AsType[*extract.Error](err); !ok || e.Reason != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}
