package office97

import (
	"encoding/binary"
	"math"
	"slices"

	"parley/internal/extract/compose"
)

// properties holds the properties of characters and paragraphs that are read.
type properties struct {
	deleted        bool           // characters
	script         compose.Script // of characters
	font           int            // of characters
	sign, signFont int            // the sign that a parenthesis in the text represents, and its font; 0 for none

	style           int
	heading         int // from 1; 0 for none
	inTable, rowEnd bool
	hasList         bool // list and level are set
	list, level     int  // a list by its number from 1; 0 for none
}

// runs are ranges of bytes of the main stream with their properties, ascending.
type runs []run

type run struct {
	from, to int
	properties
}

// at returns the properties of a byte, and the place at which the next ones begin.
func (r runs) at(at int) (properties, int) {
	i, found := slices.BinarySearchFunc(r, at, func(r run, at int) int { return r.from - at })
	if !found {
		i--
	}
	switch {
	case i >= 0 && at < r[i].to:
		return r[i].properties, r[i].to
	case i+1 < len(r):
		return properties{}, r[i+1].from
	}
	return properties{}, math.MaxInt
}

// page is the size in bytes of a page of properties in the main stream.
const page = 512

// layout says how the properties of characters or paragraphs are stored.
type layout struct {
	paragraphs, word6 bool
	number            int // bytes of the number of a page
	place             int // bytes of the place of properties in a page
}

var (
	word97Chars = layout{number: 4, place: 1}
	word97Paras = layout{paragraphs: true, number: 4, place: 13}
	word6Chars  = layout{word6: true, number: 2, place: 1}
	word6Paras  = layout{paragraphs: true, word6: true, number: 2, place: 7}
)

// runsOf reads the properties of characters or paragraphs from the pages that a table lists (MS-DOC 2.8.5,
// 2.8.6, 2.9.33, 2.9.174).
func runsOf(main, table []byte, l layout) runs {
	n := (len(table) - 4) / (4 + l.number)
	var all runs
	for i := range max(n, 0) {
		number := make([]byte, 4)
		copy(number, table[4*(n+1)+l.number*i:][:l.number])
		at := int64(binary.LittleEndian.Uint32(number)&0x3fffff) * page
		if at+page > int64(len(main)) {
			continue
		}
		all = append(all, runsOfPage(main[at:at+page], l)...)
		if len(all) > len(main) { // pages are listed many times
			break
		}
	}
	slices.SortStableFunc(all, func(a, b run) int { return a.from - b.from })
	return all
}

func runsOfPage(b []byte, l layout) (found runs) {
	n := int(b[page-1])
	for i := range n {
		place := 4*(n+1) + i*l.place
		if place >= page-1 {
			break
		}
		r := run{from: int(binary.LittleEndian.Uint32(b[4*i:])), to: int(binary.LittleEndian.Uint32(b[4*i+4:]))}
		if at := 2 * int(b[place]); at > 0 {
			r.take(b[at:page-1], l)
		}
		found = append(found, r)
	}
	return found
}

// take reads the properties of a run, which begin with their length.
func (r *run) take(b []byte, l layout) {
	if len(b) < 2 {
		return
	}
	size := int(b[0])
	b = b[1:]
	if l.paragraphs {
		if size = 2*size - 1; size < 0 {
			size, b = 2*int(b[0]), b[1:]
		}
	}
	b = b[:min(size, len(b))]
	if l.paragraphs {
		if len(b) < 2 {
			return
		}
		const headings = 9 // the styles 1 to 9 are the headings of these levels
		r.style = int(binary.LittleEndian.Uint16(b))
		if r.style >= 1 && r.style <= headings {
			r.heading = r.style
		}
		b = b[2:]
	}
	if l.word6 {
		r.applyWord6(b)
		return
	}
	r.apply(b)
}

// apply sets the properties in a list.
func (p *properties) apply(b []byte) {
	for len(b) >= 3 {
		code := binary.LittleEndian.Uint16(b)
		operand := operandSize(code, b[2:])
		if 2+operand > len(b) {
			return
		}
		p.set(code, b[2:2+operand])
		b = b[2+operand:]
	}
}

// operandSize returns the number of bytes of the operand of a property, from the upper bits of its code (MS-DOC 2.6).
func operandSize(code uint16, rest []byte) int {
	const tableDefinition = 0xd608 // has a length of two bytes
	switch code >> 13 {
	case 0, 1:
		return 1
	case 2, 4, 5:
		return 2
	case 3:
		return 4
	case 7:
		return 3
	}
	if code == tableDefinition && len(rest) >= 2 {
		return 1 + int(binary.LittleEndian.Uint16(rest))
	}
	return 1 + int(rest[0])
}

// set sets one property (MS-DOC 2.6.1, 2.6.2).
func (p *properties) set(code uint16, operand []byte) {
	on := operand[0] != 0
	switch code {
	case 0x0800:
		p.deleted = on
	case 0x2a48:
		p.script = []compose.Script{compose.OnLine, compose.Raised, compose.Lowered}[operand[0]%3]
	case 0x4845: // raised by a number of half points
		if up := int(int16(binary.LittleEndian.Uint16(operand))); up != 0 {
			p.script = compose.Shift(up)
		}
	case 0x2416:
		p.inTable = on
	case 0x2417:
		p.rowEnd = on
	case 0x2640:
		if level := int(operand[0]); level < 9 {
			p.heading = level + 1
		}
	case 0x460b:
		p.hasList, p.list = true, int(int16(binary.LittleEndian.Uint16(operand)))
	case 0x260a:
		p.level = int(operand[0])
	case 0x4a4f:
		p.font = int(binary.LittleEndian.Uint16(operand))
	case 0x6a09:
		p.signFont, p.sign = int(binary.LittleEndian.Uint16(operand)), int(binary.LittleEndian.Uint16(operand[2:]))
	}
}
