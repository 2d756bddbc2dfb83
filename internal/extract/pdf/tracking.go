package pdf

import "unicode"

// tracking is how the letters of a word are spaced.
type tracking struct {
	letters int  // how many the word has so far
	last    rune // the last one
	before  int  // the character before it
	gap     float32
	made    bool // the space before the word is one that PDFium made of a gap

	words  int     // how many gaps of the page were the space between letters
	widest float32 // and the widest of them, as a share of the type size
}

// next takes the next letter of the line, behind a gap.
func (t *tracking) next(letter rune, r *pdfReader, gap float32) {
	if r.spaced || len(r.line.Text) == 0 {
		t.letters, t.made = 0, r.spaced && r.made
	}
	if !isLetterOrDigit(letter) || !isLetterOrDigit(t.last) {
		gap = 0
	}
	t.letters, t.last, t.before, t.gap = t.letters+1, letter, r.lastIndex, gap
}

// isTracking reports whether a gap is the space between the letters of a word. Text behind a scan is set so that each word
// covers its picture: its letters are spaced, and the last one is a text object of its own. PDFium takes the space before
// that letter for one between words. A word whose first letter stands alone goes by the other words of the page.
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
