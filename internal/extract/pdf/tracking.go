package pdf

import "unicode"

// tracking is the spacing of the letters of a word.
type tracking struct {
	letters int  // number of letters of the word so far
	last    rune // the last letter
	before  int  // the character before it
	gap     float32
	made    bool // PDFium derived the space before the word from a gap

	words  int     // number of gaps of the page that were spaces between letters
	widest float32 // and the widest of them, as a share of the type size
}

// next adds the next letter of the line, after a gap.
func (t *tracking) next(letter rune, r *pdfReader, gap float32) {
	if r.spaced || len(r.line.Text) == 0 {
		t.letters, t.made = 0, r.spaced && r.made
	}
	if !isLetterOrDigit(letter) || !isLetterOrDigit(t.last) {
		gap = 0
	}
	t.letters, t.last, t.before, t.gap = t.letters+1, letter, r.lastIndex, gap
}

// isTracking reports whether a gap is a space between the letters of a word. In the text behind a scan, the letters are
// spaced so that each word covers its picture, and the last letter is a separate text object. PDFium takes the space before
// that letter for a space between words. After the first letter of a word, the other words of the page decide.
func (r *pdfReader) isTracking(gap float32) bool {
	t, size := &r.tracking, r.current.size
	const (
		equal = .01 // a share of the type size
		some  = 3   // words
	)
	if t.letters == 1 {
		return t.words >= some && !t.made && gap <= (t.widest+equal)*size
	}
	if t.gap < touching*size || gap > t.gap+equal*size || r.textObject(t.before) != r.textObject(r.lastIndex) {
		return false
	}
	t.words++
	t.widest = max(t.widest, gap/size)
	return true
}

func isLetterOrDigit(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
