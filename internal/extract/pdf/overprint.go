package pdf

import "math"

// printed holds glyphs of a page, by character and place. It finds glyphs that are printed a second time in almost the same place, as
// some programs do for bold or outlined text and for shadows. PDFium itself finds only copies that directly follow the original.
type printed map[printedAt][]pdfOrigin

// printedAt is a character in a square of the page.
type printedAt struct {
	char rune
	x, y int32
}

// pdfOrigin is the place at which a glyph begins on its baseline. A copy in another font, such as an outline font, has the same origin but
// another box.
type pdfOrigin struct{ x, y float32 }

const (
	printedSquare = 4  // points
	printedNear   = .1 // heights between a glyph and its copy
	widestPage    = 1_000_000
	maxCopies     = 64 // glyphs of one character that a square remembers
)

// again reports whether a glyph of a height is a copy, and remembers it if it is not.
func (p printed) again(char rune, at pdfOrigin, height float32) bool {
	near := printedNear * height
	if near <= 0 || near > printedSquare || !(abs(at.x) < widestPage && abs(at.y) < widestPage) {
		return false
	}
	square := func(at float32) int32 { return int32(math.Floor(float64(at) / printedSquare)) }
	for x := square(at.x - near); x <= square(at.x+near); x++ {
		for y := square(at.y - near); y <= square(at.y+near); y++ {
			for _, o := range p[printedAt{char, x, y}] {
				if abs(o.x-at.x) < near && abs(o.y-at.y) < near {
					return true
				}
			}
		}
	}
	in := printedAt{char, square(at.x), square(at.y)}
	if len(p[in]) < maxCopies {
		p[in] = append(p[in], at)
	}
	return false
}

// origin returns the place at which a character begins.
func (r *pdfReader) origin(index int) pdfOrigin {
	d := r.doc
	d.call("FPDFText_GetCharOrigin", r.text, uint64(index), uint64(d.scratch), uint64(d.scratch+8))
	return pdfOrigin{float32(d.float64At(d.scratch)), float32(d.float64At(d.scratch + 8))}
}
