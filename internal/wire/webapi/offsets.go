package webapi

// offsets converts between byte offsets in a text and offsets in UTF-16 code units, which JavaScript uses.
type offsets struct{ s string }

// units returns the number of code units before a byte offset.
func (o offsets) units(at int) int {
	n := 0
	for _, r := range o.s[:min(max(at, 0), len(o.s))] {
		n += unitsOf(r)
	}
	return n
}

// bytes returns the byte offset after a number of code units, at most the length of the text. If the offset
// would be inside a character, it returns the beginning of that character.
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
