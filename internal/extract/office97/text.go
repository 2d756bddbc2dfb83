package office97

import (
	"encoding/binary"
	"strings"
	"unicode/utf16"
)

// text reads the strings of Excel 97 and later (MS-XLS 2.5.293) from a record and the records that continue it. If the
// characters of a string continue in the next record, that record begins with their width.
type text struct {
	segments [][]byte
}

func newText(b []byte) *text { return &text{[][]byte{b}} }

func (t *text) isAtEnd() bool {
	t.skipEmpty()
	return len(t.segments) == 0
}

func (t *text) skipEmpty() {
	for len(t.segments) > 0 && len(t.segments[0]) == 0 {
		t.segments = t.segments[1:]
	}
}

// take returns the next bytes, at most n and none beyond the current record.
func (t *text) take(n int) []byte {
	t.skipEmpty()
	if len(t.segments) == 0 {
		return nil
	}
	n = min(n, len(t.segments[0]))
	b := t.segments[0][:n]
	t.segments[0] = t.segments[0][n:]
	return b
}

// number reads an unsigned number of size bytes; missing bytes are 0.
func (t *text) number(size int) int {
	var b [8]byte
	for got := 0; got < size; {
		part := t.take(size - got)
		if len(part) == 0 {
			break
		}
		got += copy(b[got:], part)
	}
	return int(binary.LittleEndian.Uint64(b[:]))
}

// skip skips n bytes.
func (t *text) skip(n int) {
	for n > 0 {
		part := t.take(n)
		if len(part) == 0 {
			return
		}
		n -= len(part)
	}
}

// The flags of a string.
const (
	isWide   = 1
	hasExtra = 4 // pronunciation
	hasRuns  = 8 // fonts
)

// sized reads a string after its number of characters, which takes size bytes.
func (t *text) sized(size int) string {
	count := t.number(size)
	flags := t.number(1)
	runs, extra := 0, 0
	if flags&hasRuns != 0 {
		runs = t.number(2)
	}
	if flags&hasExtra != 0 {
		extra = t.number(4)
	}
	s := t.characters(count, flags)
	t.skip(4 * runs)
	t.skip(extra)
	return s
}

func (t *text) characters(count, flags int) string {
	var b strings.Builder
	for count > 0 {
		if len(t.segments) == 0 {
			break
		}
		if len(t.segments[0]) == 0 {
			t.skipEmpty()
			flags = t.number(1)
			if t.isAtEnd() {
				break
			}
			continue
		}
		width := 1 + flags&isWide
		part := t.take(count * width)
		if len(part) < width {
			continue
		}
		count -= len(part) / width
		writeCharacters(&b, part, width)
	}
	return b.String()
}

// writeCharacters decodes UTF-16, whose upper bytes may be left out.
func writeCharacters(b *strings.Builder, part []byte, width int) {
	units := make([]uint16, 0, len(part)/width)
	for i := 0; i+width <= len(part); i += width {
		u := uint16(part[i])
		if width == 2 {
			u = binary.LittleEndian.Uint16(part[i:])
		}
		units = append(units, u)
	}
	b.WriteString(string(utf16.Decode(units)))
}
