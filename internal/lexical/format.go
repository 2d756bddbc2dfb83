package lexical

import (
	"encoding/binary"
	"hash/crc32"
)

// The layout of a segment, little endian; "varint" is encoding/binary's unsigned varint:
//
//	magic [4]byte
//	revisions, chunks, terms, total length, size of the dictionary, size of the postings: varint
//	per revision: difference of id to the one before, number of chunks: varint
//	per chunk: length in words uint16
//	per chunk: page uint32
//	block index: per block of blockSize terms: offset into the dictionary, into the postings: uint32 ×2
//	dictionary: per term: shared prefix with the one before (0 at a block's start), length of the
//	  rest, the rest, df, size of its postings: varint
//	postings: see appendPosting
//	CRC-32 (IEEE) of all before it uint32
const (
	magic     = "PLX1"
	blockSize = 16
)

// revision is the position of a revision in a segment.
type revision struct {
	id     int64
	first  int // index of its first chunk in the segment
	chunks int
}

// chunkTable is the part of a segment that describes its chunks.
type chunkTable struct {
	revisions []revision
	lengths   []uint16 // in words
	pages     []uint32
	total     uint64 // the sum of lengths
}

// begin opens a revision; the chunks added next belong to it.
func (c *chunkTable) begin(id int64) {
	c.revisions = append(c.revisions, revision{id: id, first: len(c.lengths)})
}

func (c *chunkTable) add(length uint16, page uint32) {
	c.revisions[len(c.revisions)-1].chunks++
	c.lengths = append(c.lengths, length)
	c.pages = append(c.pages, page)
	c.total += uint64(length)
}

// dictionary is the part of a segment that maps terms to chunks.
type dictionary struct {
	terms             int
	last              []byte // the term added last
	index, dict, post []byte
}

// add appends a term, which must be greater than all others, with its postings.
func (d *dictionary) add(term []byte, df int, post []byte) {
	if d.terms%blockSize == 0 {
		d.index = binary.LittleEndian.AppendUint32(d.index, uint32(len(d.dict)))
		d.index = binary.LittleEndian.AppendUint32(d.index, uint32(len(d.post)))
		d.last = d.last[:0]
	}
	shared := commonPrefix(d.last, term)
	d.dict = binary.AppendUvarint(d.dict, uint64(shared))
	d.dict = binary.AppendUvarint(d.dict, uint64(len(term)-shared))
	d.dict = append(d.dict, term[shared:]...)
	d.dict = binary.AppendUvarint(d.dict, uint64(df))
	d.dict = binary.AppendUvarint(d.dict, uint64(len(post)))
	d.post = append(d.post, post...)
	d.last = append(d.last[:shared], term[shared:]...)
	d.terms++
}

func commonPrefix[A, B []byte | string](a A, b B) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// appendPosting appends a chunk that contains the term tf times. gap is its distance from the
// previous chunk of the list (from -1 for the first). The gap is shifted by one bit, which says
// whether tf is 1; any other tf follows.
func appendPosting(post []byte, gap int, tf uint32) []byte {
	if tf == 1 {
		return binary.AppendUvarint(post, uint64(gap)<<1|1)
	}
	post = binary.AppendUvarint(post, uint64(gap)<<1)
	return binary.AppendUvarint(post, uint64(tf))
}

// encode returns the bytes of a segment.
func encode(c *chunkTable, d *dictionary) []byte {
	size := len(magic) + 64 + len(c.revisions)*12 + len(c.lengths)*6 + len(d.index) + len(d.dict) + len(d.post) + 4
	out := append(make([]byte, 0, size), magic...)
	for _, n := range []uint64{uint64(len(c.revisions)), uint64(len(c.lengths)), uint64(d.terms),
		c.total, uint64(len(d.dict)), uint64(len(d.post))} {
		out = binary.AppendUvarint(out, n)
	}
	last := int64(0)
	for _, r := range c.revisions {
		out = binary.AppendUvarint(out, uint64(r.id-last))
		out = binary.AppendUvarint(out, uint64(r.chunks))
		last = r.id
	}
	for _, l := range c.lengths {
		out = binary.LittleEndian.AppendUint16(out, l)
	}
	for _, p := range c.pages {
		out = binary.LittleEndian.AppendUint32(out, p)
	}
	out = append(append(append(out, d.index...), d.dict...), d.post...)
	return binary.LittleEndian.AppendUint32(out, crc32.ChecksumIEEE(out))
}
