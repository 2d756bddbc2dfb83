// Package lexical is a BM25 index in immutable segments.
//
// A segment covers whole revisions of documents and is one block of bytes, so that a store can
// commit it together with the chunks that it covers. A Reader searches any number of segments at
// once; which revisions count is the caller's choice at each search, so that a deletion or a
// change of rights needs no new segment. Term statistics include what a reader does not see,
// until a merge drops the revisions that are gone, as in Lucene.
package lexical

import (
	"encoding/binary"
	"hash/crc32"
	"slices"
	"strings"

	"parley/internal/text"
)

// Generation names the analyser and the segment format. Segments of another generation cannot
// be read and must be built again.
const Generation = "lex1"

// Chunk is one unit to index. Chunks of one revision are numbered from 0 by their order.
type Chunk struct {
	Body   string   // what is quoted
	Titles []string // title and file name of the document, which count like the body
	Name   string   // file name of the document, found as a whole when a query spells it out
	Page   int      // the page on which it begins, 0 when there are none
}

// Revision is one version of a document with its chunks in order.
type Revision struct {
	ID     int64
	Chunks []Chunk
}

// Build returns a segment that covers the given revisions, which must ascend by ID.
func Build(revisions []Revision) []byte {
	b := newBuilder()
	counts := make(map[string]uint32)
	for _, rev := range revisions {
		b.revisions = append(b.revisions, revision{id: rev.ID, first: len(b.lengths), chunks: len(rev.Chunks)})
		for _, c := range rev.Chunks {
			clear(counts)
			length := count(counts, c.Body)
			for _, t := range c.Titles {
				length += count(counts, t)
			}
			if name := Phrase(text.Analyze(c.Name)); name != "" {
				counts[name] = 1
			}
			b.add(counts, length, c.Page)
		}
	}
	return b.bytes()
}

// count adds the terms of s to counts and returns how many words that were.
func count(counts map[string]uint32, s string) int {
	words, end := 0, -1
	for _, t := range text.Analyze(s) {
		if t.Stop {
			continue
		}
		counts[t.Term]++
		if t.Start >= end { // the parts of an identifier do not lengthen the text
			words++
			end = t.End
		}
	}
	return words
}

// Phrase returns the term under which several words are indexed as a whole, "" for fewer than two.
func Phrase(tokens []text.Token) string {
	var words []string
	for _, t := range tokens {
		if t.Parts == 0 {
			words = append(words, t.Term)
		}
	}
	if len(words) < 2 {
		return ""
	}
	return strings.Join(words, " ")
}

type revision struct {
	id     int64
	first  int // index of its first chunk in the segment
	chunks int
}

// builder collects postings in memory; documents come in ascending order.
type builder struct {
	revisions []revision
	lengths   []uint16
	pages     []uint32
	total     uint64
	terms     map[string]*postings
}

type postings struct {
	df   int
	last int // the last chunk added
	data []byte
}

func newBuilder() *builder { return &builder{terms: make(map[string]*postings)} }

// add appends one chunk.
func (b *builder) add(counts map[string]uint32, length, page int) {
	doc := len(b.lengths)
	b.pages = append(b.pages, uint32(page))
	b.lengths = append(b.lengths, uint16(min(length, 1<<16-1)))
	b.total += uint64(min(length, 1<<16-1))
	for term, tf := range counts {
		b.posting(term, doc, tf)
	}
}

func (b *builder) posting(term string, doc int, tf uint32) {
	p := b.terms[term]
	if p == nil {
		p = &postings{last: -1}
		b.terms[term] = p
	}
	// The gap to the chunk before, shifted by one bit that says whether the term occurs once.
	gap := uint64(doc-p.last) << 1
	if tf == 1 {
		p.data = binary.AppendUvarint(p.data, gap|1)
	} else {
		p.data = binary.AppendUvarint(p.data, gap)
		p.data = binary.AppendUvarint(p.data, uint64(tf))
	}
	p.last = doc
	p.df++
}

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
//	postings: see builder.posting
//	CRC-32 (IEEE) of all before it uint32
const (
	magic     = "PLX1"
	blockSize = 16
)

func (b *builder) bytes() []byte {
	names := make([]string, 0, len(b.terms))
	for t := range b.terms {
		names = append(names, t)
	}
	slices.Sort(names)

	var dict, post, index []byte
	prev := ""
	for i, t := range names {
		if i%blockSize == 0 {
			index = binary.LittleEndian.AppendUint32(index, uint32(len(dict)))
			index = binary.LittleEndian.AppendUint32(index, uint32(len(post)))
			prev = ""
		}
		p := b.terms[t]
		shared := commonPrefix(prev, t)
		dict = binary.AppendUvarint(dict, uint64(shared))
		dict = binary.AppendUvarint(dict, uint64(len(t)-shared))
		dict = append(dict, t[shared:]...)
		dict = binary.AppendUvarint(dict, uint64(p.df))
		dict = binary.AppendUvarint(dict, uint64(len(p.data)))
		post = append(post, p.data...)
		prev = t
	}

	out := make([]byte, 0, len(magic)+64+len(b.lengths)*6+len(index)+len(dict)+len(post)+4)
	out = append(out, magic...)
	for _, n := range []uint64{uint64(len(b.revisions)), uint64(len(b.lengths)), uint64(len(names)),
		b.total, uint64(len(dict)), uint64(len(post))} {
		out = binary.AppendUvarint(out, n)
	}
	last := int64(0)
	for _, r := range b.revisions {
		out = binary.AppendUvarint(out, uint64(r.id-last))
		out = binary.AppendUvarint(out, uint64(r.chunks))
		last = r.id
	}
	for _, l := range b.lengths {
		out = binary.LittleEndian.AppendUint16(out, l)
	}
	for _, p := range b.pages {
		out = binary.LittleEndian.AppendUint32(out, p)
	}
	out = append(append(append(out, index...), dict...), post...)
	return binary.LittleEndian.AppendUint32(out, crc32.ChecksumIEEE(out))
}

func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
