package lexical

import (
	"bytes"
	"encoding/binary"
	"sort"
)

// entry is the dictionary entry of a term.
type entry struct {
	df   int
	post []byte
}

// blocks returns the number of blocks of the dictionary.
func (s *Segment) blocks() int { return (s.terms + blockSize - 1) / blockSize }

// blockStart returns the first term of a block, which is stored in full.
func (s *Segment) blockStart(block int) []byte {
	d := s.dict[s.dictOffset(block):]
	if len(d) > 1 && d[0] == 0 && d[1] < 0x80 && len(d) >= 2+int(d[1]) { // true of all but very long terms
		return d[2 : 2+int(d[1])]
	}
	r := reader{data: d}
	r.uvarint()
	return r.take(r.uvarint())
}

func (s *Segment) dictOffset(block int) uint32 {
	return binary.LittleEndian.Uint32(s.index[block*8:])
}

func (s *Segment) postOffset(block int) uint32 {
	return binary.LittleEndian.Uint32(s.index[block*8+4:])
}

// find returns the entry of a term. It allocates nothing.
func (s *Segment) find(term string) (entry, bool) {
	block := sort.Search(s.blocks(), func(i int) bool { return string(s.blockStart(i)) > term }) - 1
	if block < 0 {
		return entry{}, false
	}
	r := reader{data: s.dict[s.dictOffset(block):]}
	post := int(s.postOffset(block))
	// Terms read so far are less than term, and the last of them shares common bytes with it. The
	// shared prefix of the next term therefore decides the comparison.
	common := 0
	for range min(blockSize, s.terms-block*blockSize) {
		shared := int(r.uvarint())
		rest := r.take(r.uvarint())
		df, size := int(r.uvarint()), int(r.uvarint())
		if shared < common {
			return entry{}, false // it differs earlier, so it is greater
		}
		if shared == common {
			n := commonPrefix(rest, term[common:])
			common += n
			switch {
			case common == len(term) && n == len(rest):
				return entry{df: df, post: s.post[post : post+size : post+size]}, true
			case common == len(term) || n < len(rest) && rest[n] > term[common]:
				return entry{}, false
			}
		}
		post += size
	}
	return entry{}, false
}

// cursor walks over the entries of a dictionary in the order of terms.
type cursor struct {
	entry
	term []byte // valid until the next step

	left int // entries not yet read
	dict reader
	rest []byte // postings not yet read
}

// cursor returns a cursor before the first entry of a block.
func (s *Segment) cursor(block int) cursor {
	if block >= s.blocks() {
		return cursor{}
	}
	return cursor{
		left: s.terms - block*blockSize,
		dict: reader{data: s.dict[s.dictOffset(block):]},
		rest: s.post[s.postOffset(block):],
	}
}

// next steps to the next entry, and returns false when there is none.
func (c *cursor) next() bool {
	if c.left == 0 {
		return false
	}
	c.left--
	shared := int(c.dict.uvarint())
	c.term = append(c.term[:shared], c.dict.take(c.dict.uvarint())...)
	c.df = int(c.dict.uvarint())
	size := c.dict.uvarint()
	c.post = c.rest[:size:size]
	c.rest = c.rest[size:]
	return true
}

// from returns a cursor at the first entry whose term is not less than the given one, or a few
// entries before.
func (s *Segment) from(term []byte) cursor {
	block := sort.Search(s.blocks(), func(i int) bool { return bytes.Compare(s.blockStart(i), term) >= 0 })
	return s.cursor(max(block-1, 0))
}

// posting is one chunk of a postings list with the frequency of the term.
type posting struct {
	doc int
	tf  uint32
}

// list reads a postings list from its front.
type list struct {
	post []byte
	doc  int // the chunk read last, -1 at first
}

func newList(post []byte) list { return list{post: post, doc: -1} }

// next returns the next posting, and false at the end.
func (l *list) next() (posting, bool) {
	if len(l.post) == 0 {
		return posting{}, false
	}
	v, n := binary.Uvarint(l.post)
	tf := uint64(1)
	if v&1 == 0 {
		var m int
		tf, m = binary.Uvarint(l.post[n:])
		n += m
	}
	l.post = l.post[n:]
	l.doc += int(v >> 1)
	return posting{l.doc, uint32(tf)}, true
}
