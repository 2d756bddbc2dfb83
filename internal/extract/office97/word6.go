package office97

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"

	"parley/internal/extract"
	"parley/internal/extract/codepage"
	"parley/internal/extract/compose"
)

// Places in the head of a document of Word 6 or 95, whose tables are in the stream of the text.
const (
	fib6Language = 0x06
	fib6Charset  = 0x14
	fib6Text     = 0x18
	fib6Lengths  = 0x34
	fib6Chars    = 0xb8
	fib6Paras    = 0xc0
	fib6Fonts    = 0xd0
	fib6Pieces   = 0x160
	fib6HeadSize = fib6Pieces + 8

	docComplex = 0x04   // the document was saved in pieces
	docWide    = 0x1000 // its characters have two bytes
)

// fibMagic95 begins documents of Word 6 and 95.
const fibMagic95 = 0xa5dc

// isWord6 reports whether a document of Word 6 or 95 begins with magic. Word 95 for East Asia has its own numbers.
func isWord6(magic uint16) bool {
	return magic == fibMagic || magic == fibMagic95 || magic >= 0xa697 && magic <= 0xa699
}

// readWord6 reads a document of Word 6 or 95: its text with headings, tables and notes, in the code page of its language.
// Numbers of lists are not computed.
func readWord6(ctx context.Context, f *extract.File, main []byte) (*extract.Document, error) {
	if len(main) < fib6HeadSize {
		return nil, extract.Damagedf("the document is broken")
	}
	flags := binary.LittleEndian.Uint16(main[fibFlags:])
	if flags&docEncrypted != 0 {
		return nil, &extract.Error{Reason: extract.Encrypted, Detail: "the document has a password of Word 6 or 95: save it without one"}
	}
	r := docReader{ctx: ctx, main: main, lengths: fib6Lengths, out: compose.Builder{Budget: compose.NewBudget(f.Limits)}}
	if flags&docComplex != 0 {
		r.pieces = piecesOf(r.table(main, fib6Pieces), false)
	} else {
		total := 0
		for part := range docBoxes + 1 {
			total += max(int(int32(binary.LittleEndian.Uint32(main[fib6Lengths+4*part:]))), 0)
		}
		r.pieces = []piece{{to: total, at: max(le32(main, fib6Text), 0), wide: flags&docWide != 0}}
	}
	r.chars = runsOf(main, r.table(main, fib6Chars), word6Chars)
	r.paras = runsOf(main, r.table(main, fib6Paras), word6Paras)
	var charset int
	r.fonts, charset = fontsOfWord6(r.table(main, fib6Fonts))
	r.page = pageOfWord6(main, charset)
	if err := r.read(); err != nil {
		return nil, err
	}
	return &extract.Document{Pages: []extract.Page{r.out.Page(0, false)}}, nil
}

// fontsOfWord6 returns the names of the fonts, by their numbers, and the code page of the first one that has its own; 0 for none.
func fontsOfWord6(b []byte) (names []string, charset int) {
	const head, charsetAt = 6, 4 // before the name of a font
	for b = b[min(2, len(b)):]; len(b) > head && int(b[0]) >= head; b = b[min(int(b[0])+1, len(b)):] {
		name, _, _ := bytes.Cut(b[head:min(int(b[0])+1, len(b))], []byte{0})
		names = append(names, string(name))
		charset = cmp.Or(charset, codepage.Charsets[int(b[charsetAt])])
	}
	return names, charset
}

// pageOfWord6 returns the encoding of a document. It follows from the language or, for English, from the fonts.
func pageOfWord6(main []byte, charset int) string {
	const english, chinese, macintosh = 0x09, 0x04, 256
	language := binary.LittleEndian.Uint16(main[fib6Language:])
	switch primary := language & 0x3ff; {
	case binary.LittleEndian.Uint16(main[fib6Charset:]) == macintosh:
		return "macintosh"
	case primary == english && charset != 0:
		return codepage.Windows(charset)
	case primary == chinese && language>>10 == 1: // traditional Chinese of Taiwan
		return codepage.Windows(950)
	case word6Pages[primary] != 0:
		return codepage.Windows(word6Pages[primary])
	}
	return "windows-1252"
}

// word6Pages are the code pages of languages whose code page is not that of English, by the lower ten bits of their numbers.
var word6Pages = map[uint16]int{
	0x01: 1256, 0x02: 1251, 0x04: 936, 0x05: 1250, 0x08: 1253, 0x0d: 1255, 0x0e: 1250, 0x11: 932, 0x12: 949, 0x15: 1250, 0x18: 1250, 0x19: 1251, 0x1a: 1250, 0x1b: 1250,
	0x1c: 1250, 0x1e: 874, 0x1f: 1254, 0x20: 1256, 0x22: 1251, 0x23: 1251, 0x24: 1250, 0x25: 1257, 0x26: 1257, 0x27: 1257, 0x29: 1256, 0x2f: 1251,
}

// word6Codes maps properties of Word 6 to the equal ones of Word 97.
var word6Codes = map[byte]uint16{24: 0x2416, 25: 0x2417, 65: 0x0800, 93: 0x4a4f, 104: 0x2a48}

// word6Sizes are the sizes of operands in bytes; -1 for one that begins with its size. The others have one byte.
var word6Sizes = map[byte]int{
	2: 2, 3: -1, 12: -1, 15: -1, 16: 2, 17: 2, 18: 2, 19: 2, 20: 4, 21: 2, 22: 2, 23: -1, 26: 2, 27: 2, 28: 2,
	30: 2, 31: 2, 32: 2, 33: 2, 34: 2, 35: 2, 36: 2, 38: 2, 39: 2, 40: 2, 41: 2, 42: 2, 43: 2, 45: 2, 46: 2, 47: 2, 48: 2, 49: 2, 52: -1,
	68: -1, 69: 2, 70: 4, 72: 2, 73: 3, 74: -1, 80: 2, 81: -1, 82: -1, 83: 0, 93: 2, 95: 3, 96: 2, 97: 2, 103: -1, 105: -1, 106: -1, 107: 2, 108: -1, 109: 2, 110: 2,
}

// applyWord6 sets the properties in a list of Word 6. It does not read those of tables, which come last.
func (p *properties) applyWord6(b []byte) {
	const symbol, lastRead = 74, 118
	for len(b) >= 2 && b[0] <= lastRead {
		code := b[0]
		size, known := word6Sizes[code]
		if !known {
			size = 1
		}
		b = b[1:]
		if size < 0 {
			size, b = int(b[0]), b[1:]
		}
		if size > len(b) {
			return
		}
		switch operand := b[:size]; {
		case code == symbol && size >= 3:
			p.signFont, p.sign = int(binary.LittleEndian.Uint16(operand)), int(operand[2])
		case word6Codes[code] != 0:
			p.set(word6Codes[code], operand)
		}
		b = b[size:]
	}
}
