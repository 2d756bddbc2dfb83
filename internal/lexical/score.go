package lexical

import (
	"encoding/binary"
	"slices"
)

// The free parameters of BM25 (Robertson and Zaragoza 2009, section 3.4.1): how soon repetitions of
// a term stop counting, and how much a long text is penalised.
const (
	k1 = 1.2
	b  = 0.75
)

// neighbourShare is the weight of a word in an adjacent chunk, relative to one in the chunk itself.
// A chunk is scored as the middle of a window over its document, so that a question matches words
// on both sides of a chunk boundary. Neighbours count in the window's length with the same weight.
const neighbourShare = 0.4

// Bits that say whether the previous and the next chunk belong to the same revision.
const (
	hasBefore = 1
	hasAfter  = 2
)

// shares are the weights of a word for the previous chunk (hasBefore) and the next one (hasAfter).
var shares = [4]float32{hasBefore: neighbourShare, hasAfter: neighbourShare, hasBefore | hasAfter: neighbourShare}

// openWindows computes the length of each chunk's window, and splits the segment into stretches.
func (s *Segment) openWindows() {
	s.neighbours = make([]byte, s.chunks)
	for n, r := range s.revisions {
		end := r.first + r.chunks
		for i := r.first; i < end; i++ {
			if i > r.first {
				s.neighbours[i] |= hasBefore
			}
			if i < end-1 {
				s.neighbours[i] |= hasAfter
			}
		}
		if first := s.lastStretch(); end-first >= stretchSize || n == len(s.revisions)-1 && end > first {
			s.stretches = append(s.stretches, stretch{end: end, revisions: n + 1})
		}
	}
	s.window = make([]float32, s.chunks+2)
	for i := range s.chunks {
		n := float32(s.length(i))
		if s.neighbours[i]&hasBefore != 0 {
			n += neighbourShare * float32(s.length(i-1))
		}
		if s.neighbours[i]&hasAfter != 0 {
			n += neighbourShare * float32(s.length(i+1))
		}
		s.window[i+1] = n
	}
}

// stretchSize is the number of chunks that are scored for all terms of a query at a time: they fit the
// processor's cache with their data.
const stretchSize = 1 << 13

// stretch is a part of a segment that holds whole revisions.
type stretch struct{ end, revisions int } // ends, in chunks and revisions from the segment's beginning

// lastStretch returns the end of the last stretch.
func (s *Segment) lastStretch() int {
	if len(s.stretches) == 0 {
		return 0
	}
	return s.stretches[len(s.stretches)-1].end
}

// weight is a term's BM25 score as a function of its frequency tf in a window of a given length:
// factor · tf / (tf + base + slope · length).
type weight struct{ factor, base, slope float32 }

func newWeight(idf, average float64) weight {
	return weight{factor: float32(idf * (k1 + 1)), base: k1 * (1 - b), slope: float32(k1 * b / average)}
}

// scorer reads a postings list once, stretch by stretch.
type scorer struct {
	weight
	share float64 // weight of the term in the query
	post  []byte
	doc   int    // the chunk read last, -1 at first
	tf    uint32 // its frequency if it lies beyond the stretch, else 0
}

// scores is the working memory for a stretch. Each array has one extra element at both ends, so
// that every chunk has neighbours.
type scores struct {
	sums  []float32 // scores of the terms so far
	tfs   []float32 // frequencies of one term by window; 0 between terms
	holds []int32   // chunks that contain the term
}

// reset prepares for a stretch of n chunks.
func (t *scores) reset(n int) {
	if cap(t.sums) < n+2 {
		t.sums, t.tfs = make([]float32, n+2), make([]float32, n+2)
	}
	t.sums, t.tfs = t.sums[:n+2], t.tfs[:n+2]
	clear(t.sums)
}

// chunks returns the scores of the stretch's chunks.
func (t *scores) chunks() []float32 { return t.sums[1 : len(t.sums)-1] }

// score adds the term's score to each chunk of the stretch that begins at first and whose window
// contains the term.
//
// It first collects the frequencies in all windows. Computing a score while reading the list would
// stall on the next posting.
func (c *scorer) score(s *Segment, first int, t *scores) {
	c.read(s, first, t)
	w, sums, tfs := c.weight, t.sums, t.tfs
	window := s.window[first : first+len(sums)]
	tfs = tfs[:len(sums)]
	for _, i := range t.holds {
		for j := i; j < i+3; j++ {
			tf := tfs[j]
			tfs[j] = 0 // once for each window
			sums[j] += w.factor * tf / (tf + w.base + w.slope*window[j])
		}
	}
}

// forget drops the scores of the chunks of some revisions.
func (t *scores) forget(named []revision, first int) {
	for _, r := range named {
		clear(t.chunks()[r.first-first : r.first-first+r.chunks])
	}
}

// scoreWithin is score for the chunks of some revisions of the stretch, by how rare the term is in each of them.
func (c *scorer) scoreWithin(s *Segment, named []revision, first int, average float64, t *scores) {
	c.read(s, first, t)
	for _, r := range named {
		from, to := r.first-first, r.first-first+r.chunks
		begin, _ := slices.BinarySearch(t.holds, int32(from))
		end, _ := slices.BinarySearch(t.holds, int32(to))
		if begin == end {
			continue
		}
		w := newWeight(c.share*idf(end-begin, r.chunks), average)
		sums, window := t.chunks()[from:to], s.window[r.first+1:]
		for i, tf := range t.tfs[from+1 : to+1] {
			sums[i] += w.factor * tf / (tf + w.base + w.slope*window[i])
		}
	}
	for _, i := range t.holds {
		clear(t.tfs[i : i+3])
	}
}

// read reads the postings of a stretch.
func (c *scorer) read(s *Segment, first int, t *scores) {
	end := first + len(t.sums) - 2
	neighbours, tfs := s.neighbours[first:end], t.tfs
	post, doc, tf := c.post, c.doc, c.tf
	holds := t.holds[:0]
	for {
		if tf == 0 {
			if len(post) == 0 {
				break
			}
			var v uint64
			v, post = uvarint(post)
			tf = 1
			if v&1 == 0 {
				var n uint64
				n, post = uvarint(post)
				tf = uint32(n)
			}
			doc += int(v >> 1)
		}
		if doc >= end {
			break
		}
		i := doc - first
		n, f := neighbours[i], float32(tf)
		around := tfs[i : i+3 : i+3]
		around[0] += shares[n&hasBefore] * f
		around[1] += f
		around[2] += shares[n&hasAfter] * f
		holds = append(holds, int32(i))
		tf = 0
	}
	c.post, c.doc, c.tf, t.holds = post, doc, tf, holds
}

// uvarint removes a number from the front of data, which is not empty. Nearly all numbers have one
// or two bytes.
func uvarint(data []byte) (uint64, []byte) {
	if v := uint64(data[0]); v < 0x80 {
		return v, data[1:]
	} else if len(data) > 1 && data[1] < 0x80 {
		return v&0x7f | uint64(data[1])<<7, data[2:]
	}
	return longUvarint(data)
}

func longUvarint(data []byte) (uint64, []byte) {
	v, n := binary.Uvarint(data)
	return v, data[n:]
}
