package pdf

import (
	"bytes"
	"cmp"
	"slices"
	"unicode"
)

// isMostlyRTL reports whether most of the text of a page is written from right to left.
func isMostlyRTL(lines []pdfLine) bool {
	rtl, all := 0, 0
	for i := range lines {
		if l := &lines[i]; bytes.ContainsFunc(l.Text, unicode.IsLetter) {
			all += len(l.Text)
			if l.rtl {
				rtl += len(l.Text)
			}
		}
	}
	return rtl*2 > all
}

// turn sets the direction in which the line is written. A line without letters has the direction of its page.
func (l *pdfLine) turn() {
	l.rtl = bytes.ContainsFunc(l.Text, unicode.IsLetter) && isRTL(string(l.Text)) != l.mirrored
}

// mirrored returns the mirror image of the lines of a page that is written from right to left: the text that is read first is on
// the left, so that labels, cells and columns are found as on other pages. It only mirrors lengths. Characters are in reading
// order already, except in a row that has only figures, which PDFium takes for text from left to right.
func mirrored(lines []pdfLine) []pdfLine {
	out := make([]pdfLine, 0, len(lines))
	for _, l := range lines {
		l.mirrored = true
		switch {
		case l.rtl:
			out = append(out, l.fromRight())
		case bytes.ContainsFunc(l.Text, unicode.IsLetter):
			for i := range l.words {
				l.words[i].from, l.words[i].x = -l.words[i].from, -l.words[i].x
			}
			for i := range l.gaps {
				l.gaps[i].from, l.gaps[i].x = -l.gaps[i].from, -l.gaps[i].x
			}
			l.left, l.right, l.rtl = -l.right, -l.left, true
			out = append(out, l)
		default:
			out = append(out, l.figuresFromRight()...)
		}
	}
	return out
}

// fromRight mirrors a line that is written from right to left.
func (l pdfLine) fromRight() pdfLine {
	l.left, l.right, l.rtl = -l.right, -l.left, false
	l.words, l.gaps = nil, nil
	for i := 1; i < len(l.boxes); i++ {
		gap := pdfGap{l.boxes[i].char, -l.boxes[i-1].left, -l.boxes[i].right}
		l.words = append(l.words, gap)
		if gap.x-gap.from > 1.5*l.size {
			l.gaps = append(l.gaps, gap)
		}
	}
	if len(l.boxes) > 0 {
		l.first = l.boxes[0].right - l.boxes[0].left
	}
	return l
}

// figuresFromRight mirrors a line without letters, with its figures in reading order. Figures that are apart become separate
// lines, since the characters of a line must ascend for its places to be found.
func (l pdfLine) figuresFromRight() []pdfLine {
	cells := l.pieces()
	slices.SortStableFunc(cells, func(a, b piece) int { return cmp.Compare(b.right, a.right) })
	whole := l
	whole.left, whole.right, whole.words, whole.gaps = -l.right, -l.left, nil, nil
	if len(l.gaps) == 0 {
		whole.Mapped = cells[0].Mapped
		for _, c := range cells[1:] {
			whole.Mapped = join(whole.Mapped, " ", c.Mapped)
		}
		return []pdfLine{whole}
	}
	var out []pdfLine
	for _, c := range cells {
		cell := whole
		cell.Mapped, cell.left, cell.right, cell.first = c.Mapped, -c.right, -c.left, c.right-c.left
		out = append(out, cell)
	}
	return out
}

// mirror mirrors drawn lines with their page.
func (s *rules) mirror() {
	for i, r := range s.level {
		s.level[i].from, s.level[i].to = -r.to, -r.from
	}
	for i := range s.upright {
		s.upright[i].at = -s.upright[i].at
	}
	slices.SortStableFunc(s.upright, func(a, b rule) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.from, b.from)) })
	slices.SortStableFunc(s.level, func(a, b rule) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.from, b.from)) })
}
