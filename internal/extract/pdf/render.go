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

// render draws a page with its annotations on white (fpdfview.h, FPDF_RenderPageBitmap).
func (d *pdfDocument) render(index, pixels int) (*extract.Image, error) {
	if count := d.int("FPDF_GetPageCount", d.handle); index < 0 || index >= count {
		return nil, extract.Damagedf("the document has %d pages", count)
	}
	page := d.call("FPDF_LoadPage", d.handle, uint64(index))
	if d.err != nil {
		return nil, d.failure()
	}
	if page == 0 {
		return nil, extract.Damagedf("page %d cannot be read", index+1)
	}
	defer d.call("FPDF_ClosePage", page)
	w, h, ok := d.pageSize(page)
	if !ok {
		return nil, extract.Damagedf("page %d has no size", index+1)
	}
	scale := float64(pixels) / float64(max(w, h))
	width, height := side(w, scale), side(h, scale)
	const withAlpha, white, annotations = 1, 0xFFFFFFFF, 1
	bitmap := d.call("FPDFBitmap_Create", uint64(width), uint64(height), withAlpha)
	if bitmap == 0 {
		return nil, d.failure()
	}
	defer d.call("FPDFBitmap_Destroy", bitmap)
	d.call("FPDFBitmap_FillRect", bitmap, 0, 0, uint64(width), uint64(height), white)
	d.call("FPDF_RenderPageBitmap", bitmap, page, 0, 0, uint64(width), uint64(height), 0, annotations)
	buffer, stride := d.call("FPDFBitmap_GetBuffer", bitmap), d.int("FPDFBitmap_GetStride", bitmap)
	if d.err != nil {
		return nil, d.failure()
	}
	raw, ok := d.module.Memory().Read(uint32(buffer), uint32(stride*height))
	if !ok || stride < 4*width {
		return nil, &extract.Error{Reason: extract.Crashed, Detail: "the PDF parser gave no picture"}
	}
	return encode(raw, stride, width, height)
}

func side(points float32, scale float64) int {
	return max(1, int(math.Round(float64(points)*scale)))
}

// encode makes a JPEG of a bitmap whose pixels are blue, green, red and an opaque alpha.
func encode(raw []byte, stride, width, height int) (*extract.Image, error) {
	img := image.NewRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		src, dst := raw[y*stride:], img.Pix[y*img.Stride:]
		for x := 0; x < 4*width; x += 4 {
			dst[x], dst[x+1], dst[x+2], dst[x+3] = src[x+2], src[x+1], src[x], 0xFF
		}
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, img, &jpeg.Options{Quality: jpegQuality}); err != nil {
		return nil, fmt.Errorf("encode a page: %w", err)
	}
	return &extract.Image{Data: b.Bytes(), MediaType: "image/jpeg", Width: width, Height: height}, nil
}
