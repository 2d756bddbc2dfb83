package ocr

import (
	"image"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"parley/internal/extract"
	"parley/internal/extract/compose"
	"parley/internal/lazyregexp"
)

// line is a line of words on a picture.
type line struct {
	words  []Word
	height int // of its tallest word
	first  int // character of the page with which it begins
}

// The limits that tell text from other marks. Pictures and drawings give lines of letters that nobody wrote; these are
// read with little confidence.
const (
	leastConfidence = 50  // of a line, on average by characters
	headingHeight   = 125 // per cent of the height of most lines
	titleHeight     = 160
	maxHeading      = 120 // characters
	cellGap         = 3   // heights of a line between the cells of a row
	widerStep       = 140 // least distance between paragraphs, in per cent of the usual distance of lines
)

// Compose makes a page from the words on a picture of the given size. Paragraphs are those of Tesseract; headings are
// recognised by their height, rows by their gaps, and items of lists by their first characters. The Chars of the page
// count the characters of its words, and its Boxes are their positions.
func Compose(words []Word, size image.Point, number int) (extract.Page, error) {
	paragraphs, boxes := arrange(joinRows(words), size)
	body := bodyHeight(paragraphs)
	out := compose.Builder{Budget: compose.NewBudget(extract.Limits{}.WithDefaults())}
	for _, p := range divide(paragraphs, body) {
		for _, b := range blocks(p, body) {
			if err := out.AddMapped(b.kind, b.level, b.text); err != nil {
				return extract.Page{}, err
			}
		}
	}
	page := out.Page(number, true)
	page.Boxes = boxes
	return page, nil
}

// arrange puts the words that count into lines of paragraphs, and numbers their characters.
func arrange(words []Word, size image.Point) (paragraphs [][]line, boxes []extract.CharBox) {
	next := 0
	for i := 0; i < len(words); {
		j := i
		for j < len(words) && sameLine(words[i], words[j]) {
			j++
		}
		if l, ok := newLine(words[i:j]); ok {
			l.first = next
			for _, w := range l.words {
				boxes = append(boxes, extract.CharBox{Char: next, Box: fraction(w.Box, size)})
				next += utf8.RuneCountInString(w.Text)
			}
			n := len(paragraphs)
			if n > 0 && sameParagraph(paragraphs[n-1][0].words[0], words[i]) {
				paragraphs[n-1] = append(paragraphs[n-1], l)
			} else {
				paragraphs = append(paragraphs, []line{l})
			}
		}
		i = j
	}
	return paragraphs, boxes
}

func sameParagraph(a, b Word) bool { return a.Block == b.Block && a.Paragraph == b.Paragraph }

func sameLine(a, b Word) bool { return sameParagraph(a, b) && a.Line == b.Line }

// newLine returns the line of words, unless they read like a picture.
func newLine(words []Word) (l line, ok bool) {
	sum, chars, letters := 0.0, 0, false
	for _, w := range words {
		w.Text = compose.Clean(w.Text)
		n := utf8.RuneCountInString(w.Text)
		if n == 0 || strings.ContainsFunc(w.Text, unicode.IsSpace) {
			continue
		}
		letters = letters || strings.ContainsFunc(w.Text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })
		sum, chars = sum+w.Confidence*float64(n), chars+n
		l.height = max(l.height, w.Box.Dy())
		l.words = append(l.words, w)
	}
	l.mendBullet()
	return l, letters && sum >= leastConfidence*float64(chars)
}

// lookalikes are the characters that Tesseract reads instead of bullets.
const lookalikes = "e©®¢°«»o*+"

// mendBullet replaces a letter at the start of a line that was a bullet: it is further from the next word than letters are.
func (l *line) mendBullet() {
	if len(l.words) < 2 || len([]rune(l.words[0].Text)) != 1 || !strings.Contains(lookalikes, l.words[0].Text) {
		return
	}
	if gap := l.words[1].Box.Min.X - l.words[0].Box.Max.X; gap*10 >= l.height*8 {
		l.words[0].Text = "•"
	}
}

// fraction is a rectangle as fractions of the picture's size.
func fraction(r image.Rectangle, size image.Point) extract.Box {
	r = r.Intersect(image.Rectangle{Max: size})
	w, h := float64(max(size.X, 1)), float64(max(size.Y, 1))
	return extract.Box{X: float64(r.Min.X) / w, Y: float64(r.Min.Y) / h, Width: float64(r.Dx()) / w, Height: float64(r.Dy()) / h}
}

// bodyHeight returns the median height of lines, weighted by characters.
func bodyHeight(paragraphs [][]line) int {
	type weighed struct{ height, chars int }
	var all []weighed
	total := 0
	for _, p := range paragraphs {
		for _, l := range p {
			w := weighed{l.height, l.chars()}
			all, total = append(all, w), total+w.chars
		}
	}
	slices.SortFunc(all, func(a, b weighed) int { return a.height - b.height })
	seen := 0
	for _, w := range all {
		if seen += w.chars; seen*2 >= total {
			return w.height
		}
	}
	return 0
}

// divide divides paragraphs where their lines change from the height of headings to that of the body or back, and
// where the next line is further below than usual on the page.
func divide(paragraphs [][]line, body int) (out [][]line) {
	step := lineStep(paragraphs)
	tall := func(l line) bool { return l.height*100 >= body*headingHeight }
	for _, p := range paragraphs {
		from := 0
		for i := 1; i < len(p); i++ {
			if tall(p[i]) != tall(p[i-1]) || step > 0 && !tall(p[i]) && (p[i].bottom()-p[i-1].bottom())*100 > step*widerStep {
				out, from = append(out, p[from:i]), i
			}
		}
		out = append(out, p[from:])
	}
	return out
}

// lineStep returns the usual distance of a line from the one above it, or 0 if that is unknown.
func lineStep(paragraphs [][]line) int {
	var steps []int
	for _, p := range paragraphs {
		for i := 1; i < len(p); i++ {
			if s := p[i].bottom() - p[i-1].bottom(); s > 0 {
				steps = append(steps, s)
			}
		}
	}
	if len(steps) < 3 {
		return 0
	}
	slices.Sort(steps)
	return steps[len(steps)/2]
}

// bottom returns the approximate baseline: the usual bottom of the line's words, most of which have no descender.
func (l line) bottom() int {
	ends := make([]int, len(l.words))
	for i, w := range l.words {
		ends[i] = w.Box.Max.Y
	}
	slices.Sort(ends)
	return ends[len(ends)/2]
}

// left returns the place at which the text of a line begins; for an item, that is after its mark.
func (l line) left() int {
	if l.isItem() {
		return l.words[1].Box.Min.X
	}
	return l.words[0].Box.Min.X
}

func (l line) chars() (n int) {
	for _, w := range l.words {
		n += utf8.RuneCountInString(w.Text)
	}
	return n
}

type block struct {
	kind  extract.Kind
	level int
	text  compose.Mapped
}

var item = lazyregexp.New(`^([•‣▪◦*–-]|\(?(\d{1,2}|[a-z])[.)])$`)

// blocks makes blocks of a paragraph.
func blocks(p []line, body int) []block {
	if level := headingLevel(p, body); level > 0 {
		return []block{{extract.Heading, level, joined(p)}}
	}
	var out []block
	for i := 0; i < len(p); {
		kind, j := extract.Paragraph, i+1
		switch {
		case p[i].cells() > 1:
			kind = extract.TableRow
		default:
			if p[i].isItem() {
				kind = extract.ListItem
			}
			for j < len(p) && p[j].cells() == 1 && !p[j].isItem() && (kind != extract.ListItem || p[j].left() >= p[i].left()-p[i].height/2) {
				j++
			}
		}
		out = append(out, block{kind: kind, text: joined(p[i:j])})
		i = j
	}
	return out
}

func (l line) isItem() bool { return len(l.words) > 1 && item.MatchString(l.words[0].Text) }

// headingLevel returns the level of a paragraph that is a heading, and 0 for others.
func headingLevel(p []line, body int) int {
	height, chars, letters := 0, 0, false
	for i, l := range p {
		if height = max(height, l.height); i == 0 || l.height < height {
			height = l.height
		}
		chars += l.chars()
		letters = letters || slices.ContainsFunc(l.words, func(w Word) bool { return strings.ContainsFunc(w.Text, unicode.IsLetter) })
	}
	switch {
	case len(p) > 2 || chars > maxHeading || !letters || p[0].cells() > 1 || height*100 < body*headingHeight:
		return 0
	case height*100 >= body*titleHeight:
		return 1
	}
	return 2
}

// cells returns the number of parts of a line that are apart like the cells of a table.
func (l line) cells() int {
	n := 1
	for i := 1; i < len(l.words); i++ {
		if l.apart(i) {
			n++
		}
	}
	return n
}

// apart reports whether a word is apart from the one before it.
func (l line) apart(i int) bool {
	if i == 1 && l.isItem() {
		return false
	}
	a, b := l.words[i-1].Box, l.words[i].Box
	return max(b.Min.X-a.Max.X, a.Min.X-b.Max.X) > cellGap*l.height
}

// joined returns the text of lines. A word that is divided at the end of a line becomes whole.
func joined(lines []line) (m compose.Mapped) {
	for i, l := range lines {
		char := l.first
		for j, w := range l.words {
			switch {
			case j > 0 && l.apart(j):
				m.Put(" | ")
			case j > 0 || i > 0 && !divided(&m, w.Text):
				m.Put(" ")
			}
			for _, r := range w.Text {
				m.Rune(r, char)
				char++
			}
		}
	}
	return m
}

// divided removes the hyphen at the end of a text if next continues its last word, and reports whether it did.
func divided(m *compose.Mapped, next string) bool {
	before, found := strings.CutSuffix(string(m.Text), "-")
	last, _ := utf8.DecodeLastRuneInString(before)
	first, _ := utf8.DecodeRuneInString(next)
	if !found || !unicode.IsLower(last) || !unicode.IsLower(first) {
		return false
	}
	*m = m.Slice(0, len(before))
	return true
}
