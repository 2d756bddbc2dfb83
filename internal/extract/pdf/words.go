package pdf

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"parley/internal/extract/compose"
)

// pdfWords is the vocabulary of a document, which tells the hyphens that divide a word at the
// end of a line from those that are part of it.
type pdfWords struct {
	counts map[string]int
	joins  int // line ends at which the document has the word without the hyphen elsewhere
	keeps  int // the same with the hyphen
	// Korean is divided between words in some documents and anywhere in others. In the second
	// kind, a line that ends inside a word has no space at its end.
	anywhere bool
	// Lines of the document end with spaces in the original, so a line without one ends inside a word.
	trailing bool
}

// maxWords is the maximum size of the vocabulary.
const maxWords = 300_000

func newPDFWords(pages []*pdfPage) *pdfWords {
	w := &pdfWords{counts: map[string]int{}}
	ends, spaces, roomy := 0, 0, 0
	lines, trailing := 0, 0
	for _, p := range pages {
		for i := range p.lines {
			line := &p.lines[i]
			w.count(string(line.Text))
			lines++
			if line.space {
				trailing++
			}
			if last, _ := utf8.DecodeLastRune(line.Text); !unicode.Is(unicode.Hangul, last) {
				continue
			}
			ends++
			if line.space {
				spaces++
			}
			if line.room >= line.size {
				roomy++
			}
		}
	}
	w.trailing = trailing*2 > lines
	w.anywhere = spaces*5 > ends && roomy*5 < ends
	for _, p := range pages {
		for i := range len(p.lines) - 1 {
			if before, after, ok := dividedWord(p.lines[i].Text, p.lines[i+1].Text); ok {
				joined, kept := w.counts[before+after], w.counts[before+"-"+after]
				if joined > kept {
					w.joins++
				} else if kept > joined {
					w.keeps++
				}
			}
		}
	}
	return w
}

// count adds the words of a line, hyphenated ones whole, except a word that the line's end divides.
func (w *pdfWords) count(line string) {
	for _, word := range strings.FieldsFunc(line, func(r rune) bool { return !isWordRune(r) }) {
		if len(w.counts) >= maxWords {
			return
		}
		if !strings.HasSuffix(word, "-") && !strings.HasPrefix(word, "-") {
			w.counts[strings.ToLower(word)]++
		}
	}
}

func isWordRune(r rune) bool {
	return r == '-' || unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r)
}

// dividedWord returns the parts of a word that a hyphen at a line end divides, in lower case. ok is false if the second line
// does not begin with a small letter: then the hyphen stays.
func dividedWord(line, next []byte) (before, after string, ok bool) {
	s, found := strings.CutSuffix(string(line), "-")
	if !found {
		return "", "", false
	}
	t := string(next)
	first, _ := utf8.DecodeRuneInString(t)
	if !unicode.IsLower(first) {
		return "", "", false
	}
	before = s[strings.LastIndexFunc(s, func(r rune) bool { return !isWordRune(r) })+1:]
	if end := strings.IndexFunc(t, func(r rune) bool { return !isWordRune(r) }); end >= 0 {
		t = t[:end]
	}
	last, _ := utf8.DecodeLastRuneInString(before)
	return strings.ToLower(before), strings.ToLower(t), unicode.IsLetter(last)
}

// join appends the next line of a paragraph.
func (w *pdfWords) join(to *compose.Mapped, line, next *pdfLine) {
	if bytesEndInHyphen(line.Text) {
		if w.divides(line, next) {
			*to = to.Slice(0, len(to.Text)-1)
		} else if spacedHyphen(line.Text) {
			to.Put(" ")
		}
		to.Append(next.Mapped)
		return
	}
	last, _ := utf8.DecodeLastRune(line.Text)
	first, _ := utf8.DecodeRune(next.Text)
	within := w.anywhere && !line.space && unicode.Is(unicode.Hangul, last) && unicode.Is(unicode.Hangul, first) || last == '/' && w.brokenAtSlash(line, next)
	if !within {
		to.Put(compose.Glue(last, first))
	}
	to.Append(next.Mapped)
}

// brokenAtSlash reports whether a line that ends in a slash was broken inside a path, an address or words like "and/or". If spaces
// at the ends of lines do not tell, a slash can end a word only if that is a path: then the next line must look like the rest of it.
func (w *pdfWords) brokenAtSlash(line, next *pdfLine) bool {
	before := lastField(string(line.Text))
	name := strings.TrimSuffix(before, "/")
	last, _ := utf8.DecodeLastRuneInString(name)
	first, _ := utf8.DecodeRune(next.Text)
	switch {
	case !isWordRune(last) && last != ':' && last != '/' || !isWordRune(first) && first != '.' && first != '_' && first != '~':
		return false
	case line.space:
		return false
	case w.trailing || !strings.ContainsAny(name, `/~.`):
		return true
	}
	after, _, _ := strings.Cut(string(next.Text), " ")
	return strings.ContainsAny(strings.TrimRight(after, ".,;:!?)"), "/._-=?&%0123456789")
}

func lastField(s string) string { return s[strings.LastIndexFunc(s, unicode.IsSpace)+1:] }

// divides reports whether the hyphen at the end of a line only divides a word. It decides by how the document writes the
// word elsewhere, or else by its other line ends. Otherwise the hyphen stays only if both parts are words of the document.
func (w *pdfWords) divides(line, next *pdfLine) bool {
	before, after, ok := dividedWord(line.Text, next.Text)
	if !ok {
		return false
	}
	joined, kept := w.counts[before+after], w.counts[before+"-"+after]
	switch {
	case joined != kept:
		return joined > kept
	case w.keeps > 2*w.joins:
		return false
	case w.joins > 2*w.keeps:
		return true
	}
	return w.counts[before] == 0 || w.counts[after] == 0
}

func bytesEndInHyphen(b []byte) bool { return len(b) > 0 && b[len(b)-1] == '-' }

// spacedHyphen reports whether a line ends with a dash that has a space before it.
func spacedHyphen(b []byte) bool {
	return len(b) < 2 || b[len(b)-2] == ' '
}
