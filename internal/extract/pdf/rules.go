package pdf

import (
	"cmp"
	"slices"
)

// rule is a straight line that is drawn on a page, level or upright. Lengths are in points.
type rule struct {
	at       float32 // its height, or its place across the page
	from, to float32 // its ends, ascending
}

// rules are the lines that are drawn on a page, the edges of rectangles among them.
type rules struct{ level, upright []rule }

// The bounds on drawn lines. Maps have a million lines, and tables a few hundred.
const (
	maxPaths    = 20_000 // objects of a page
	maxSegments = 2_000  // of a path
	maxRules    = 300    // of either direction, after parts of one line are joined

	maxTableLines = 5_000 // of text on a page with tables
)

// The distance within which places are the same, the maximum thickness of a line, and its minimum length, in points.
const (
	nearby      = 2.5
	thickest    = 3
	leastLength = 6
)

const pathObject = 2 // FPDF_PAGEOBJ_PATH

// readRules returns the lines that are drawn on a page, or none if there are too many for tables.
func (r *pdfReader) readRules(page uint64) rules {
	d := r.doc
	var found rules
	for i := range min(d.int("FPDFPage_CountObjects", page), maxPaths) {
		object := d.call("FPDFPage_GetObject", page, uint64(i))
		if object == 0 || d.int("FPDFPageObj_GetType", object) != pathObject {
			continue
		}
		filled, stroked := d.isDrawn(object)
		if !filled && !stroked {
			continue
		}
		if d.int("FPDFPageObj_GetBounds", object, uint64(d.scratch), uint64(d.scratch+4), uint64(d.scratch+8), uint64(d.scratch+12)) != 1 {
			continue
		}
		x0, y0 := r.turned.upright(d.float32At(d.scratch), d.float32At(d.scratch+4))
		x1, y1 := r.turned.upright(d.float32At(d.scratch+8), d.float32At(d.scratch+12))
		if !isFinite(x0, y0, x1, y1) {
			continue
		}
		if segments := d.int("FPDFPath_CountSegments", object); segments <= 5 {
			found.rectangle(min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1), stroked)
		} else if stroked && segments <= maxSegments {
			r.readSegments(object, segments, &found)
		}
	}
	found.level, found.upright = joinRules(found.level), joinRules(found.upright)
	if len(found.level) > maxRules || len(found.upright) > maxRules {
		return rules{}
	}
	return found
}

// isDrawn reports whether a path is filled, and whether its outline is drawn.
func (d *pdfDocument) isDrawn(path uint64) (filled, stroked bool) {
	if d.int("FPDFPath_GetDrawMode", path, uint64(d.scratch), uint64(d.scratch+4)) != 1 {
		return false, false
	}
	fill, _ := d.module.Memory().ReadUint32Le(d.scratch)
	stroke, _ := d.module.Memory().ReadUint32Le(d.scratch + 4)
	return fill != 0, stroke != 0
}

// rectangle adds a line that is drawn as a thin rectangle, or the edges of a stroked rectangle. The edges of filled
// areas without a stroke are not lines: the shades behind the rows of a table may end anywhere.
func (s *rules) rectangle(left, bottom, right, top float32, stroked bool) {
	switch {
	case top-bottom <= thickest:
		s.add((top+bottom)/2, left, right, true)
	case right-left <= thickest:
		s.add((left+right)/2, bottom, top, false)
	case stroked:
		s.add(top, left, right, true)
		s.add(bottom, left, right, true)
		s.add(left, bottom, top, false)
		s.add(right, bottom, top, false)
	}
}

func (s *rules) add(at, from, to float32, level bool) {
	switch {
	case to-from < leastLength:
	case level:
		s.level = append(s.level, rule{at, from, to})
	default:
		s.upright = append(s.upright, rule{at, from, to})
	}
}

// readSegments adds the level and upright lines of a path of many segments.
func (r *pdfReader) readSegments(path uint64, segments int, to *rules) {
	d := r.doc
	if d.int("FPDFPageObj_GetMatrix", path, uint64(d.scratch)) != 1 {
		return
	}
	var m [6]float32
	for i := range m {
		m[i] = d.float32At(d.scratch + uint32(4*i))
	}
	const lineTo, moveTo = 0, 2 // FPDF_SEGMENT_*
	var x, y, startX, startY float32
	step := func(nextX, nextY float32) {
		switch {
		case !isFinite(x, y, nextX, nextY):
		case abs(nextY-y) < .5:
			to.add((y+nextY)/2, min(x, nextX), max(x, nextX), true)
		case abs(nextX-x) < .5:
			to.add((x+nextX)/2, min(y, nextY), max(y, nextY), false)
		}
	}
	for i := range segments {
		segment := d.call("FPDFPath_GetPathSegment", path, uint64(i))
		if segment == 0 || d.int("FPDFPathSegment_GetPoint", segment, uint64(d.scratch), uint64(d.scratch+4)) != 1 {
			return
		}
		px, py := d.float32At(d.scratch), d.float32At(d.scratch+4)
		nextX, nextY := r.turned.upright(m[0]*px+m[2]*py+m[4], m[1]*px+m[3]*py+m[5])
		switch d.int("FPDFPathSegment_GetType", segment) {
		case moveTo:
			startX, startY = nextX, nextY
		case lineTo:
			step(nextX, nextY)
		}
		x, y = nextX, nextY
		if d.int("FPDFPathSegment_GetClose", segment) == 1 {
			step(startX, startY)
			x, y = startX, startY
		}
	}
}

// joinRules joins lines that overlap, or that continue where another one ends.
func joinRules(all []rule) []rule {
	slices.SortFunc(all, func(a, b rule) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.from, b.from)) })
	var out []rule
	for from := 0; from < len(all); {
		to := from + 1
		for to < len(all) && all[to].at-all[from].at <= nearby {
			to++
		}
		place := all[from:to]
		slices.SortFunc(place, func(a, b rule) int { return cmp.Compare(a.from, b.from) })
		first := len(out)
		for _, r := range place {
			if n := len(out); n > first && r.from <= out[n-1].to+thickest {
				out[n-1].to = max(out[n-1].to, r.to)
				continue
			}
			out = append(out, r)
		}
		from = to
	}
	return out
}

// covers reports whether one of the lines at a place covers a point of it.
func covers(lines []rule, at, point float32) bool {
	return slices.ContainsFunc(lines, func(r rule) bool {
		return abs(r.at-at) <= nearby && point > r.from-nearby && point < r.to+nearby
	})
}

// coverage returns the total length of the lines at a place.
func coverage(lines []rule, at float32) float32 {
	length := float32(0)
	for _, r := range lines {
		if abs(r.at-at) <= nearby {
			length += r.to - r.from
		}
	}
	return length
}
