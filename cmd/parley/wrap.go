package main

import (
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"
)

// maxTextWidth is the most columns that running text takes on a wide terminal.
const maxTextWidth = 100

// terminalWidth returns the number of columns of the terminal that w is, 0 when it is none.
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

// wrapper writes text that comes in pieces, broken at spaces so that no line has more than width
// code points, but for words that are longer. A line keeps the indentation of its paragraph.
// Width 0 writes the text as it is. Keep err until the end: the first error stops the output.
type wrapper struct {
	w     io.Writer
	width int
	clean bool // leave out control characters, which could rule the terminal
	err   error

	word   strings.Builder // not written yet
	column int             // code points on this line
	indent int             // spaces at the start of the paragraph
	blank  bool            // a space is due before the word
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
	if o.width == 0 {
		o.flush()
	}
}

func (o *wrapper) space() {
	if o.column == 0 && o.word.Len() == 0 {
		o.indent++
		return
	}
	o.flush()
	o.blank = true
}

// flush writes the word that has come so far.
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
	n := utf8.RuneCountInString(word)
	switch {
	case o.column == 0:
		o.write(strings.Repeat(" ", o.indent))
		o.column = o.indent
	case o.blank && o.column+1+n > o.width:
		o.write("\n" + strings.Repeat(" ", o.indent))
		o.column = o.indent
	case o.blank:
		o.write(" ")
		o.column++
	}
	o.blank = false
	o.write(word)
	o.column += n
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
