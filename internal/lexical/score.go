package lexical

import "encoding/binary"

// The free parameters of BM25 (Robertson and Zaragoza 2009, section 3.4.1): how fast repeats of a
// term stop counting, and how much a long text is held against it.
const (
	k1 = 1.2
	b  = 0.75
)

// neighbourShare is what a word in the chunk before or after counts, relative to one in the chunk
// itself: a chunk is scored as the middle of a window over its document, so that cutting a text
// into chunks does not part the words of a question that stand on both sides of a cut. Its length
// counts neighbours to the same share.
const neighbourShare = 0.4

// Whether the chunk before or after a chunk belongs to the same revision, as bits.
const (
	hasBefore = 1
	hasAfter  = 2
)

// shares is what a word counts for the chunk before by hasBefore, and for the one after by hasAfter.
var shares = [4]float32{hasBefore: neighbourShare, hasAfter: neighbourShare, hasBefore | hasAfter: neighbourShare}

// openWindows computes the length of each chunk's window, and cuts the segment into stretches.
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

// stretchSize is how many chunks are scored for all terms of a query before the next ones are: as
// many as fit the processor's cache with all that is read of them.
const stretchSize = 1 << 13

// stretch is a part of a segment that holds whole revisions.
type stretch struct{ end, revisions int } // of chunks and revisions, from the segment's beginning

// lastStretch returns the end of the last stretch.
func (s *Segment) lastStretch() int {
	if len(s.stretches) == 0 {
		return 0
	}
	return s.stretches[len(s.stretches)-1].end
}

// weight is a term's BM25 share as a function of its frequency tf in a window of a given length:
// factor · tf / (tf + base + slope · length).
type weight struct{ factor, base, slope float32 }

func newWeight(idf, average float64) weight {
	return weight{factor: float32(idf * (k1 + 1)), base: k1 * (1 - b), slope: float32(k1 * b / average)}
}

// scorer reads a postings list once, stretch by stretch.
type scorer struct {
	weight
	post []byte
	doc  int    // the chunk read last, -1 at first
	tf   uint32 // its posting when it is beyond the stretch, else 0
}

// score adds the term's share to the score of each chunk of a stretch whose window holds it. The
// stretch begins at first, and scores has one number before and one behind those of its chunks, so
// that every window has both its neighbours.
//
// Postings ascend, so only the windows around the last chunk read can still change: before, at
// and after hold the term's frequency in the windows of the chunks last-1, last and last+1.
func (c *scorer) score(s *Segment, first int, scores []float32) {
	w, end := c.weight, first+len(scores)-2
	window, neighbours := s.window[first:end+2], s.neighbours[first:end]
	scores = scores[:len(window)]
	add := func(i int, tf float32) { scores[i] += w.factor * tf / (tf + w.base + w.slope*window[i]) }
	post, doc, tf := c.post, c.doc, c.tf
	last := 1 // like all that follow from the stretch's beginning, and one more
	var before, at, after float32
	for {
		if tf == 0 { // read the next posting
			if len(post) == 0 {
				break
			}
			v := uint64(post[0])
			if v < 0x80 {
				post = post[1:]
			} else {
				var n int
				v, n = binary.Uvarint(post)
				post = post[n:]
			}
			tf = 1
			if v&1 == 0 {
				t, n := binary.Uvarint(post)
				post = post[n:]
				tf = uint32(t)
			}
			doc += int(v >> 1)
		}
		if doc >= end {
			break
		}
		i := doc - first
		n := neighbours[i]
		i++
		switch i - last {
		case 0: // the stretch's first
		case 1:
			add(last-1, before)
			before, at, after = at, after, 0
		case 2:
			add(last-1, before)
			add(last, at)
			before, at, after = after, 0, 0
		default:
			add(last-1, before)
			add(last, at)
			add(last+1, after)
			before, at, after = 0, 0, 0
		}
		last = i
		at += float32(tf)
		before += shares[n&hasBefore] * float32(tf)
		after += shares[n&hasAfter] * float32(tf)
		tf = 0
	}
	add(last-1, before)
	add(last, at)
	add(last+1, after)
	c.post, c.doc, c.tf = post, doc, tf
}
