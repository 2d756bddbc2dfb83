package pdf

import "math"

// A page can be shown turned, and its text can be set turned; a landscape table is usually both. PDFium orders text by how
// the page is shown, so if text is shown sideways, its lines are in reverse order.

// quarter is a number of counterclockwise quarter turns of text, from 0.
type quarter int

// loadText loads the text of a page in reading order, however the page is shown, and returns the turn of most of the text.
// The caller closes the text; 0 means that there is none.
func (d *pdfDocument) loadText(page uint64) (text uint64, turned quarter) {
	if text = d.call("FPDFText_LoadPage", page); text == 0 {
		return 0, 0
	}
	turned = d.turnedText(text)
	shown := d.call("FPDFPage_GetRotation", page) // in clockwise quarters
	if uint64(turned) == shown {
		return text, turned
	}
	d.call("FPDFText_ClosePage", text)
	d.call("FPDFPage_SetRotation", page, uint64(turned))
	text = d.call("FPDFText_LoadPage", page)
	d.call("FPDFPage_SetRotation", page, shown)
	return text, turned
}

// turnedText returns the turn of more than half of a sample of characters, or 0 if there is no majority.
func (d *pdfDocument) turnedText(text uint64) quarter {
	const sampled = 100
	count := min(d.int("FPDFText_CountChars", text), maxPageChars)
	var votes [4]int
	total := 0
	for i := 0; i < count; i += 1 + count/sampled {
		if d.int("FPDFText_GetMatrix", text, uint64(i), uint64(d.scratch)) != 1 {
			continue
		}
		a, b := d.float32At(d.scratch), d.float32At(d.scratch+4)
		if isFinite(a, b) {
			turn, _ := quarterOf(a, b)
			votes[turn]++
			total++
		}
	}
	for turn, n := range votes {
		if n*2 > total {
			return quarter(turn)
		}
	}
	return 0
}

// quarterOf returns the number of quarters that is closest to the direction (a, b), and whether the direction is clearly
// between two of them.
func quarterOf(a, b float32) (turned quarter, slanted bool) {
	turns := math.Atan2(float64(b), float64(a)) / (math.Pi / 2)
	if !isFinite(a, b) {
		return 0, true
	}
	return quarter(int(math.Round(turns)+4) % 4), math.Abs(turns-math.Round(turns)) > .1
}

// upright returns a point of the page as if its text were not turned.
func (q quarter) upright(x, y float32) (float32, float32) {
	switch q {
	case 1:
		return y, -x
	case 2:
		return -x, -y
	case 3:
		return -y, x
	}
	return x, y
}
