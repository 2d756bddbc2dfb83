package sandbox

import (
	"image"
	"strings"
	"testing"

	"parley/internal/extract"
	"parley/internal/extract/extracttest"
	"parley/internal/ocr/ocrtest"
)

func TestRecognise_ReadsAScanInAWorkerThatIsShutIn(t *testing.T) {
	pool := newTestPool(t, Options{Workers: 1, Limits: pageLimits})
	picture := ocrtest.Picture(t, 1500, 900, .02, ocrtest.Paragraph(120, 150, "Lost keys are replaced", "for a fee of $45 each.")...)
	scan := extract.Request{Name: "scan.pdf", Path: written(t, string(extracttest.ScannedPDF(t, picture)))}
	_, err := pool.Extract(t.Context(), scan)
	if extracttest.ReasonOf(err) != extract.ScanOnly {
		t.Fatalf("without recognition: %v", err)
	}
	page, err := pool.Recognise(t.Context(), scan, 1, []string{"eng"}, "")
	if err != nil {
		t.Fatal(err)
	}
	if page.Number != 1 || page.Text != "Lost keys are replaced for a fee of $45 each." {
		t.Errorf("page %d: %q", page.Number, page.Text)
	}
	at := strings.Index(page.Text, "$45")
	boxes := page.BoxesOf(at, at+3)
	if len(boxes) != 1 || boxes[0].Y < .15 || boxes[0].Y+boxes[0].Height > .3 || boxes[0].X < .2 || boxes[0].X > .28 {
		t.Errorf("the fee stands at %+v", boxes)
	}
	scan.Seen = map[int]extract.Seen{1: {Page: *page}}
	result, err := pool.Extract(t.Context(), scan)
	if err != nil || len(result.Document.Pages) != 1 || result.Document.Pages[0].Text != page.Text || len(result.Document.Pages[0].Boxes) != len(page.Boxes) {
		t.Errorf("with what was recognised: %+v, %v", result, err)
	}
	if _, err := pool.Recognise(t.Context(), scan, 2, []string{"eng"}, ""); extracttest.ReasonOf(err) != extract.Damaged {
		t.Errorf("a page that there is not: %v", err)
	}
}

func TestRecognise_RefusesWhatHasNoPictures(t *testing.T) {
	pool := newTestPool(t, Options{Workers: 1, Limits: extract.Limits{MemoryBytes: pageLimits.MemoryBytes}})
	for name, content := range map[string]string{"a.txt": "Some text.", "a.png": "\x89PNG\r\n\x1a\n", "a.pdf": "%PDF-1.7\n"} {
		_, err := pool.Recognise(t.Context(), extract.Request{Name: name, Path: written(t, content)}, 1, []string{"eng"}, "")
		if reason := extracttest.ReasonOf(err); reason != extract.Unsupported && reason != extract.Damaged {
			t.Errorf("%s: %v", name, err)
		}
	}
	picture := image.NewGray(image.Rect(0, 0, 40, 40))
	page, err := pool.Recognise(t.Context(), extract.Request{Name: "a.pdf", Path: written(t, string(extracttest.ScannedPDF(t, picture)))}, 1, []string{"eng"}, "")
	if err != nil || page.Text != "" {
		t.Errorf("a black picture: %+v, %v", page, err)
	}
}
