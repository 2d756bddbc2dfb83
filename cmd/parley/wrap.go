package main

import (
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
	"golang.org/x/term"
)

// maxTextWidth is the most columns of running text on a wide terminal.
const maxTextWidth = 100

// terminalWidth returns the columns of the terminal w, or 0 if w is not a terminal.
func terminalWidth(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width < 20 {
		return 80
	}
	return width
}

// wrapper writes text that arrives in pieces, with lines of at most width columns, except for
// longer words. It breaks lines at spaces, and before and after wide characters, because Chinese
// and Japanese have no spaces. A line keeps the indentation of its paragraph. Width 0 writes the
// text unchanged. The first error stops the output and stays in err.
type wrapper struct {
	w     io.Writer
	width int
	clean bool // drop control characters, which could control the terminal
	err   error

	word   strings.Builder // not yet written
	column int             // columns used on this line
	indent int             // spaces at the start of the paragraph
	blank  bool            // a space is due before the word
	begun  bool            // the first part of the word has been written
}

func (o *wrapper) add(text string) {
	for _, r := range text {
		switch {
		case o.clean && unicode.IsControl(r) && r != '\n' && r != '\t':
		case o.width == 0 || !unicode.IsSpace(r):
			o.word.WriteRune(r)
		case r == '\n':
			o.flush()
			o.write("\n")
			o.column, o.indent, o.blank = 0, 0, false
		default:
			o.space()
		}
	}
	switch {
	case o.width == 0:
		o.flush()
	case strings.ContainsFunc(text, mayBeWide):
		o.release()
	}
}

// mayBeWide reports whether a character may take two columns. Characters before Hangul do not.
func mayBeWide(r rune) bool { return r >= 0x1100 }

func (o *wrapper) space() {
	if o.column == 0 && o.word.Len() == 0 {
		o.indent++
		return
	}
	o.flush()
	o.blank = true
}

// flush writes the pending word.
func (o *wrapper) flush() {
	if o.word.Len() == 0 {
		return
	}
	word := o.word.String()
	o.word.Reset()
	if o.width == 0 {
		o.write(word)
		o.column = len(word) - strings.LastIndexByte(word, '\n') - 1
		return
	}
	for _, part := range partsOf(word) {
		o.put(part)
	}
	o.begun = false
}

// release writes the parts of the word that later input cannot change: all except the last.
func (o *wrapper) release() {
	parts := partsOf(o.word.String())
	if len(parts) < 2 {
		return
	}
	last := len(parts) - 1
	o.word.Reset()
	o.word.WriteString(parts[last])
	for _, part := range parts[:last] {
		o.put(part)
	}
}

// put writes a part of a word, on the next line if it does not fit on this one.
func (o *wrapper) put(part string) {
	n := displaywidth.String(part)
	switch {
	case o.column == 0:
		o.write(strings.Repeat(" ", o.indent))
		o.column = o.indent
	case o.blank && o.column+1+n > o.width, o.begun && o.column+n > o.width:
		o.write("\n" + strings.Repeat(" ", o.indent))
		o.column = o.indent
	case o.blank:
		o.write(" ")
		o.column++
	}
	o.blank, o.begun = false, true
	o.write(part)
	o.column += n
}

// partsOf splits a word where a line may be broken: before and after each wide character, but not
// between it and its punctuation.
func partsOf(word string) []string {
	var parts []string
	start, at, wide, opens := 0, 0, false, false
	graphemes := displaywidth.StringGraphemes(word)
	for graphemes.Next() {
		g := graphemes.Value()
		r, _ := utf8.DecodeRuneInString(g)
		isWide := graphemes.Width() > 1 && !unicode.Is(unicode.Hangul, r) // Korean has spaces
		if at > start && (wide || isWide) && !opens && !unicode.In(r, unicode.Pe, unicode.Pf, unicode.Po) {
			parts = append(parts, word[start:at])
			start = at
		}
		wide, opens = isWide, unicode.In(r, unicode.Ps, unicode.Pi)
		at += len(g)
	}
	return append(parts, word[start:])
}

// end finishes the last line.
func (o *wrapper) end() {
	o.flush()
	if o.column > 0 {
		o.write("\n")
		o.column, o.indent, o.blank = 0, 0, false
	}
}

func (o *wrapper) write(s string) {
	if o.err == nil {
		_, o.err = io.WriteString(o.w, s)
	}
}
