package pdf

import (
	"context"
	"math"

	"github.com/tetratelabs/wazero/api"

	"parley/internal/extract"
)

func measurePDF(ctx context.Context, f *extract.File, m extract.Measuring) (*extract.Geometry, error) {
	d, err := openPDF(f)
	if err != nil {
		return nil, err
	}
	defer d.close()
	return d.measure(ctx, m.Page-1, m.Ranges)
}

func (d *pdfDocument) measure(ctx context.Context, index int, ranges [][]int) (*extract.Geometry, error) {
	if count := d.int("FPDF_GetPageCount", d.handle); index < 0 || index >= count {
		return nil, extract.Damagedf("the document has %d pages", count)
	}
	page, _ := d.loadPage(index) // as reading does, so that the characters are the same
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
	g := &extract.Geometry{Width: float64(w), Height: float64(h)}
	if len(ranges) == 0 {
		return g, nil
	}
	text, _ := d.loadText(page)
	if text == 0 {
		return nil, extract.Damagedf("page %d cannot be read", index+1)
	}
	defer d.call("FPDFText_ClosePage", text)
	m := pdfMeasure{doc: d, text: text, shown: d.shownAs(page, g.Width, g.Height)}
	for i, chars := range ranges {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for _, b := range m.lines(chars) {
			if x, y, w, h := b.x0/g.Width, b.y0/g.Height, (b.x1-b.x0)/g.Width, (b.y1-b.y0)/g.Height; w > 0 && h > 0 {
				g.Boxes = append(g.Boxes, extract.Box{Range: i, X: x, Y: y, Width: w, Height: h})
			}
		}
	}
	if d.err != nil {
		return nil, d.failure()
	}
	return g, nil
}

// pageSize returns the size of a page as it is shown, in points.
func (d *pdfDocument) pageSize(page uint64) (w, h float32, ok bool) {
	w = api.DecodeF32(d.call("FPDF_GetPageWidthF", page))
	h = api.DecodeF32(d.call("FPDF_GetPageHeightF", page))
	return w, h, isFinite(w, h) && w >= 1 && h >= 1
}

// affine maps the coordinates of a page's content to points on the page as it is shown, from its top left corner. It
// combines the rotation and the crop box.
type affine struct{ xx, xy, yx, yy, x, y, width, height float64 }

// shownAs computes affine. It asks PDFium where the origin and the ends of two long axes are shown.
func (d *pdfDocument) shownAs(page uint64, width, height float64) affine {
	const size, axis = 1 << 24, 1 << 10 // device units of either side, since the answer is in whole ones; points
	at := func(x, y float64) (dx, dy float64) {
		d.call("FPDF_PageToDevice", page, 0, 0, size, size, 0, api.EncodeF64(x), api.EncodeF64(y), uint64(d.scratch), uint64(d.scratch+4))
		u, _ := d.module.Memory().ReadUint32Le(d.scratch)
		v, _ := d.module.Memory().ReadUint32Le(d.scratch + 4)
		return float64(int32(u)) / size * width, float64(int32(v)) / size * height
	}
	a := affine{width: width, height: height}
	a.x, a.y = at(0, 0)
	x, y := at(axis, 0)
	a.xx, a.yx = (x-a.x)/axis, (y-a.y)/axis
	x, y = at(0, axis)
	a.xy, a.yy = (x-a.x)/axis, (y-a.y)/axis
	return a
}

// rect is a rectangle on a page as it is shown, in points.
type rect struct{ x0, y0, x1, y1 float64 }

// show returns the part of a rectangle that is shown.
func (a *affine) show(left, bottom, right, top float64) rect {
	x0, y0 := a.x+a.xx*left+a.xy*bottom, a.y+a.yx*left+a.yy*bottom
	x1, y1 := a.x+a.xx*right+a.xy*top, a.y+a.yx*right+a.yy*top
	in := func(v, most float64) float64 { return min(max(v, 0), most) }
	return rect{
		in(min(x0, x1), a.width), in(min(y0, y1), a.height), in(max(x0, x1), a.width), in(max(y0, y1), a.height),
	}
}

func (r rect) union(o rect) rect {
	return rect{min(r.x0, o.x0), min(r.y0, o.y0), max(r.x1, o.x1), max(r.y1, o.y1)}
}

// pdfMeasure combines the boxes of characters.
type pdfMeasure struct {
	doc   *pdfDocument
	text  uint64
	shown affine
}

// lines returns a rectangle for each line of a range of characters.
func (m *pdfMeasure) lines(chars []int) []rect {
	var out []rect
	upright, first := true, true
	for i, char := range chars {
		box, ok := m.box(char)
		if !ok {
			continue
		}
		if i+1 < len(chars) && chars[i+1] > char+1 && m.hyphen(char+1) { // which the text omits
			if mark, ok := m.box(char + 1); ok && m.sameLine(box, mark, m.upright(char)) {
				box = box.union(mark)
			}
		}
		if first {
			upright, first = m.upright(char), false
		}
		if n := len(out); n > 0 && m.sameLine(out[n-1], box, upright) {
			out[n-1] = out[n-1].union(box)
			continue
		}
		upright = m.upright(char)
		out = append(out, box)
	}
	return out
}

// box returns the rectangle in which a character is shown, with the ascent and descent of its font, so that the boxes of a
// line's words have one height. ok is false for an invisible character.
func (m *pdfMeasure) box(char int) (rect, bool) {
	d := m.doc
	if char < 0 || char >= maxPageChars || d.int("FPDFText_GetLooseCharBox", m.text, uint64(char), uint64(d.scratch)) != 1 {
		return rect{}, false
	}
	left, top, right, bottom := d.float32At(d.scratch), d.float32At(d.scratch+4), d.float32At(d.scratch+8), d.float32At(d.scratch+12)
	if !isFinite(left, top, right, bottom) {
		return rect{}, false
	}
	box := m.shown.show(float64(left), float64(bottom), float64(right), float64(top))
	return box, box.x1 > box.x0 && box.y1 > box.y0
}

// hyphen reports whether a character divides a word at the end of a line.
func (m *pdfMeasure) hyphen(char int) bool {
	const divider = 2 // as PDFium has it
	switch m.doc.int("FPDFText_GetUnicode", m.text, uint64(char)) {
	case divider, '-', 0xAD, 0x2010:
		return true
	}
	return false
}

// upright reports whether a character's line runs across the page as it is shown, not up or down.
func (m *pdfMeasure) upright(char int) bool {
	angle := float64(api.DecodeF32(m.doc.call("FPDFText_GetCharAngle", m.text, uint64(char))))
	if math.IsNaN(angle) || angle < 0 { // -1 means unknown
		return true
	}
	sin, cos := math.Sincos(angle)
	across, down := m.shown.xx*cos+m.shown.xy*sin, m.shown.yx*cos+m.shown.yy*sin
	return math.Abs(across) >= math.Abs(down)
}

// sameLine reports whether a character continues a line: it is at the same height, and not beyond a gap as between columns.
func (m *pdfMeasure) sameLine(line, box rect, upright bool) bool {
	if !upright {
		line, box = rect{line.y0, line.x0, line.y1, line.x1}, rect{box.y0, box.x0, box.y1, box.x1}
	}
	const widest = 4 // heights
	height := min(line.y1-line.y0, box.y1-box.y0)
	common := min(line.y1, box.y1) - max(line.y0, box.y0)
	gap := max(box.x0-line.x1, line.x0-box.x1)
	return common >= height/2 && gap <= widest*height
}
