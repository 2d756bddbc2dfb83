package lexical

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"slices"
)

// errCorrupt says that the bytes are not a segment of this generation.
var errCorrupt = errors.New("lexical segment is damaged or of another generation")

// Segment is a readable segment. It is immutable and safe for concurrent use.
type Segment struct {
	revisions  []revision
	chunks     int
	terms      int
	total      uint64
	lengths    []byte // uint16 each
	pages      []byte // uint32 each
	index      []byte
	dict, post []byte
	neighbours []byte    // per chunk: hasBefore, hasAfter
	window     []float32 // length of each chunk's window, with one extra element at both ends
	stretches  []stretch // ascending, up to the last chunk
}

// Open reads a segment written by Build or Merge. It retains data, which must not change.
func Open(data []byte) (*Segment, error) {
	if len(data) < len(magic)+4 || string(data[:len(magic)]) != magic {
		return nil, errCorrupt
	}
	body := data[:len(data)-4]
	if crc32.ChecksumIEEE(body) != binary.LittleEndian.Uint32(data[len(body):]) {
		return nil, errCorrupt
	}
	r := reader{data: body[len(magic):]}
	revisions, chunks, terms := r.uvarint(), r.uvarint(), r.uvarint()
	s := &Segment{chunks: int(chunks), terms: int(terms), total: r.uvarint()}
	dict, post := r.uvarint(), r.uvarint()
	if r.bad || revisions > uint64(len(data)) || chunks > uint64(len(data)) || terms > uint64(len(data)) {
		return nil, errCorrupt
	}
	s.revisions = make([]revision, revisions)
	id, first := int64(0), 0
	for i := range s.revisions {
		id += int64(r.uvarint())
		n := int(r.uvarint())
		s.revisions[i] = revision{id: id, first: first, chunks: n}
		first += n
	}
	s.lengths = r.take(uint64(s.chunks) * 2)
	s.pages = r.take(uint64(s.chunks) * 4)
	s.index = r.take(uint64(s.blocks()) * 8)
	s.dict = r.take(dict)
	s.post = r.take(post)
	if r.bad || len(r.data) != 0 || first != s.chunks {
		return nil, errCorrupt
	}
	s.openWindows()
	return s, nil
}

// reader reads values from the front of data; bad is set when data is too short.
type reader struct {
	data []byte
	bad  bool
}

func (r *reader) uvarint() uint64 {
	if len(r.data) > 0 && r.data[0] < 0x80 { // true of nearly all numbers
		v := r.data[0]
		r.data = r.data[1:]
		return uint64(v)
	}
	v, n := binary.Uvarint(r.data)
	if n <= 0 {
		r.bad = true
		return 0
	}
	r.data = r.data[n:]
	return v
}

func (r *reader) take(n uint64) []byte {
	if n > uint64(len(r.data)) {
		r.bad = true
		return nil
	}
	b := r.data[:n:n]
	r.data = r.data[n:]
	return b
}

// Bytes returns about how much memory the segment takes.
func (s *Segment) Bytes() int64 {
	data := len(s.lengths) + len(s.pages) + len(s.index) + len(s.dict) + len(s.post)
	return int64(data + len(s.neighbours) + 4*len(s.window) + 24*len(s.revisions) + 16*len(s.stretches))
}

// Chunks returns the number of chunks in the segment.
func (s *Segment) Chunks() int { return s.chunks }

// Len returns the number of revisions that the segment covers.
func (s *Segment) Len() int { return len(s.revisions) }

// Revisions returns the ids of the revisions that the segment covers, ascending.
func (s *Segment) Revisions() []int64 {
	ids := make([]int64, len(s.revisions))
	for i, r := range s.revisions {
		ids[i] = r.id
	}
	return ids
}

// Revision returns the nth revision of Revisions.
func (s *Segment) Revision(n int) int64 { return s.revisions[n].id }

// Find returns the position of a revision in Revisions, and whether the segment covers it.
func (s *Segment) Find(revision int64) (int, bool) {
	return slices.BinarySearchFunc(s.revisions, revision, compareID)
}

func compareID(r revision, id int64) int {
	switch {
	case r.id < id:
		return -1
	case r.id > id:
		return 1
	}
	return 0
}

func (s *Segment) length(doc int) uint16 {
	return binary.LittleEndian.Uint16(s.lengths[doc*2:])
}

func (s *Segment) page(doc int) uint32 {
	return binary.LittleEndian.Uint32(s.pages[doc*4:])
}

// Page returns the page on which a chunk begins, 0 if there is none.
func (s *Segment) Page(revision int64, ordinal int) int {
	n, ok := s.Find(revision)
	if !ok || ordinal < 0 || ordinal >= s.revisions[n].chunks {
		return 0
	}
	return int(s.page(s.revisions[n].first + ordinal))
}
