package sandbox

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/jpeg"
	"testing"

	"parley/internal/extract"
	"parley/internal/extract/extracttest"
)

func renderPage(t *testing.T, p *Pool, name, content string, page, pixels int) (*extract.Image, error) {
	t.Helper()
	return p.Render(t.Context(), extract.Request{Name: name, Path: written(t, content)}, page, pixels)
}

// dark returns the share of the dark pixels in a part of a picture.
func dark(t *testing.T, img image.Image, area image.Rectangle) float64 {
	t.Helper()
	n := 0
	for y := area.Min.Y; y < area.Max.Y; y++ {
		for x := area.Min.X; x < area.Max.X; x++ {
			if r, g, b, _ := img.At(x, y).RGBA(); r+g+b < 3*0x8000 {
				n++
			}
		}
	}
	return float64(n) / float64(area.Dx()*area.Dy())
}

func TestRender_DrawsThePageThatWasAskedFor(t *testing.T) {
	pdf := string(extracttest.MakePDF(extracttest.Set("B", 60, 50, 700, "HEAD"), extracttest.Set("B", 60, 50, 50, "FOOT")))
	p := newTestPool(t, Options{})
	for page, top := range map[int]bool{1: true, 2: false} {
		got, err := renderPage(t, p, "a.pdf", pdf, page, 792)
		if err != nil {
			t.Fatal(err)
		}
		img, err := jpeg.Decode(bytes.NewReader(got.Data))
		if err != nil || got.MediaType != "image/jpeg" || got.Width != 612 || got.Height != 792 || img.Bounds().Dx() != 612 || img.Bounds().Dy() != 792 {
			t.Fatalf("page %d: %d × %d, %v", page, got.Width, got.Height, err)
		}
		above, below := dark(t, img, image.Rect(0, 0, 612, 200)), dark(t, img, image.Rect(0, 592, 612, 792))
		if (above > .01) != top || (below > .01) == top {
			t.Errorf("page %d: %.3f dark above, %.3f below", page, above, below)
		}
	}
}

func TestRender_KeepsItsLimits(t *testing.T) {
	pdf := string(extracttest.MakePDF(extracttest.Set("R", 12, 50, 700, "text")))
	p := newTestPool(t, Options{})
	sizes := map[int]int{0: 64, 500: 500, 1 << 30: 3000}
	for pixels, want := range sizes {
		got, err := renderPage(t, p, "a.pdf", pdf, 1, pixels)
		if err != nil || got.Height != want {
			t.Errorf("%d pixels: %+v, %v", pixels, got, err)
		}
	}
	for name, c := range map[string]struct {
		name, content string
		page          int
		want          extract.Reason
	}{
		"page 0":  {"a.pdf", pdf, 0, extract.Damaged},
		"page 2":  {"a.pdf", pdf, 2, extract.Damaged},
		"page -1": {"a.pdf", pdf, -1, extract.Damaged},
		"text":    {"a.txt", "words", 1, extract.Unsupported},
		"no PDF":  {"a.pdf", "%PDF-1.4 and nothing else", 1, extract.Damaged},
		"no file": {"a.pdf", "", 1, extract.Empty},
	} {
		_, err := renderPage(t, p, c.name, c.content, c.page, 500)
		if e, ok := errors.AsType[*extract.Error](err); !ok || e.Reason != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Render(ctx, extract.Request{Name: "a.pdf", Path: written(t, pdf)}, 1, 500); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if res, err := p.Extract(t.Context(), extract.Request{Name: "a.pdf", Path: written(t, pdf)}); err != nil || res.Image != nil || len(res.Document.Pages) != 1 {
		t.Errorf("the text after the pictures: %+v, %v", res, err)
	}
}
