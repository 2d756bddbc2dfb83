package webapi

// offsets converts byte offsets of a text to the UTF-16 code units that JavaScript counts, and back.
type offsets struct{ s string }

// units returns the number of code units before a byte of the text.
func (o offsets) units(at int) int {
	n := 0
	for _, r := range o.s[:min(max(at, 0), len(o.s))] {
		n += unitsOf(r)
	}
	return n
}

// bytes returns the byte offset after a number of code units. It is at most the length of the text, and
// the beginning of a character that would be cut.
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
	const beyond = 0x10000 // the first code point that needs a surrogate pair; invalid UTF-8 counts as U+FFFD
	if r >= beyond {
		return 2
	}
	return 1
}
