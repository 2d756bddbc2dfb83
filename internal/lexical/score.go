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

// openWindows computes the length of each chunk's window.
func (s *Segment) openWindows() {
	s.first = make([]bool, s.chunks+1)
	s.first[s.chunks] = true
	for _, r := range s.revisions {
		s.first[r.first] = true
	}
	s.window = make([]float32, s.chunks)
	for i := range s.window {
		n := float32(s.length(i))
		if !s.first[i] {
			n += neighbourShare * float32(s.length(i-1))
		}
		if !s.first[i+1] {
			n += neighbourShare * float32(s.length(i+1))
		}
		s.window[i] = n
	}
}

// weight is a term's BM25 share as a function of its frequency tf in a window of a given length:
// factor · tf / (tf + base + slope · length).
type weight struct{ factor, base, slope float32 }

func newWeight(idf, average float64) weight {
	return weight{factor: float32(idf * (k1 + 1)), base: k1 * (1 - b), slope: float32(k1 * b / average)}
}

// score adds a term's share to the score of each chunk whose window holds it.
//
// Postings ascend, so only the windows around the last chunk read can still change: before, at
// and after hold the term's frequency in the windows of the chunks last-1, last and last+1.
func (s *Segment) score(acc []float32, post []byte, w weight) {
	add := func(doc int, tf float32) {
		if tf > 0 {
			acc[doc] += w.factor * tf / (tf + w.base + w.slope*s.window[doc])
		}
	}
	doc, last := -1, -3
	var before, at, after float32
	for len(post) > 0 {
		v := uint64(post[0])
		if v < 0x80 {
			post = post[1:]
		} else {
			var n int
			v, n = binary.Uvarint(post)
			post = post[n:]
		}
		tf := float32(1)
		if v&1 == 0 {
			t, n := binary.Uvarint(post)
			post = post[n:]
			tf = float32(t)
		}
		doc += int(v >> 1)
		switch doc - last {
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
		last = doc
		at += tf
		if !s.first[doc] {
			before += neighbourShare * tf
		}
		if !s.first[doc+1] {
			after += neighbourShare * tf
		}
	}
	add(last-1, before)
	add(last, at)
	add(last+1, after)
}
