package pdf

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"parley/internal/extract/compose"
	"parley/internal/lazyregexp"
)

// strip is a row of text on one baseline of a part of a page, from left to right.
type strip struct {
	lines       []pdfLine
	pieces      []piece
	left, right float32
	base, size  float32
	bold        bool // all of it is
	sure        bool // one of its gaps is wider than any space between words
}

// piece is the text between two gaps of a strip: a cell of a table, or a whole line of prose.
type piece struct {
	compose.Mapped
	left, right float32
	figure      bool // it is a number, or a sign instead of one
}

// maxPieces is the maximum number of pieces of a row. Hostile lines have a hundred thousand words.
const maxPieces = 200

// stripsOf joins lines that PDFium separated although they are on one baseline.
func stripsOf(lines []pdfLine) []strip {
	var strips []strip
	for _, line := range lines {
		if n := len(strips); n > 0 && strips[n-1].goesOn(&line) {
			s := &strips[n-1]
			s.lines = append(s.lines, line)
			s.right, s.size, s.bold = line.right, max(s.size, line.size), s.bold && line.bold
			continue
		}
		strips = append(strips, strip{
			lines: []pdfLine{line}, left: line.left, right: line.right, base: line.base, size: line.size, bold: line.bold,
		})
	}
	for i := range strips {
		strips[i].cut()
	}
	return joinCentred(strips)
}

// joinCentred makes one strip of a label of several lines and the figures that are set beside its middle.
func joinCentred(strips []strip) []strip {
	const maxLines = 4
	var out []strip
	for i := range strips {
		s := &strips[i]
		out = append(out, *s)
		if !s.pieces[0].figure {
			continue
		}
		sum := float32(0)
		for k := 1; k <= maxLines && k < len(out); k++ {
			label := &out[len(out)-1-k]
			if len(label.pieces) > 1 || label.pieces[0].figure || label.right > s.left-.5*s.size {
				break
			}
			if below := &out[len(out)-k]; k > 1 && (label.base <= below.base || label.base-below.base > 1.6*s.size) {
				break
			}
			sum += label.base
			if k > 1 && abs(sum/float32(k)-s.base) < .3*s.size {
				out = append(out[:len(out)-1-k], besideLabel(out[len(out)-1-k:]))
				break
			}
		}
	}
	return out
}

// besideLabel joins the lines of a label, and the figures after them.
func besideLabel(strips []strip) strip {
	joined := strips[len(strips)-1]
	joined.lines, joined.sure = linesOf(strips), true
	label := strips[0].pieces[0]
	for _, s := range strips[1 : len(strips)-1] {
		label.Mapped = join(label.Mapped, " ", s.pieces[0].Mapped)
		label.right = max(label.right, s.right)
	}
	joined.left = label.left
	joined.pieces = append([]piece{label}, joined.pieces...)
	return joined
}

func linesOf(strips []strip) []pdfLine {
	var lines []pdfLine
	for i := range strips {
		lines = append(lines, strips[i].lines...)
	}
	return lines
}

// goesOn reports whether a line continues the strip: it is to the right of it, on its baseline.
func (s *strip) goesOn(line *pdfLine) bool {
	last := &s.lines[len(s.lines)-1]
	return !line.rtl && !last.rtl && len(s.lines) < maxPieces &&
		abs(line.base-s.base) < .3*min(line.size, s.size) && line.left > s.right+.3*min(line.size, s.size)
}

// cut cuts the strip into pieces.
func (s *strip) cut() {
	for i := range s.lines {
		line := &s.lines[i]
		if i > 0 && line.left-s.lines[i-1].right > 1.5*s.size {
			s.sure = true
		}
		s.pieces = append(s.pieces, line.pieces()...)
		s.sure = s.sure || len(line.gaps) > 0 || bytes.Contains(line.Text, []byte("  "))
	}
	s.pieces = joinSigns(s.pieces)
	if len(s.pieces) == 1 {
		s.sure = false
	}
}

// pieces cuts a line at its gaps. Beside a figure a smaller gap will do, and before a currency any.
func (l *pdfLine) pieces() []piece {
	whole := piece{Mapped: l.Mapped, left: l.left, right: l.right}
	if l.rtl || len(l.words) > maxPieces {
		return []piece{whole}
	}
	var pieces []piece
	from, left := 0, l.left
	for _, gap := range l.words {
		at := l.Offset(gap.char)
		if at <= from || at >= len(l.Text) {
			continue
		}
		if !cuts(l.Text[:at], l.Text[at:], (gap.x-gap.from)/max(l.size, 1)) {
			continue
		}
		if cell := l.Slice(from, at).Trim(); len(cell.Text) > 0 {
			pieces = append(pieces, piece{Mapped: cell, left: left, right: gap.from})
		}
		from, left = at, gap.x
	}
	pieces = append(pieces, piece{Mapped: l.Slice(from, len(l.Text)).Trim(), left: left, right: l.right})
	for i := range pieces {
		pieces[i].figure = isFigure(pieces[i].Text)
	}
	return pieces
}

// cuts reports whether a gap of a width, in sizes of the type, separates cells.
func cuts(before, after []byte, width float32) bool {
	if width > 1.5 || bytes.HasSuffix(before, []byte("  ")) { // a leader was there
		return true
	}
	last, _ := utf8.DecodeLastRune(bytes.TrimRight(before, " "))
	first, _ := utf8.DecodeRune(after)
	ends := unicode.IsDigit(last) || strings.ContainsRune(")%—–", last)
	begins := unicode.IsDigit(first) || strings.ContainsRune("(—–", first) || unicode.Is(unicode.Sc, first)
	return ends && unicode.Is(unicode.Sc, first) || width > .5 && (ends || begins)
}

// endOfDate is the second line of a date: "December / 31, 2022".
var endOfDate = lazyregexp.New(`^\d{1,2}, (?:19|20)\d\d$`)

// isFigure reports whether a text is a number, or a sign instead of one.
func isFigure(text []byte) bool {
	switch strings.ToLower(string(text)) {
	case "-", "–", "—", "−", "*", "n/a", "n.a.", "na", "nm", "n/m", "n.m.", "nil":
		return true
	case "£’000", "£'000", "€’000", "€'000", "$’000", "$'000", "’000", "'000": // the unit of a column
		return false
	}
	return bytes.ContainsFunc(text, unicode.IsDigit) && !endOfDate.Match(text) && !bytes.ContainsFunc(text, unicode.IsLetter)
}

// joinSigns joins a separate currency or opening bracket with the figure after it, a closing bracket or a percent sign
// with the figure before it, and the mark of a list item with its text.
func joinSigns(pieces []piece) []piece {
	var out []piece
	for i := 0; i < len(pieces); i++ {
		p := pieces[i]
		text := string(p.Text)
		switch {
		case i+1 < len(pieces) && pieces[i+1].figure && isOpening(text),
			i == 0 && i+1 < len(pieces) && !pieces[i+1].figure && compose.ListMarker(text+" x") > len(text):
			next := pieces[i+1]
			next.Mapped = join(p.Mapped, " ", next.Mapped)
			next.left = p.left
			next.figure = next.figure && isOpening(text)
			pieces[i+1] = next
		case len(out) > 0 && out[len(out)-1].figure && strings.Trim(text, ")%]") == "":
			out[len(out)-1].Mapped = join(out[len(out)-1].Mapped, "", p.Mapped)
		default:
			out = append(out, p)
		}
	}
	return out
}

// isOpening reports whether a text before a figure belongs to it.
func isOpening(text string) bool {
	return text != "" && strings.TrimFunc(text, func(r rune) bool { return unicode.Is(unicode.Sc, r) || r == '(' || r == ' ' }) == ""
}

func join(a compose.Mapped, between string, b compose.Mapped) compose.Mapped {
	var out compose.Mapped
	out.Append(a)
	out.Put(between)
	out.Append(b)
	return out
}

// isYears reports whether a strip has figures and all of them are years: the names of columns.
func (s *strip) isYears() bool {
	years := 0
	for _, p := range s.pieces {
		if !p.figure {
			continue
		}
		if !isYear(p.Text) {
			return false
		}
		years++
	}
	return years > 0
}

// values counts the figures of a strip, without one at its beginning that numbers the row.
func (s *strip) values() int {
	n := 0
	for i, p := range s.pieces {
		if p.figure && (i > 0 || len(s.pieces) == 1 || s.pieces[1].figure) {
			n++
		}
	}
	return n
}
