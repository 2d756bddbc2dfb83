package lexical

import (
	"bytes"
	"cmp"
	"slices"
)

// Merge returns one segment with the revisions for which keep returns true, and whether there are
// any. keep gets the position of a segment in segments and of a revision in its Revisions. No
// revision may be in two segments.
//
// Merge needs twice the memory of its result beside the segments.
func Merge(segments []*Segment, keep func(segment, revision int) bool) ([]byte, bool) {
	kept := keptOf(segments, keep)
	if len(kept) == 0 {
		return nil, false
	}
	// moved[i][d] is where chunk d of segment i goes, -1 when it is dropped.
	moved := make([][]int32, len(segments))
	for i, s := range segments {
		moved[i] = slices.Repeat([]int32{-1}, s.chunks)
	}
	var chunks chunkTable
	for _, k := range kept {
		chunks.begin(k.id)
		s := segments[k.segment]
		for doc := k.first; doc < k.first+k.chunks; doc++ {
			moved[k.segment][doc] = int32(len(chunks.lengths))
			chunks.add(s.length(doc), s.page(doc))
		}
	}
	return encode(&chunks, mergeTerms(segments, moved)), true
}

// origin is the position of a revision in the source segments.
type origin struct {
	revision
	segment int
}

// keptOf returns the revisions to keep, ascending.
func keptOf(segments []*Segment, keep func(segment, revision int) bool) []origin {
	var kept []origin
	for i, s := range segments {
		for n, r := range s.revisions {
			if keep(i, n) {
				kept = append(kept, origin{r, i})
			}
		}
	}
	slices.SortFunc(kept, func(a, b origin) int { return cmp.Compare(a.id, b.id) })
	return kept
}

// mergeTerms returns the merged dictionary with renumbered chunks. It reads all dictionaries in
// step, so that only one term's postings are decoded at a time.
func mergeTerms(segments []*Segment, moved [][]int32) *dictionary {
	var d dictionary
	cursors := make([]cursor, len(segments))
	open := make([]bool, len(segments))
	for i, s := range segments {
		cursors[i] = s.cursor(0)
		open[i] = cursors[i].next()
	}
	var term []byte
	var found []posting
	var p postings
	for {
		least := -1
		for i := range cursors {
			if open[i] && (least < 0 || bytes.Compare(cursors[i].term, cursors[least].term) < 0) {
				least = i
			}
		}
		if least < 0 {
			return &d
		}
		term, found = append(term[:0], cursors[least].term...), found[:0]
		for i := range cursors {
			if open[i] && bytes.Equal(cursors[i].term, term) {
				found = appendMoved(found, cursors[i].post, moved[i])
				open[i] = cursors[i].next()
			}
		}
		if len(found) > 0 {
			slices.SortFunc(found, func(a, b posting) int { return cmp.Compare(a.doc, b.doc) })
			p = postings{last: -1, data: p.data[:0]}
			for _, f := range found {
				p.add(f.doc, f.tf)
			}
			d.add(term, p.df, p.data)
		}
	}
}

// appendMoved appends the kept postings of a list, renumbered.
func appendMoved(found []posting, post []byte, moved []int32) []posting {
	for l := newList(post); ; {
		p, ok := l.next()
		if !ok {
			return found
		}
		if to := moved[p.doc]; to >= 0 {
			found = append(found, posting{int(to), p.tf})
		}
	}
}
