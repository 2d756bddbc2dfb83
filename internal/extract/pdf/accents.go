package pdf

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// accentOf returns the combining form of a spacing accent, or 0 for other characters. TeX prints an accented letter as a spacing
// accent and a letter at the same place.
func accentOf(r rune) rune {
	switch r {
	case '`':
		return 0x300
	case '´':
		return 0x301
	case '^', 'ˆ':
		return 0x302
	case '~', '˜':
		return 0x303
	case '¯':
		return 0x304
	case '˘':
		return 0x306
	case '˙':
		return 0x307
	case '¨':
		return 0x308
	case '˚':
		return 0x30a
	case '˝':
		return 0x30b
	case 'ˇ':
		return 0x30c
	case '¸':
		return 0x327
	case '˛':
		return 0x328
	}
	return 0
}

// accented returns a letter with an accent, or 0 if there is no such character.
func accented(letter, accent rune) rune {
	switch letter {
	case 'ı':
		letter = 'i'
	case 'ȷ':
		letter = 'j'
	}
	whole, size := utf8.DecodeRune(norm.NFC.AppendString(nil, string([]rune{letter, accent})))
	if !unicode.IsLetter(letter) || size == 0 || whole == letter {
		return 0
	}
	return whole
}

// putAccented replaces a letter and an accent at the same place by the accented letter. It reports whether it did.
func (r *pdfReader) putAccented(index int, char rune, g pdfGlyph) bool {
	n := len(r.line.Text)
	if r.spaced && r.made && n > 0 {
		n--
	}
	before, size := utf8.DecodeLastRune(r.line.Text[:n])
	first, second := accentOf(before), accentOf(char)
	if n == 0 || first == 0 && second == 0 || r.spaced && !r.made || !r.last.isOver(g) {
		return false
	}
	at, whole := index, accented(char, first)
	if first == 0 {
		at, whole = r.lastIndex, accented(before, second)
	}
	if whole == 0 {
		return false
	}
	r.line.Mapped = r.line.Slice(0, n-size)
	r.line.Rune(whole, at)
	r.spaced, r.broken = false, false
	if first != 0 {
		r.last, r.lastIndex, r.ground, r.lastRight = g, index, g, max(r.lastRight, g.right)
		r.line.right = max(r.line.right, g.right)
	}
	return true
}

// isOver reports whether two glyphs are at the same place.
func (g pdfGlyph) isOver(o pdfGlyph) bool {
	middle := func(g pdfGlyph) float32 { return (g.left + g.right) / 2 }
	return abs(middle(g)-middle(o)) < .4*min(g.right-g.left, o.right-o.left) && abs(g.bottom-o.bottom) < .5*o.height()
}
