package pdf

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"parley/internal/extract/codepage"
	"parley/internal/extract/compose"
	"parley/internal/lazyregexp"
)

// pdfGlyph is the box of a character, as its font defines it. Lengths are in points, up is positive.
type pdfGlyph struct{ left, right, bottom, top float32 }

func (g pdfGlyph) height() float32 { return g.top - g.bottom }

// box returns the box of a character, as if text that is turned like this were upright. If the page gives none, it is the
// box of the last character.
func (r *pdfReader) box(index int, turned quarter) pdfGlyph {
	d := r.doc
	d.call("FPDFText_GetLooseCharBox", r.text, uint64(index), uint64(d.scratch))
	x0, y0 := turned.upright(d.float32At(d.scratch), d.float32At(d.scratch+12))
	x1, y1 := turned.upright(d.float32At(d.scratch+8), d.float32At(d.scratch+4))
	if !isFinite(x0, x1, y0, y1) {
		return pdfGlyph{r.last.right, r.last.right, r.last.bottom, r.last.top}
	}
	return pdfGlyph{min(x0, x1), max(x0, x1), min(y0, y1), max(y0, y1)}
}

// face adjusts the reader to the direction of a new word. If the direction changes, it ends the line.
func (r *pdfReader) face(style pdfStyle) {
	if len(r.line.Text) > 0 && (style.turned != r.facing.turned || style.slanted != r.facing.slanted) {
		r.endLine()
	}
	r.facing = style
}

// isRaised reports whether a glyph is small and high directly after the line so far, like the number of a footnote or an
// exponent.
func (r *pdfReader) isRaised(g pdfGlyph) bool {
	if len(r.line.Text) == 0 || r.facing.slanted {
		return false
	}
	h := r.ground.height()
	gap := g.left - r.last.right
	return g.isRaisedFrom(r.ground) && gap > -.2*h && gap < .4*h
}

// isRaisedFrom reports whether a glyph is small and high beside another.
func (g pdfGlyph) isRaisedFrom(ground pdfGlyph) bool {
	h := ground.height()
	small := g.height() < .85*h && g.height() > .3*h
	return small && g.bottom > ground.bottom+.15*h && g.top > ground.top-.15*h && g.bottom < ground.top
}

// isLowered reports whether a glyph is small and low beside the last normal glyph, such as the number of atoms in a formula.
func (r *pdfReader) isLowered(g pdfGlyph) bool {
	if len(r.line.Text) == 0 || r.facing.slanted {
		return false
	}
	h := r.ground.height()
	gap := g.left - r.last.right
	small := g.height() < .9*h && g.height() > .3*h
	low := g.bottom < r.ground.bottom-.02*h && g.top < r.ground.top-.15*h && g.top > r.ground.bottom+.2*h
	return small && low && gap > -.2*h && gap < .4*h
}

// subscript returns the subscript form of a lowered digit that follows a letter, a bracket or another lowered digit.
func (r *pdfReader) subscript(char rune) rune {
	before, _ := utf8.DecodeLastRune(r.line.Text)
	small := strings.ContainsRune(subscripts, before)
	if char < '0' || char > '9' || r.spaced || r.lowered != small || !small && !unicode.IsLetter(before) && before != ')' && before != ']' {
		return char
	}
	return []rune(subscripts)[char-'0']
}

// superscript returns the superscript form of a raised digit that follows a letter, a bracket or the end of a sentence. For a
// raised digit after a digit, see mendSpace.
func (r *pdfReader) superscript(char rune) rune {
	before, _ := utf8.DecodeLastRune(r.line.Text)
	small := strings.ContainsRune(superscripts, before)
	if char < '0' || char > '9' || r.spaced || r.raised != small || !small && !unicode.IsLetter(before) && !strings.ContainsRune(".,;:!?)]»”’\""+subscripts, before) {
		return char
	}
	return []rune(superscripts)[char-'0']
}

// superscripts are the raised digits from 0 to 9.
const superscripts = "⁰¹²³⁴⁵⁶⁷⁸⁹"

// subscripts are the lowered digits from 0 to 9.
const subscripts = "₀₁₂₃₄₅₆₇₈₉"

// isFootnote reports whether the line so far is the raised mark of the footnote that a glyph begins.
func (r *pdfReader) isFootnote(g pdfGlyph) bool {
	return len(r.line.Text) <= longestMark && footnoteMark.Match(r.line.Text) && r.last.isRaisedFrom(g)
}

const longestMark = 5 // bytes

var footnoteMark = lazyregexp.New(`^(?:\(?(?:[0-9]{1,3}|[a-z])[).]?|\*{1,3}|[†‡§])$`)

// isLetterMark reports whether a raised letter is the mark of a footnote: it is alone after a word, or after a number with a
// separator. Other raised letters belong to the number before them: 1o, 20e.
func (r *pdfReader) isLetterMark(index int, char rune) bool {
	if char < 'a' || char > 'z' || unicode.IsLetter(r.unicode(index+1)) {
		return false
	}
	return markedWord.Match(r.line.Text[max(0, len(r.line.Text)-longestWord):])
}

const longestWord = 40 // bytes that are enough to tell a word from a number

var markedWord = lazyregexp.New(`(?:\p{L}{4}|[0-9][.,][0-9]+|[)%])$`)

// isTornOff reports whether a letter that cannot be a word is alone after a gap that is narrower than the gaps between the words of
// its line. Some programs write headings like that.
func (r *pdfReader) isTornOff(index int, char, before rune, gap float32) bool {
	const narrower = .93
	return strings.ContainsRune("bcdfghjklmnpqrstvwxz", char) && unicode.IsLower(before) && gap < narrower*r.narrowest && !unicode.IsLetter(r.unicode(index+1))
}

// unicode returns the character of PDFium's text page at an index.
func (r *pdfReader) unicode(index int) rune {
	return rune(uint32(r.doc.call("FPDFText_GetUnicode", r.text, uint64(index))))
}

// mendBreak ends the line where PDFium ends it, except between glyphs that are side by side, and before and after raised or
// lowered glyphs, which PDFium takes for another line.
func (r *pdfReader) mendBreak(g pdfGlyph, shifted bool) {
	r.broken = false
	h := r.ground.height()
	gap := g.left - r.last.right
	level := abs(g.bottom-r.ground.bottom) < .1*h && abs(g.top-r.ground.top) < .1*h && gap > -.2*h
	switch {
	case shifted:
	case r.isFootnote(g) && gap > -.2*h && gap < g.height():
		r.putSpace()
		r.line.left = g.left // like the left of the next lines
	case !level || r.facing.slanted || !r.raised && !r.lowered && r.facing.turned != 3 && gap > touching*r.current.size:
		r.endLine()
	case !r.spaced && gap > touching*r.current.size:
		r.putSpace()
	}
}

// isLigature reports whether an Arabic letter belongs to the same glyph as the letter before it, and should precede that.
// PDFium reverses the letters of a glyph with the line, as if each were a glyph. It gives each letter an equal part of the
// glyph, so that the second one is to the right, or all of the glyph; then only alef and lam are sure to be in the wrong order.
func (r *pdfReader) isLigature(index int, g pdfGlyph, char rune) bool {
	if len(r.line.Text) == 0 || r.spaced {
		return false
	}
	near, width := .01*r.current.size, g.right-g.left
	before, _ := utf8.DecodeLastRune(r.line.Text)
	parts := abs(g.left-r.last.right) < near && abs(width-(r.last.right-r.last.left)) < near
	whole := abs(g.left-r.last.left) < near && abs(g.right-r.last.right) < near && char == 'ل' && strings.ContainsRune("اأإآ", before)
	isLetter := func(r rune) bool { return unicode.Is(unicode.Arabic, r) && unicode.IsLetter(r) }
	return (parts || whole) && isLetter(char) && isLetter(before) && r.textObject(index) == r.textObject(r.lastIndex)
}

// putBefore puts characters before those of the same glyph.
func (r *pdfReader) putBefore(chars []rune, index int) {
	start := min(r.glyphStart, len(r.line.Text))
	var line compose.Mapped
	line.Append(r.line.Slice(0, start))
	for _, c := range chars {
		line.Rune(c, index)
	}
	line.Append(r.line.Slice(start, len(r.line.Text)))
	r.line.Mapped = line
}

// touching is the widest gap, as a share of the type size, that is not a space in any font.
const touching = .08

// mendSpace corrects the spaces that PDFium derives from gaps before a character. PDFium misses some spaces where another
// text object begins or the type changes, and inserts spaces into widely set scripts and into numbers that are set glyph by
// glyph.
func (r *pdfReader) mendSpace(index int, char rune, g pdfGlyph, raised bool) {
	n := len(r.line.Text)
	if n == 0 || r.facing.slanted {
		return
	}
	size, gap := r.current.size, g.left-r.last.right
	if r.spaced {
		before, _ := utf8.DecodeLastRune(r.line.Text[:n-1])
		if r.isPressed(index, gap, before, char) || r.made && (abs(gap) < touching*size || r.isTracking(gap) || gap < size && (codepage.Unspaced(before) && codepage.Unspaced(char) || r.isPair(index)) || r.isTornOff(index, char, before, gap)) {
			r.line.Mapped = r.line.Slice(0, n-1)
			r.spaced = false
		}
		return
	}
	before, _ := utf8.DecodeLastRune(r.line.Text)
	switch {
	case r.isFootnote(g) && unicode.IsLetter(char):
		r.putSpace()
	case raised && !r.raised && r.isLetterMark(index, char):
		r.line.Put("^")
	case (unicode.IsDigit(before) || unicode.IsDigit(char)) && r.isElsewhere(g):
		r.endLine()
	case unicode.IsDigit(before) && unicode.IsDigit(char):
		switch {
		case raised && !r.raised:
			r.line.Put("^")
		case raised != r.raised, (gap > .2*size || gap < -size) && r.textObject(r.lastIndex) != r.textObject(index):
			r.putSpace()
		}
	case gap < .1*size || gap > 2*size || !unicode.IsLetter(before) || !unicode.IsLetter(char) || codepage.Unspaced(before) || codepage.Unspaced(char):
	case r.textObject(r.lastIndex) != r.textObject(index) && !r.isTracking(gap), r.isSeam(index):
		r.putSpace()
	}
}

// isElsewhere reports whether a glyph is completely above or below the last one.
func (r *pdfReader) isElsewhere(g pdfGlyph) bool {
	tall := min(g.height(), r.last.height()) > .3*r.current.size
	return tall && (g.bottom > r.last.top || g.top < r.last.bottom)
}

// isPair reports whether the last character and this one are the whole content of a text object, and a word. PDFium
// recognises letter spacing only from three characters on.
func (r *pdfReader) isPair(index int) bool {
	object := r.textObject(index)
	return object != 0 && object == r.textObject(r.lastIndex) &&
		object != r.textObject(r.lastIndex-1) && object != r.textObject(index+1) && !r.isSeam(index)
}

// maxSeam is the maximum number of characters of a text object that Ghostscript makes of the end of one word and the beginning of another.
const maxSeam = 6

// isSeam reports whether a character is in a text object of few characters that touches a letter before or after it. Ghostscript makes
// such objects if the space between words is not normal: they hold the end of a word, which may be a single letter, and the beginning
// of the next word, with the spaces as letter spacing. Widely set letters of one word have such spaces around them, too.
func (r *pdfReader) isSeam(index int) bool {
	object := r.textObject(index)
	if object == 0 || object != r.textObject(r.lastIndex) {
		return false
	}
	first, last := index, index
	for r.textObject(first-1) == object && index-first < maxSeam {
		first--
	}
	for r.textObject(last+1) == object && last-index < maxSeam {
		last++
	}
	return last-first < maxSeam && (r.touches(first-1, first) || r.touches(last, last+1))
}

// touches reports whether two characters are letters without a space between them.
func (r *pdfReader) touches(a, b int) bool {
	return unicode.IsLetter(r.unicode(a)) && unicode.IsLetter(r.unicode(b)) &&
		abs(r.box(b, r.facing.turned).left-r.box(a, r.facing.turned).right) < touching*r.current.size
}

// isPressed reports whether the space before a character has no width: Ghostscript removes its width if the spaces of a line
// differ from those of its text object.
func (r *pdfReader) isPressed(index int, gap float32, before, char rune) bool {
	return !r.made && abs(gap) < .05*r.current.size && unicode.IsLetter(before) && unicode.IsLetter(char) && r.textObject(r.lastIndex) == r.textObject(index)
}

func (r *pdfReader) putSpace() {
	r.line.Put(" ")
	r.spaced, r.made, r.firstDone = true, true, true
}

// textObject returns the object of the page that shows a character.
func (r *pdfReader) textObject(index int) uint64 {
	return r.doc.call("FPDFText_GetTextObject", r.text, uint64(index))
}

func abs(f float32) float32 { return max(f, -f) }
