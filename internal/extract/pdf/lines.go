package pdf

import (
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"parley/internal/extract/compose"
)

// pdfLine is a line of a page, or the part of it that belongs to one structure element. Lengths
// are in points, up is positive.
type pdfLine struct {
	compose.Mapped              // its text, without space at either end
	left, right      float32    // where its glyphs begin and end
	base             float32    // its baseline
	size             float32    // of its type, as most of its words are set
	first            float32    // width of its first word
	room             float32    // between its end and the usual end of lines with the same start
	bold             bool       // all its words are
	rtl              bool       // it is written against the direction of the page
	space            bool       // the original has a space at its end
	gaps             []pdfGap   // those wider than any space between words
	words            []pdfGap   // all places between its words, the gaps among them
	boxes            []wordBox  // the places of its words, until the page is read
	mirrored         bool       // its page is mirrored; see mirrored
	element          pdfElement // the structure element it belongs to; id 0 for none
	grid             *grid      // the ruled table that contains it; nil for none
	cell             int        // and its cell there
	letters, strange int        // number of words, and of words in a font that does not identify its characters
}

// pdfGap is a place between two words of a line. It is anchored at a character of the page and not at
// a byte of the line's text, because the text still changes.
type pdfGap struct {
	char int     // the first character after it, in PDFium's text page
	from float32 // where the text before it ends
	x    float32 // where the text after it begins
}

// wordBox is the place of a word.
type wordBox struct {
	char        int // its first in the order of reading, of PDFium's text page
	left, right float32
}

// pdfPageState is the outcome of reading a page.
type pdfPageState int

const (
	pageBlank pdfPageState = iota
	pageRead
	pageScanned // nothing but pictures and drawings
	pageGarbled // text in fonts that do not say which characters they show
	pageBroken
)

// pdfReader reads the lines of one page.
type pdfReader struct {
	doc      *pdfDocument
	text     uint64 // PDFium's text page
	turned   quarter
	elements map[int]pdfElement
	styles   map[uint64]pdfStyle // by text object
	lines    []pdfLine
	comments []string
	low      float32 // edges of the page
	high     float32
	mirrored bool    // see mirrored
	begun    printed // glyphs with which words begin
	copied   bool    // one of them is printed again
	glyphs   printed // all glyphs, where a word is printed again; nil otherwise

	line       pdfLine // the line that is being read
	current    pdfStyle
	facing     pdfStyle // the direction of its words
	lastRight  float32  // where its last glyph ends
	narrowest  float32  // of the gaps between its words; 0 if it has none
	last       pdfGlyph // its last glyph, as if its line were upright
	lastIndex  int      // the character of its last glyph
	tracking   tracking // the spacing of its current word
	glyphStart int      // the byte of the line at which the characters of its last glyph begin
	ground     pdfGlyph // its last glyph that is neither raised nor lowered
	raised     bool     // its last glyph is
	lowered    bool     // likewise
	spaced     bool     // its last character was a space
	made       bool     // PDFium derived that space from a gap
	broken     bool     // PDFium ends the line here
	firstDone  bool     // its first word has ended
	sizes      map[float32]int
	words      int
	boldWords  int
}

// pdfStyle holds the properties that the characters of one text object share.
type pdfStyle struct {
	size    float32
	bold    bool
	element pdfElement
	turned  quarter
	slanted bool // it is turned by more or less than quarters
}

// maxPageChars is the maximum number of characters that are read of a page; dense pages have 20,000.
const maxPageChars = 2_000_000

func (r *pdfReader) read(index int) pdfPageState {
	d := r.doc
	page, comments := d.loadPage(index)
	if page == 0 {
		return pageBroken
	}
	defer d.call("FPDF_ClosePage", page)
	r.comments = comments
	r.text, r.turned = d.loadText(page)
	if r.text == 0 {
		return pageBroken
	}
	defer d.call("FPDFText_ClosePage", r.text)

	if d.int("FPDF_GetPageBoundingBox", page, uint64(d.scratch)) == 1 {
		_, top := r.turned.upright(d.float32At(d.scratch), d.float32At(d.scratch+4))
		_, bottom := r.turned.upright(d.float32At(d.scratch+8), d.float32At(d.scratch+12))
		r.high, r.low = max(top, bottom), min(top, bottom)
	}
	count := min(d.int("FPDFText_CountChars", r.text), maxPageChars)
	if count > 0 {
		r.elements = readPDFTags(d, page)
		r.styles = map[uint64]pdfStyle{}
		r.sizes = map[float32]int{}
		r.begun = printed{}
		r.chars(count)
		if r.copied {
			r.lines, r.begun, r.glyphs = nil, printed{}, printed{}
			r.chars(count)
		}
		if r.mirrored = isMostlyRTL(r.lines); r.mirrored {
			r.lines = mirrored(r.lines)
		}
		measureRoom(r.lines)
	}
	state := r.state(page)
	if state == pageRead && len(r.lines) <= maxTableLines {
		drawn := r.readRules(page)
		if r.mirrored {
			drawn.mirror()
		}
		r.lines = intoGrids(r.lines, gridsOf(drawn))
		r.lines = intoGrids(r.lines, bandsOf(drawn.level, r.lines))
	}
	return state
}

func (r *pdfReader) state(page uint64) pdfPageState {
	words, strange := 0, 0
	for _, line := range r.lines {
		words += line.letters
		strange += line.strange
	}
	switch {
	case strange*2 > words && !readsLikeText(r.lines), isGibberish(r.lines), isShifted(r.lines):
		r.lines = nil
		return pageGarbled
	case len(r.lines) > 0:
		return pageRead
	case r.doc.int("FPDFPage_CountObjects", page) > 0:
		return pageScanned
	}
	return pageBlank
}

// chars reads all characters of the page.
func (r *pdfReader) chars(count int) {
	for i := 0; i < count && r.doc.err == nil; i++ {
		r.char(i)
	}
	r.endLine()
}

// char reads the character of PDFium's text page at an index.
func (r *pdfReader) char(index int) {
	d := r.doc
	char := r.unicode(index)
	switch {
	case (char == '\r' || char == '\n') && d.call("FPDFText_IsGenerated", r.text, uint64(index)) == 1:
		r.broken = true
		return
	case char == 2 && d.call("FPDFText_IsHyphen", r.text, uint64(index)) == 1:
		if r.broken {
			r.endLine()
		}
		r.line.Rune('-', index)
		r.endLine()
		return
	case unicode.IsSpace(char): // also if a font maps its space to a line feed
		r.space(index)
		return
	}
	clean := compose.CleanRune(char)
	if len(clean) == 0 || char == utf8.RuneError || !utf8.ValidRune(char) {
		return
	}

	if r.spaced || r.broken || len(r.line.Text) == 0 {
		r.face(r.style(index))
	}
	box := r.box(index, r.turned)
	if r.glyphs != nil && r.glyphs.again(char, r.origin(index), box.height()) {
		return
	}
	glyph := box
	if r.facing.turned != r.turned {
		glyph = r.box(index, r.facing.turned)
	}
	if r.putAccented(index, clean[0], glyph) {
		return
	}
	raised := r.isRaised(glyph)
	lowered := !raised && r.isLowered(glyph)
	switch {
	case len(clean) != 1:
	case raised:
		clean[0] = r.superscript(clean[0])
	case lowered:
		clean[0] = r.subscript(clean[0])
	}
	if r.broken {
		r.mendBreak(glyph, raised || lowered)
	}
	r.mendSpace(index, clean[0], glyph, raised)
	if r.spaced || len(r.line.Text) == 0 {
		r.startWord(index, box.left)
		r.copied = r.begun.again(char, r.origin(index), box.height()) || r.copied
	}
	if !r.firstDone {
		r.line.first = max(box.right-r.line.left, r.line.left-box.left)
	}
	r.line.left, r.line.right = min(r.line.left, box.left), max(r.line.right, box.right)
	if n := len(r.line.boxes); n > 0 {
		word := &r.line.boxes[n-1]
		word.left, word.right = min(word.left, box.left), max(word.right, box.right)
	}
	ligature := r.isLigature(index, glyph, clean[0])
	r.tracking.next(clean[0], r, glyph.left-r.last.right)
	r.lastRight = box.right
	r.last, r.lastIndex, r.raised, r.lowered = glyph, index, raised, lowered
	if !raised && !lowered {
		r.ground = glyph
	}
	r.spaced = false
	if ligature {
		r.putBefore(clean, index)
		return
	}
	r.glyphStart = len(r.line.Text)
	for _, c := range clean {
		r.line.Rune(c, index)
	}
}

func (r *pdfReader) space(index int) {
	if len(r.line.Text) == 0 || r.spaced || r.broken {
		return
	}
	r.line.Rune(' ', index)
	r.spaced = true
	r.firstDone = true
	r.made = r.doc.call("FPDFText_IsGenerated", r.text, uint64(index)) == 1
}

// startWord takes the style of a word from its first character, ends the line where another
// structure element begins, and notes a wide gap before the word.
func (r *pdfReader) startWord(index int, left float32) {
	style := r.style(index)
	r.current = style
	if len(r.line.Text) > 0 && (style.element != r.line.element || r.isNextRow(index, left)) {
		r.endLine()
	}
	if len(r.line.Text) == 0 {
		r.line.left, r.line.right = left, left
		r.line.element = style.element
		r.line.base = r.baseline(index)
		r.firstDone = false
	} else {
		gap := pdfGap{index, r.lastRight, left}
		if width := left - r.lastRight; width > 0 && (r.narrowest == 0 || width < r.narrowest) {
			r.narrowest = width
		}
		r.line.words = append(r.line.words, gap)
		if left-r.lastRight > 1.5*style.size {
			r.line.gaps = append(r.line.gaps, gap)
		}
	}
	r.line.boxes = append(r.line.boxes, wordBox{index, left, left})
	r.sizes[style.size]++
	r.words++
	if style.bold {
		r.boldWords++
	}
	r.line.letters++
	if r.doc.call("FPDFText_HasUnicodeMapError", r.text, uint64(index)) == 1 {
		r.line.strange++
	}
}

// isNextRow reports whether a word begins the next row of a table although PDFium continues the last one.
func (r *pdfReader) isNextRow(index int, left float32) bool {
	size := r.current.size
	return len(r.line.gaps) > 0 && left < r.lastRight-2*size && !r.facing.slanted && abs(r.baseline(index)-r.line.base) > .6*size
}

// baseline returns the height of the origin of a character.
func (r *pdfReader) baseline(index int) float32 {
	d := r.doc
	d.call("FPDFText_GetCharOrigin", r.text, uint64(index), uint64(d.scratch), uint64(d.scratch+8))
	_, y := r.turned.upright(float32(d.float64At(d.scratch)), float32(d.float64At(d.scratch+8)))
	if !isFinite(y) {
		return 0
	}
	return y
}

// style returns the style of a character, which all characters of a text object share.
func (r *pdfReader) style(index int) pdfStyle {
	d := r.doc
	object := d.call("FPDFText_GetTextObject", r.text, uint64(index))
	if style, known := r.styles[object]; known && object != 0 {
		return style
	}
	var s pdfStyle
	size := math.Float64frombits(d.call("FPDFText_GetFontSize", r.text, uint64(index)))
	if d.call("FPDFText_GetMatrix", r.text, uint64(index), uint64(d.scratch)) == 1 {
		c, e := float64(d.float32At(d.scratch+8)), float64(d.float32At(d.scratch+12))
		size *= math.Hypot(c, e)
		s.turned, s.slanted = quarterOf(d.float32At(d.scratch), d.float32At(d.scratch+4))
	}
	s.size = float32(math.Round(math.Abs(size)*2) / 2) // mirrored type has a negative size
	if s.size < 1 {                                    // fonts of type 3 have a scale of their own
		s.size = float32(math.Round(float64(r.box(index, s.turned).height())*2) / 2)
	}
	if !isFinite(s.size) {
		s.size = 0
	}
	s.bold = r.isBold(index)
	if object != 0 && r.elements != nil {
		if id := d.int("FPDFPageObj_GetMarkedContentID", object); id >= 0 {
			s.element = r.elements[id]
		}
	}
	r.styles[object] = s
	return s
}

// isBold judges by the name of the font and its flag ForceBold (ISO 32000-1, table 123), because the weight that PDFium
// computes is useless for embedded fonts.
func (r *pdfReader) isBold(index int) bool {
	d := r.doc
	const nameBytes = 256
	n := min(d.call("FPDFText_GetFontInfo", r.text, uint64(index), uint64(d.scratch), nameBytes, uint64(d.scratch+nameBytes)), nameBytes)
	name, _ := d.module.Memory().Read(d.scratch, uint32(n))
	flags, _ := d.module.Memory().ReadUint32Le(d.scratch + nameBytes)
	lower := strings.ToLower(string(name))
	for _, word := range []string{"bold", "black", "heavy", "demi"} {
		if strings.Contains(lower, word) {
			return true
		}
	}
	return flags&(1<<18) != 0
}

// endLine finishes the line that is being read and starts the next.
func (r *pdfReader) endLine() {
	line := r.line
	line.Mapped = inNFC(withoutLeaders(line.Mapped)).Trim()
	line.bold = r.words > 0 && r.boldWords == r.words
	line.space = r.spaced && !r.made
	best := 0
	for size, n := range r.sizes {
		if n > best || n == best && size > line.size {
			best, line.size = n, size
		}
	}
	line.turn()
	if len(line.Text) > 0 {
		r.lines = append(r.lines, line)
	}
	r.line = pdfLine{}
	r.spaced, r.broken, r.raised, r.lowered, r.firstDone = false, false, false, false, false
	r.words, r.boldWords, r.narrowest = 0, 0, 0
	clear(r.sizes)
}
