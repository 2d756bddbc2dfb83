// Package rtf reads Rich Text Format, and the bodies of Outlook messages that are stored in it.
package rtf

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strconv"
	"strings"

	"golang.org/x/net/html"

	"parley/internal/extract"
	"parley/internal/extract/compose"
	"parley/internal/extract/latex"
	"parley/internal/extract/markup"
)

var _ = extract.Register("RTF", extract.Reader{Read: readRTF})

// readRTF reads the Rich Text Format (version 1.9.1): paragraphs, headings by style, lists by
// their written markers, tables, footnotes and comments, each text in the code page of its font.
func readRTF(ctx context.Context, f *extract.File) (*extract.Document, error) {
	out := compose.Builder{Budget: compose.NewBudget(f.Limits)}
	title, err := AddRTF(ctx, &out, io.NewSectionReader(f.Content, 0, f.Size))
	if err != nil {
		return nil, err
	}
	return &extract.Document{Title: compose.SensibleTitle(title), Pages: []extract.Page{out.Page(0, false)}}, nil
}

// AddRTF appends the text of an RTF file, and returns the title among its properties.
func AddRTF(ctx context.Context, out *compose.Builder, src io.Reader) (title string, err error) {
	r := rtfReader{
		src:    bufio.NewReader(src),
		text:   rtfText{out: out, styles: map[int]int{}},
		fonts:  map[int]rtfEncoding{},
		state:  rtfState{uc: 1},
		normal: rtfEncodings[1252],
	}
	if err := r.read(ctx); err != nil {
		return "", err
	}
	if r.html.Len() > 0 {
		return "", markup.AddWholeHTML(out, compose.Clean(r.html.String()))
	}
	return r.info.String(), r.text.finish()
}

// maxRTFDepth is the maximum depth of nested groups; programs write some tens.
const maxRTFDepth = 10_000

// rtfReader handles the tokens of a file and keeps the state that groups save and restore.
type rtfReader struct {
	src     *bufio.Reader
	state   rtfState
	stack   []rtfState
	starred bool // the next control word begins a destination that may be skipped
	skip    int  // characters still to be skipped, which replace one in Unicode

	normal   rtfEncoding         // of the document
	fonts    map[int]rtfEncoding // by number
	pending  []byte              // text not decoded yet
	encoding rtfEncoding         // of pending
	high     rune                // first half of a surrogate pair

	formula  rtfFormula
	text     rtfText
	info     strings.Builder // the title among the properties
	style    strings.Builder // the name of the style that is being defined
	fromHTML bool            // the text is a web page wrapped up in RTF (MS-OXRTFEX)
	html     strings.Builder
}

// rtfState holds the properties that a group changes until it ends.
type rtfState struct {
	to      rtfDestination
	font    int
	uc      int  // number of characters that replace one in Unicode
	hidden  bool // hidden or deleted text
	script  compose.Script
	htmlRTF bool // text that is only for readers of RTF
	level   int  // of the style that is being defined
	number  int  // of the style that is being defined
	element *latex.Office
	depth   int // of element in its formula
}

// rtfDestination is the destination of text.
type rtfDestination uint8

const (
	toText rtfDestination = iota
	toNowhere
	toReplaced // nowhere, since the same follows in Unicode
	toFonts
	toStyles
	toTitle
	toMarker
	toNote
	toComment
	toHTML
	toFormula
)

func (r *rtfReader) read(ctx context.Context) error {
	for n := 0; ; n++ {
		if n%65536 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		c, err := r.src.ReadByte()
		if err != nil {
			r.flush()
			return r.text.err
		}
		switch c {
		case '{':
			if len(r.stack) >= maxRTFDepth {
				return extract.Damagedf("its groups are nested too deeply")
			}
			r.flush()
			r.stack = append(r.stack, r.state)
			r.skip = 0
		case '}':
			r.endGroup()
		case '\\':
			r.control()
		case '\r', '\n':
		default:
			r.char(c)
		}
		if r.text.err != nil {
			return r.text.err
		}
	}
}

func (r *rtfReader) endGroup() {
	r.flush()
	n := len(r.stack)
	if n == 0 {
		return
	}
	ended := r.state
	r.state, r.stack, r.skip = r.stack[n-1], r.stack[:n-1], 0
	if ended.to == toFormula && r.state.to != toFormula {
		r.put(r.formula.end())
	}
	switch {
	case ended.to == toStyles && r.style.Len() > 0:
		r.text.defineStyle(ended.number, ended.level, r.style.String())
		r.style.Reset()
	case ended.to != r.state.to && (ended.to == toNote || ended.to == toComment):
		r.text.endAside(ended.to)
	}
}

// control reads the characters after a backslash: a word of letters with a number, or one other character.
func (r *rtfReader) control() {
	c, err := r.src.ReadByte()
	if err != nil {
		return
	}
	if !IsLetter(c) {
		r.symbol(c)
		return
	}
	word := []byte{c}
	for {
		if c, err = r.src.ReadByte(); err != nil || !IsLetter(c) || len(word) >= 32 {
			break
		}
		word = append(word, c)
	}
	number, has := 0, false
	if err == nil {
		number, has, err = r.number(c)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return
	}
	r.word(string(word), number, has)
}

// number reads the parameter of a control word, whose first character is c, and the space that
// ends the word.
func (r *rtfReader) number(c byte) (n int, has bool, err error) {
	var digits []byte
	for c == '-' && len(digits) == 0 || c >= '0' && c <= '9' && len(digits) < 12 {
		digits = append(digits, c)
		if c, err = r.src.ReadByte(); err != nil {
			break
		}
	}
	if err == nil && c != ' ' {
		err = r.src.UnreadByte()
	}
	n, bad := strconv.Atoi(string(digits))
	return n, bad == nil, err
}

// IsLetter reports whether c is a letter of ASCII.
func IsLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func (r *rtfReader) symbol(c byte) {
	switch c {
	case '\'':
		var hex [2]byte
		if _, err := io.ReadFull(r.src, hex[:]); err != nil {
			return
		}
		if b, err := strconv.ParseUint(string(hex[:]), 16, 8); err == nil {
			r.char(byte(b))
		}
	case '*':
		r.starred = true
	case '~':
		r.rune('\u00a0')
	case '_':
		r.rune('-')
	case '\\', '{', '}':
		r.char(c)
	case '\r', '\n':
		r.word("par", 0, false)
	}
}

// char adds one byte of text.
func (r *rtfReader) char(c byte) {
	if r.skip > 0 {
		r.skip--
		return
	}
	encoding := r.fonts[r.state.font]
	if encoding.page == nil && !encoding.symbol || r.state.to == toFonts {
		encoding = r.normal
	}
	if encoding != r.encoding {
		r.flush()
		r.encoding = encoding
	}
	r.pending = append(r.pending, c)
	if len(r.pending) >= 1<<16 {
		r.flush()
	}
}

// rune adds one character of text that needs no decoding.
func (r *rtfReader) rune(c rune) {
	r.flush()
	r.put(string(c))
}

// flush decodes the pending bytes.
func (r *rtfReader) flush() {
	if len(r.pending) == 0 {
		return
	}
	text := r.encoding.decode(r.pending)
	r.pending = r.pending[:0]
	r.put(text)
}

// put sends text to its destination.
func (r *rtfReader) put(s string) {
	if r.state.hidden && r.state.to == toText {
		return
	}
	switch r.state.to {
	case toText, toNote, toComment:
		s = r.state.script.Write(s)
		switch {
		case !r.fromHTML:
			r.text.write(s)
		case !r.state.htmlRTF:
			r.putHTML(html.EscapeString(s))
		}
	case toMarker:
		r.text.mark(s)
	case toTitle:
		if r.info.Len() < 1000 {
			r.info.WriteString(s)
		}
	case toStyles:
		if r.style.Len() < 1000 {
			r.style.WriteString(s)
		}
	case toHTML:
		r.putHTML(s)
	case toFonts:
		if name := strings.TrimSuffix(strings.TrimSpace(s), ";"); compose.IsSignFont(name) {
			font := r.fonts[r.state.font]
			font.signs = name
			r.fonts[r.state.font] = font
		}
	case toFormula:
		r.formula.text(r.state.element, s)
	}
}

func (r *rtfReader) putHTML(s string) {
	if int64(r.html.Len()+len(s)) > markup.MaxHTMLBytes {
		r.text.err = extract.TooLargef("the web page in it has more than %s", extract.Megabytes(markup.MaxHTMLBytes))
		return
	}
	r.html.WriteString(s)
}
