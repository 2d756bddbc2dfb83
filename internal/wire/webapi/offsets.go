package webapi

// offsets turns bytes of a text into the UTF-16 code units that JavaScript counts, and back.
type offsets struct{ s string }

// units returns the code units before a byte of the text.
func (o offsets) units(at int) int {
	n := 0
	for _, r := range o.s[:min(max(at, 0), len(o.s))] {
		n += unitsOf(r)
	}
	return n
}

// bytes returns the byte of the text that is so many code units in: its length when it has no more,
// and the beginning of a character that would be cut.
func (o offsets) bytes(units int) int {
	for i, r := range o.s {
		if units < unitsOf(r) {
			return i
		}
		units -= unitsOf(r)
	}
	return len(o.s)
}

func unitsOf(r rune) int {
	const beyond = 0x10000 // what takes a surrogate pair; a byte that is no UTF-8 comes out as U+FFFD
	if r >= beyond {
		return 2
	}
	return 1
}
