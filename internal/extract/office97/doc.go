package office97

import (
	"context"
	"encoding/binary"
	"strconv"
	"strings"

	"golang.org/x/text/encoding/charmap"
	utf16 "golang.org/x/text/encoding/unicode"

	"parley/internal/extract"
	"parley/internal/extract/codepage"
	"parley/internal/extract/compose"
	"parley/internal/extract/tabular"
)

var _ = extract.Register("Word 97–2003", extract.Reader{Read: readDOC})

// Places in the head of a document (MS-DOC 2.5).
const (
	fibMagic    = 0xa5ec
	fibWord97   = 0xc1
	fibFlags    = 0x0a
	fibSealSize = 0x0e // of the encryption header
	fibPlain    = 68   // bytes that are never encrypted
	fibLengths  = 0x4c // of the text, the footnotes, and so on
	fibChars    = 0xfa
	fibParas    = 0x102
	fibStyles   = 0xa2
	fibFonts    = 0x112
	fibPieces   = 0x1a2
	fibLists    = 0x2e2
	fibListUses = 0x2ea
	fibHeadSize = fibPieces + 8
)

// The flags of a document.
const (
	docEncrypted = 0x100
	docTable1    = 0x200

	docObfuscated = 0x8000 // the document has the older encryption
)

// docReader reads a document of Word 6 to 2003.
type docReader struct {
	ctx     context.Context
	main    []byte // the stream with the text
	lengths int    // place in main of the lengths of the text, the footnotes, and so on
	page    string // the encoding of one-byte characters
	pieces  []piece
	chars   runs // properties of characters
	paras   runs // properties of paragraphs
	styles  []docStyle
	fonts   []string
	lists   *compose.Numbering
	out     compose.Builder

	text   strings.Builder // of the paragraph that is being read
	fields []bool          // for each open field, whether its instruction is being read
	cells  []string
	rows   [][]string
}

// piece is a range of the text that is contiguous in the file.
type piece struct {
	from, to int // characters
	at       int // byte in the main stream
	wide     bool
}

// readDOC reads the text, the footnotes, comments, endnotes and text boxes of a document, without text that tracked
// changes deleted. Like newer documents, it has no pages.
func readDOC(ctx context.Context, f *extract.File) (*extract.Document, error) {
	main, err := stream(f, "WordDocument")
	if err != nil {
		return nil, err
	}
	if len(main) > 4 && binary.LittleEndian.Uint16(main[2:]) < fibWord97 && isWord6(binary.LittleEndian.Uint16(main)) {
		return readWord6(ctx, f, main)
	}
	if len(main) < fibHeadSize || binary.LittleEndian.Uint16(main) != fibMagic {
		return nil, extract.Damagedf("the document is broken")
	}
	flags := binary.LittleEndian.Uint16(main[fibFlags:])
	name := "0Table"
	if flags&docTable1 != 0 {
		name = "1Table"
	}
	tables, err := stream(f, name)
	if err != nil {
		return nil, err
	}
	return readWord(ctx, f, main, tables)
}

// readWord reads the streams of a document.
func readWord(ctx context.Context, f *extract.File, main, tables []byte) (*extract.Document, error) {
	if flags := binary.LittleEndian.Uint16(main[fibFlags:]); flags&docEncrypted != 0 {
		if err := decryptDOC(main, tables, flags&docObfuscated == 0, f.Passwords); err != nil {
			return nil, err
		}
	}
	r := docReader{ctx: ctx, main: main, lengths: fibLengths, page: "windows-1252", out: compose.Builder{Budget: compose.NewBudget(f.Limits)}}
	r.pieces = piecesOf(r.table(tables, fibPieces), true)
	if len(r.pieces) == 0 {
		return nil, extract.Damagedf("the document is broken: it does not say where its text is")
	}
	r.chars = runsOf(main, r.table(tables, fibChars), word97Chars)
	r.paras = runsOf(main, r.table(tables, fibParas), word97Paras)
	r.styles = stylesOf(r.table(tables, fibStyles))
	r.fonts = fontsOf(r.table(tables, fibFonts))
	r.lists = numberingOf(from(tables, le32(main, fibLists)), r.table(tables, fibListUses))
	if err := r.read(); err != nil {
		return nil, err
	}
	return &extract.Document{Pages: []extract.Page{r.out.Page(0, false)}}, nil
}

// decryptDOC decrypts the streams of a document in place (MS-DOC 2.2.6). The table stream begins with the encryption header.
func decryptDOC(main, tables []byte, known bool, passwords []string) error {
	const block = 512
	size := min(max(le32(main, fibSealSize), 0), len(tables))
	var open func(string) decrypter
	if known {
		open, known = readRC4(tables[:size], block)
	}
	c, err := unlock("document", open, known, passwords, len(passwords) > 0)
	if err != nil {
		return err
	}
	c.decrypt(main, 0, min(fibPlain, len(main)))
	c.decrypt(tables, 0, size)
	return nil
}

// table returns the part of the table stream that a place in the head names.
func (r *docReader) table(tables []byte, place int) []byte {
	b := from(tables, le32(r.main, place))
	return b[:min(max(le32(r.main, place+4), 0), len(b))]
}

// piecesOf reads the table of pieces (MS-DOC 2.9.38). Word 97 and later store the width of the characters of each piece.
func piecesOf(b []byte, widths bool) []piece {
	for len(b) >= 3 && b[0] == 1 { // properties that pieces share
		b = b[min(3+int(binary.LittleEndian.Uint16(b[1:])), len(b)):]
	}
	if len(b) < 5 || b[0] != 2 {
		return nil
	}
	b = b[5:]
	const position, descriptor = 4, 8
	n := (len(b) - position) / (position + descriptor)
	var pieces []piece
	for i := range max(n, 0) {
		at := binary.LittleEndian.Uint32(b[(n+1)*position+i*descriptor+2:])
		p := piece{from: int(int32(binary.LittleEndian.Uint32(b[i*position:]))), to: int(int32(binary.LittleEndian.Uint32(b[(i+1)*position:]))),
			at: int(at & 0x3fffffff), wide: widths && at&0x40000000 == 0}
		if widths && !p.wide {
			p.at /= 2
		}
		if p.from >= 0 && p.from < p.to && (len(pieces) == 0 || p.from >= pieces[len(pieces)-1].to) {
			pieces = append(pieces, p)
		}
	}
	return pieces
}

// The parts of the text, in order.
const (
	docHeaders = 2
	docMacros  = 3
	docBoxes   = 7 // of headers
)

// read reads the text, and the footnotes, comments, endnotes and text boxes after it. It reads headers and footers, which Word
// repeats on each page, only if there is nothing else.
func (r *docReader) read() error {
	margins := func(part int) bool { return part == docHeaders || part == docBoxes }
	err := r.parts(func(part int) bool { return !margins(part) && part != docMacros })
	if err == nil && len(r.out.Blocks) == 0 {
		err = r.parts(margins)
	}
	return err
}

// parts reads some parts of the text.
func (r *docReader) parts(wanted func(part int) bool) error {
	at := 0
	for part := range docBoxes + 1 {
		length := int(int32(binary.LittleEndian.Uint32(r.main[r.lengths+4*part:])))
		if wanted(part) && length > 0 {
			if err := r.span(at, at+length); err != nil {
				return err
			}
		}
		at += max(length, 0)
		if at < 0 {
			break
		}
	}
	return nil
}

// span reads the characters from one position to another.
func (r *docReader) span(from, to int) error {
	r.fields = r.fields[:0]
	for _, p := range r.pieces {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		start, end := max(p.from, from), min(p.to, to)
		if start >= end {
			continue
		}
		width := 1
		if p.wide {
			width = 2
		}
		at := p.at + (start-p.from)*width
		if err := r.piece(at, min(at+(end-start)*width, len(r.main)), width); err != nil {
			return err
		}
	}
	if err := r.paragraph(len(r.main)); err != nil {
		return err
	}
	return r.endTable()
}

// piece reads a range of bytes, run by run of equal properties.
func (r *docReader) piece(at, end, width int) error {
	for at < end {
		properties, until := r.chars.at(at)
		until = max(min(until, end), at+width)
		until += (until - at) % width
		if err := r.run(at, min(until, end), width, properties); err != nil {
			return err
		}
		at = until
	}
	return nil
}

// Characters with a special meaning (MS-DOC 2.4.1).
const (
	cellEnd     = 0x07
	lineBreak   = 0x0b
	pageBreak   = 0x0c
	paraEnd     = 0x0d
	fieldBegin  = 0x13
	fieldMiddle = 0x14
	fieldEnd    = 0x15
	hardHyphen  = 0x1e
)

// run reads characters of equal properties.
func (r *docReader) run(at, end, width int, p properties) error {
	var plain []byte
	put := func() {
		r.text.WriteString(p.script.Write(compose.FontText(r.font(p.font), r.decode(plain, width))))
		plain = plain[:0]
	}
	for ; at+width <= end; at += width {
		c := uint16(r.main[at])
		if width == 2 {
			c = binary.LittleEndian.Uint16(r.main[at:])
		}
		switch c {
		case fieldBegin:
			if len(r.fields) < 100 {
				r.fields = append(r.fields, true)
			}
		case fieldMiddle, fieldEnd:
			if n := len(r.fields); n > 0 && c == fieldMiddle {
				r.fields[n-1] = false
			} else if n > 0 {
				r.fields = r.fields[:n-1]
			}
		case paraEnd, pageBreak, cellEnd:
			put()
			if err := r.mark(c, at); err != nil {
				return err
			}
		case lineBreak, hardHyphen, '\t':
			put()
			r.text.WriteString(map[uint16]string{lineBreak: "\n", hardHyphen: "-", '\t': "\t"}[c])
		default:
			if p.sign != 0 && c == '(' && !p.deleted {
				put()
				r.text.WriteRune(compose.FontRune(r.font(p.signFont), rune(p.sign)))
				continue
			}
			if !p.deleted && c >= ' ' && (len(r.fields) == 0 || !r.fields[len(r.fields)-1]) {
				plain = append(plain, r.main[at:at+width]...)
			}
		}
	}
	put()
	if int64(r.text.Len()) > r.out.Budget.Left {
		return r.out.Budget.Exceeded()
	}
	return nil
}

// font returns the name of a font by its number.
func (r *docReader) font(at int) string {
	if at >= len(r.fonts) {
		return ""
	}
	return r.fonts[at]
}

func (r *docReader) decode(b []byte, width int) string {
	switch {
	case width == 2:
		return codepage.As(utf16.UTF16(utf16.LittleEndian, utf16.IgnoreBOM), b)
	case r.page == "windows-1252":
		return codepage.As(charmap.Windows1252, b)
	}
	return codepage.Decode(b, r.page)
}

// mark ends a paragraph, a cell or a row.
func (r *docReader) mark(c uint16, at int) error {
	p, _ := r.paras.at(at)
	switch {
	case p.rowEnd:
		r.rows = append(r.rows, r.cells)
		r.cells = nil
		r.text.Reset()
		return nil
	case c == cellEnd:
		r.cells = append(r.cells, compose.OneLine(compose.Clean(r.text.String())))
		r.text.Reset()
		return nil
	case p.inTable: // a paragraph in a cell
		r.text.WriteByte(' ')
		return nil
	}
	if err := r.endTable(); err != nil {
		return err
	}
	return r.paragraph(at)
}

// paragraph writes the paragraph that ends at a byte.
func (r *docReader) paragraph(at int) error {
	p, _ := r.paras.at(at)
	p = p.inherit(r.styles)
	text := strings.TrimSpace(compose.SpacesOnly.Replace(compose.Clean(r.text.String())))
	r.text.Reset()
	isItem := p.heading == 0 && p.list != 0
	if text != "" && p.list != 0 {
		if marker := r.lists.Marker(strconv.Itoa(p.list), p.level); isItem || marker != compose.Bullet {
			text = marker + text
		}
	}
	switch {
	case p.heading > 0:
		return r.out.Add(extract.Heading, p.heading, compose.OneLine(text))
	case isItem && text != "":
		return r.out.Add(extract.ListItem, 0, text)
	case compose.ListMarker(text) > 0:
		return r.out.Add(extract.ListItem, 0, text)
	}
	return r.out.Add(extract.Paragraph, 0, text)
}

// endTable writes the rows that were read.
func (r *docReader) endTable() error {
	rows := r.rows
	if len(r.cells) > 0 {
		rows = append(rows, r.cells)
	}
	r.rows, r.cells = nil, nil
	columns := 0
	for _, row := range rows {
		columns = max(columns, len(row))
	}
	if columns == 1 { // a frame around paragraphs
		for _, row := range rows {
			if err := r.out.Add(extract.Paragraph, 0, strings.Join(row, " ")); err != nil {
				return err
			}
		}
		return nil
	}
	return r.out.AddTable(rows, columns > 2 && len(rows[0]) == columns && tabular.IsHeader(rows[0]))
}
