package office97

import (
	"encoding/binary"
	"strconv"
	"strings"

	"parley/internal/extract/codepage"
	"parley/internal/extract/compose"
)

// le16 returns the two-byte number at a place, or 0 beyond the end.
func le16(b []byte, at int) int {
	if at < 0 || at+2 > len(b) {
		return 0
	}
	return int(binary.LittleEndian.Uint16(b[at:]))
}

// le32 returns the four-byte number at a place, or 0 beyond the end.
func le32(b []byte, at int) int {
	if at < 0 || at+4 > len(b) {
		return 0
	}
	return int(int32(binary.LittleEndian.Uint32(b[at:])))
}

// from returns the bytes from a place on, or none beyond the end.
func from(b []byte, at int) []byte {
	if at < 0 || at > len(b) {
		return nil
	}
	return b[at:]
}

// wideText decodes count characters of two bytes each.
func wideText(b []byte, count int) string {
	return codepage.UTF16(b[:min(len(b), 2*max(count, 0))])
}

// docStyle holds the properties that a style gives its paragraphs.
type docStyle struct {
	base int
	properties
}

// The built-in styles that are headings (MS-DOC 2.9.260, sti).
const (
	stiHeading1 = 1
	stiHeading9 = 9
	stiTitle    = 62
)

// stylesOf reads the styles (MS-DOC 2.9.271).
func stylesOf(b []byte) []docStyle {
	head := from(b, 2)
	count, baseSize := le16(head, 0), le16(head, 2)
	b = from(head, le16(b, 0))
	var styles []docStyle
	for i := 0; i < count && len(b) >= 2; i++ {
		size := le16(b, 0)
		std := from(b, 2)
		std = std[:min(size, len(std))]
		b = from(b, 2+size)
		style := docStyle{base: le16(std, 2) >> 4}
		const isParagraph = 1
		if len(std) > baseSize && le16(std, 2)&0xf == isParagraph {
			rest := from(std, baseSize+2+2*(le16(std, baseSize)+1)) // after the name
			upx := from(rest, 2)
			if upx = upx[:min(le16(rest, 0), len(upx))]; len(upx) > 2 {
				style.apply(upx[2:])
			}
			switch sti := le16(std, 0) & 0xfff; {
			case sti >= stiHeading1 && sti <= stiHeading9:
				style.heading = sti
			case sti == stiTitle:
				style.heading = 1
			}
		}
		styles = append(styles, style)
	}
	return styles
}

// inherit completes the properties of a paragraph with those of its style and of the styles on which that is based.
func (p properties) inherit(styles []docStyle) properties {
	at := p.style
	for range 12 { // longer chains are cycles
		if at >= len(styles) {
			break
		}
		style := styles[at]
		if p.heading == 0 {
			p.heading = style.heading
		}
		if !p.hasList && style.hasList {
			p.hasList, p.list = true, style.list
			p.level = max(p.level, style.level)
		}
		at = style.base
	}
	return p
}

// fontsOf reads the names of the fonts (MS-DOC 2.9.282, 2.9.81).
func fontsOf(b []byte) []string {
	const nameAt = 39
	count := le16(b, 0)
	b = from(b, 4)
	var names []string
	for i := 0; i < count && len(b) > 0; i++ {
		font := from(b, 1)
		font = font[:min(int(b[0]), len(font))]
		name := wideText(from(font, nameAt), len(font))
		name, _, _ = strings.Cut(name, "\x00")
		names = append(names, name)
		b = from(b, 1+int(b[0]))
	}
	return names
}

// listFormats are the names that newer versions of Word have for the formats of numbers (MS-OSHARED 2.2.1.3).
var listFormats = map[byte]string{0: "decimal", 1: "upperRoman", 2: "lowerRoman", 3: "upperLetter", 4: "lowerLetter", 22: "decimalZero", 23: "bullet", 255: "none"}

// maxLists is the maximum number of lists of a document.
const maxLists = 20_000

// numberingOf reads the lists of a document (MS-DOC 2.9.132 and 2.9.131): tables is the stream of tables from the first list on.
func numberingOf(tables, overrides []byte) *compose.Numbering {
	const listSize, simple = 28, 1
	n := compose.NewNumbering()
	count := min(le16(tables, 0), maxLists)
	lists := from(tables, 2)
	rest := from(lists, count*listSize)
	for i := 0; i < count && len(rest) > 0; i++ {
		list := from(lists, i*listSize)
		if len(list) < listSize {
			break
		}
		var levels [9]compose.ListLevel
		number := len(levels)
		if list[26]&simple != 0 {
			number = 1
		}
		for at := range number {
			levels[at], rest = levelOf(rest)
		}
		n.Levels[strconv.Itoa(le32(list, 0))] = levels
	}
	addOverrides(n, overrides)
	return n
}

// levelOf reads the format of a level of a list (MS-DOC 2.9.150), and returns the bytes after it.
func levelOf(b []byte) (compose.ListLevel, []byte) {
	const headSize, legal = 28, 4
	if len(b) < headSize {
		return compose.ListLevel{}, nil
	}
	level := compose.ListLevel{Start: le32(b, 0), Format: listFormats[b[4]], Legal: b[5]&legal != 0}
	if level.Format == "" {
		level.Format = "decimal"
	}
	b = from(b, headSize+int(b[24])+int(b[25]))
	length := le16(b, 0)
	for _, c := range wideText(from(b, 2), length) {
		if c < 9 { // a placeholder for the number of a level
			level.Text += "%" + strconv.Itoa(int(c)+1)
			continue
		}
		level.Text += string(c)
	}
	return level, from(b, 2+2*length)
}

// addOverrides reads the table that maps the list numbers of paragraphs to lists (MS-DOC 2.9.133).
func addOverrides(n *compose.Numbering, b []byte) {
	const size, levelMask, hasStart, hasLevel = 16, 0xf, 0x10, 0x20
	count := min(le32(b, 0), maxLists)
	heads := from(b, 4)
	data := from(heads, max(count, 0)*size)
	for i := range max(count, 0) {
		head := from(heads, i*size)
		if len(head) < size {
			return
		}
		list := compose.NumberedList{Abstract: strconv.Itoa(le32(head, 0)), Starts: map[int]int{}}
		data = from(data, 4)
		for range head[12] {
			start, flags := le32(data, 0), le32(data, 4)
			data = from(data, 8)
			if flags&hasStart != 0 {
				list.Starts[min(flags&levelMask, 8)] = start
			}
			if flags&hasLevel != 0 {
				_, data = levelOf(data)
			}
		}
		n.Lists[strconv.Itoa(i+1)] = list
	}
}
