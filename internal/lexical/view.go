package lexical

import (
	"math/bits"
	"strings"
)

// View is the part of a reader's chunks that a caller may see. It is immutable and safe for
// concurrent use.
type View struct {
	reader *Reader
	shown  []set              // shown revisions by segment
	found  map[string][]entry // the cache of ForQuery, else nil
}

// ForQuery returns the same view with a cache of term look-ups, for one query. It is not safe for
// concurrent use.
func (v *View) ForQuery() *View {
	return &View{reader: v.reader, shown: v.shown, found: make(map[string][]entry)}
}

// entries returns the entry of a term in each segment, zero where the segment lacks the term.
func (v *View) entries(term string) []entry {
	at, ok := v.found[term]
	if ok {
		return at
	}
	at = make([]entry, len(v.reader.segments))
	for i, s := range v.reader.segments {
		at[i], _ = s.find(term)
	}
	if v.found != nil {
		v.found[term] = at
	}
	return at
}

// View returns a view of the revisions for which visible returns true. It gets the position of a
// segment in the reader and of a revision in the segment's Revisions. Nil shows everything.
func (r *Reader) View(visible func(segment, revision int) bool) *View {
	v := &View{reader: r, shown: make([]set, len(r.segments))}
	for i, s := range r.segments {
		if visible == nil {
			v.shown[i] = set{n: len(s.revisions), all: true}
			continue
		}
		v.shown[i] = newSet(len(s.revisions), func(n int) bool { return visible(i, n) })
	}
	return v
}

// set is a set of numbers below a bound.
type set struct {
	n    int // size of the set
	all  bool
	bits []uint64 // nil if the set is full or empty
}

func newSet(bound int, has func(i int) bool) set {
	s := set{bits: make([]uint64, (bound+63)/64)}
	for i := range bound {
		if has(i) {
			s.bits[i/64] |= 1 << (i % 64)
			s.n++
		}
	}
	if s.all = s.n == bound; s.all || s.n == 0 {
		s.bits = nil
	}
	return s
}

// next returns the least number in the set that is at least i, or one out of bounds.
func (s *set) next(i int) int {
	if s.all {
		return i
	}
	if i/64 >= len(s.bits) {
		return len(s.bits) * 64
	}
	word := s.bits[i/64] >> (i % 64)
	if word != 0 {
		return i + bits.TrailingZeros64(word)
	}
	for w := i/64 + 1; w < len(s.bits); w++ {
		if s.bits[w] != 0 {
			return w*64 + bits.TrailingZeros64(s.bits[w])
		}
	}
	return len(s.bits) * 64
}

// Stat is the statistics of a term in a view.
type Stat struct {
	IDF   float64 // if Known is false, that of a term in a single chunk
	Known bool    // some chunk of the view contains the term
}

// Stat returns the statistics of a term.
func (v *View) Stat(term string) Stat {
	df, known := 0, false
	for i, e := range v.entries(term) {
		df += e.df
		known = known || v.reader.segments[i].shows(&v.shown[i], e.post)
	}
	if !known {
		df = 0
	}
	return Stat{IDF: v.reader.idf(df), Known: known}
}

// Begins reports whether a term of the index begins with prefix, in a visible chunk or not. It quickly rules out most prefixes.
func (v *View) Begins(prefix string) bool {
	for _, s := range v.reader.segments {
		for c := s.from([]byte(prefix)); c.next(); {
			if string(c.term) >= prefix {
				if strings.HasPrefix(string(c.term), prefix) {
					return true
				}
				break
			}
		}
	}
	return false
}

// shows reports whether a postings list has a chunk of a shown revision.
func (s *Segment) shows(shown *set, post []byte) bool {
	if shown.all {
		return len(post) > 0
	}
	if shown.n == 0 {
		return false
	}
	at := shown.next(0)
	for l := newList(post); ; {
		p, ok := l.next()
		if !ok {
			return false
		}
		for at < len(s.revisions) && s.revisions[at].first+s.revisions[at].chunks <= p.doc {
			at = shown.next(at + 1)
		}
		if at >= len(s.revisions) {
			return false
		}
		if s.revisions[at].first <= p.doc {
			return true
		}
	}
}
