package lexical

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"iter"
	"sort"
	"unsafe"
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
	first      []bool    // per chunk, and one more: it begins a revision
	window     []float32 // per chunk: length of its window
}

// Open reads a segment that Build or Merge wrote. It keeps data, which must not change.
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
	blocks := (s.terms + blockSize - 1) / blockSize
	s.lengths = r.take(uint64(s.chunks) * 2)
	s.pages = r.take(uint64(s.chunks) * 4)
	s.index = r.take(uint64(blocks) * 8)
	s.dict = r.take(dict)
	s.post = r.take(post)
	if r.bad || len(r.data) != 0 || first != s.chunks {
		return nil, errCorrupt
	}
	s.openWindows()
	return s, nil
}

// reader takes values off the front of data; bad is set once it runs out.
type reader struct {
	data []byte
	bad  bool
}

func (r *reader) uvarint() uint64 {
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

// Chunks returns the number of chunks in the segment.
func (s *Segment) Chunks() int { return s.chunks }

// Revisions returns the ids of the revisions that the segment covers, ascending.
func (s *Segment) Revisions() []int64 {
	ids := make([]int64, len(s.revisions))
	for i, r := range s.revisions {
		ids[i] = r.id
	}
	return ids
}

func (s *Segment) length(doc int) uint16 {
	return binary.LittleEndian.Uint16(s.lengths[doc*2:])
}

func (s *Segment) page(doc int) uint32 {
	return binary.LittleEndian.Uint32(s.pages[doc*4:])
}

// entry is a term's line of the dictionary.
type entry struct {
	term []byte // valid only until the next one is read
	df   int
	post []byte
}

// find returns the entry of a term.
func (s *Segment) find(term string) (entry, bool) {
	blocks := len(s.index) / 8
	i := sort.Search(blocks, func(i int) bool { return s.blockStart(i) > term }) - 1
	if i < 0 {
		return entry{}, false
	}
	for e := range s.block(i) {
		if string(e.term) == term {
			return e, true
		}
		if string(e.term) > term {
			break
		}
	}
	return entry{}, false
}

// blockStart returns the first term of a block, which is stored whole.
func (s *Segment) blockStart(i int) string {
	d := s.dict[binary.LittleEndian.Uint32(s.index[i*8:]):]
	_, n := binary.Uvarint(d)
	size, m := binary.Uvarint(d[n:])
	return unsafe.String(unsafe.SliceData(d[n+m:]), int(size))
}

// block ranges over the entries of one block in order.
func (s *Segment) block(i int) iter.Seq[entry] {
	return func(yield func(entry) bool) {
		r := reader{data: s.dict[binary.LittleEndian.Uint32(s.index[i*8:]):]}
		post := s.post[binary.LittleEndian.Uint32(s.index[i*8+4:]):]
		var term []byte
		for range min(blockSize, s.terms-i*blockSize) {
			shared := int(r.uvarint())
			term = append(term[:shared], r.take(r.uvarint())...)
			df, size := int(r.uvarint()), r.uvarint()
			if !yield(entry{term: term, df: df, post: post[:size:size]}) {
				return
			}
			post = post[size:]
		}
	}
}

// all ranges over all entries in order of terms.
func (s *Segment) all() iter.Seq[entry] {
	return func(yield func(entry) bool) {
		for i := range len(s.index) / 8 {
			for e := range s.block(i) {
				if !yield(e) {
					return
				}
			}
		}
	}
}

// decode calls f for each chunk of a postings list with the term's frequency in it.
func decode(post []byte, f func(doc int, tf uint32)) {
	doc := -1
	for len(post) > 0 {
		v, n := binary.Uvarint(post)
		post = post[n:]
		doc += int(v >> 1)
		tf := uint32(1)
		if v&1 == 0 {
			t, n := binary.Uvarint(post)
			post = post[n:]
			tf = uint32(t)
		}
		f(doc, tf)
	}
}

// Merge returns one segment that covers the revisions of all segments that keep returns true
// for, and whether any are left.
func Merge(segments []*Segment, keep func(revision int64) bool) ([]byte, bool) {
	b := newBuilder()
	type source struct{ segment, first, chunks int }
	var from []struct {
		id int64
		source
	}
	for i, s := range segments {
		for _, r := range s.revisions {
			if keep(r.id) {
				from = append(from, struct {
					id int64
					source
				}{r.id, source{i, r.first, r.chunks}})
			}
		}
	}
	if len(from) == 0 {
		return nil, false
	}
	sort.Slice(from, func(i, j int) bool { return from[i].id < from[j].id })

	// moved[i][d] is where chunk d of segment i goes, -1 when it is dropped.
	moved := make([][]int32, len(segments))
	for i, s := range segments {
		moved[i] = make([]int32, s.chunks)
		for d := range moved[i] {
			moved[i][d] = -1
		}
	}
	for _, f := range from {
		b.revisions = append(b.revisions, revision{id: f.id, first: len(b.lengths), chunks: f.chunks})
		for d := f.first; d < f.first+f.chunks; d++ {
			moved[f.segment][d] = int32(len(b.lengths))
			l := segments[f.segment].length(d)
			b.lengths = append(b.lengths, l)
			b.total += uint64(l)
			b.pages = append(b.pages, segments[f.segment].page(d))
		}
	}
	b.mergeTerms(segments, moved)
	return b.bytes(), true
}

// mergeTerms adds the postings of all segments with their chunks renumbered.
func (b *builder) mergeTerms(segments []*Segment, moved [][]int32) {
	type posting struct {
		doc int32
		tf  uint32
	}
	all := make(map[string][]posting)
	for i, s := range segments {
		for e := range s.all() {
			list := all[string(e.term)]
			decode(e.post, func(doc int, tf uint32) {
				if to := moved[i][doc]; to >= 0 {
					list = append(list, posting{to, tf})
				}
			})
			if len(list) > 0 {
				all[string(e.term)] = list
			}
		}
	}
	for term, list := range all {
		sort.Slice(list, func(i, j int) bool { return list[i].doc < list[j].doc })
		for _, p := range list {
			b.posting(term, int(p.doc), p.tf)
		}
		delete(all, term)
	}
}
