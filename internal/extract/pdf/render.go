package pdf

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/jpeg"
	"math"

	"parley/internal/extract"
)

// The limits of a picture.
const (
	minPixels   = 64
	maxPixels   = 3000
	jpegQuality = 80
)

func renderPDF(_ context.Context, f *extract.File, r extract.Rendering) (*extract.Image, error) {
	d, err := openPDF(f)
	if err != nil {
		return nil, err
	}
	defer d.close()
	return d.render(r.Page-1, min(max(r.Pixels, minPixels), maxPixels))
}

// render draws a page for people.
func (d *pdfDocument) render(index, pixels int) (img *extract.Image, err error) {
	err = d.paint(index, func(w, h float32) float64 { return float64(pixels) / float64(max(w, h)) }, func(b bitmap) error {
		img, err = encode(b)
		return err
	})
	return img, err
}

// drawPDF draws a page for the recognition of its text.
func drawPDF(_ context.Context, f *extract.File, page int) (*extract.Drawing, error) {
	d, err := openPDF(f)
	if err != nil {
		return nil, err
	}
	defer d.close()
	const dots = 300.0 // an inch: Tesseract reads best at this resolution
	out := extract.Drawing{Number: page}
	scale := func(w, h float32) float64 {
		s := min(dots/72, math.Sqrt(extract.MaxDrawing/(float64(w)*float64(h))))
		out.DPI = max(1, int(s*72))
		return s
	}
	err = d.paint(page-1, scale, func(b bitmap) error {
		out.Gray = image.NewGray(image.Rect(0, 0, b.width, b.height))
		for y := range b.height {
			src, dst := b.raw[y*b.stride:], out.Gray.Pix[y*out.Gray.Stride:]
			for x := range b.width {
				blue, green, red := uint32(src[4*x]), uint32(src[4*x+1]), uint32(src[4*x+2])
				dst[x] = uint8((299*red + 587*green + 114*blue) / 1000)
			}
		}
		return nil
	})
	return &out, err
}

// bitmap is a painted page. Its pixels are blue, green, red and an opaque alpha.
type bitmap struct {
	raw                   []byte
	stride, width, height int
}

// paint draws a page with its annotations on white (fpdfview.h, FPDF_RenderPageBitmap), with the scale that scaled
// returns for its size in points. The bitmap is freed when use returns.
func (d *pdfDocument) paint(index int, scaled func(w, h float32) float64, use func(bitmap) error) error {
	if count := d.int("FPDF_GetPageCount", d.handle); index < 0 || index >= count {
		return extract.Damagedf("the document has %d pages", count)
	}
	page := d.call("FPDF_LoadPage", d.handle, uint64(index))
	if d.err != nil {
		return d.failure()
	}
	if page == 0 {
		return extract.Damagedf("page %d cannot be read", index+1)
	}
	defer d.call("FPDF_ClosePage", page)
	w, h, ok := d.pageSize(page)
	if !ok {
		return extract.Damagedf("page %d has no size", index+1)
	}
	scale := scaled(w, h)
	b := bitmap{width: side(w, scale), height: side(h, scale)}
	const withAlpha, white, annotations = 1, 0xFFFFFFFF, 1
	handle := d.call("FPDFBitmap_Create", uint64(b.width), uint64(b.height), withAlpha)
	if handle == 0 {
		return d.failure()
	}
	defer d.call("FPDFBitmap_Destroy", handle)
	d.call("FPDFBitmap_FillRect", handle, 0, 0, uint64(b.width), uint64(b.height), white)
	d.call("FPDF_RenderPageBitmap", handle, page, 0, 0, uint64(b.width), uint64(b.height), 0, annotations)
	buffer := d.call("FPDFBitmap_GetBuffer", handle)
	b.stride = d.int("FPDFBitmap_GetStride", handle)
	if d.err != nil {
		return d.failure()
	}
	b.raw, ok = d.module.Memory().Read(uint32(buffer), uint32(b.stride*b.height))
	if !ok || b.stride < 4*b.width {
		return &extract.Error{Reason: extract.Crashed, Detail: "the PDF parser gave no picture"}
	}
	return use(b)
}

func side(points float32, scale float64) int {
	return max(1, int(math.Round(float64(points)*scale)))
}

// encode makes a JPEG.
func encode(m bitmap) (*extract.Image, error) {
	img := image.NewRGBA(image.Rect(0, 0, m.width, m.height))
	for y := range m.height {
		src, dst := m.raw[y*m.stride:], img.Pix[y*img.Stride:]
		for x := 0; x < 4*m.width; x += 4 {
			dst[x], dst[x+1], dst[x+2], dst[x+3] = src[x+2], src[x+1], src[x], 0xFF
		}
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, img, &jpeg.Options{Quality: jpegQuality}); err != nil {
		return nil, fmt.Errorf("encode a page: %w", err)
	}
	return &extract.Image{Data: b.Bytes(), MediaType: "image/jpeg", Width: m.width, Height: m.height}, nil
}
