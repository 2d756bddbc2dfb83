package lexical

import (
	"context"
	"math"
)

// Subjects says by how much the chunks of each revision gain because a query names their document.
type Subjects map[int64]float32

// The parameters of subjects; docs/measurements.md has what they give on reports.
const (
	leading      = 2   // chunks at the beginning of a document that say what it is about
	leastChunks  = 8   // of a document whose chunks do not all say what it is about
	namedShare   = 1.0 // what a word of the title or the file name counts
	leadingShare = 0.5 // what a word of the leading chunks counts
	subjectScale = 4   // what the words that name a document count beside the words of a chunk
)

// Subjects returns how much of a query names each document, by its title, its file name and the text
// that it begins with. A word counts by how few of the documents it names, so that what they all
// have in common tells none of them apart. Documents of few chunks are left out: those are found by
// their words.
func (v *View) Subjects(ctx context.Context, terms []Term) Subjects {
	documents := v.long()
	if documents < 2 {
		return nil
	}
	about := make(Subjects)
	held := make(map[int64]float32)
	for _, t := range terms {
		if ctx.Err() != nil {
			return nil
		}
		clear(held)
		for i, e := range v.entries(t.Text) {
			v.reader.segments[i].subjects(&v.shown[i], e.post, held)
		}
		if len(held) == 0 || len(held) == documents {
			continue
		}
		n := float64(len(held))
		weight := float32(t.Weight * subjectScale * math.Log(1+(float64(documents)-n+.5)/(n+.5)))
		for revision, share := range held {
			about[revision] += share * weight
		}
	}
	return about
}

// long returns the number of shown revisions that subjects tell apart.
func (v *View) long() (n int) {
	for i, s := range v.reader.segments {
		if v.shown[i].n == 0 {
			continue
		}
		for at := v.shown[i].next(0); at < len(s.revisions); at = v.shown[i].next(at + 1) {
			if s.revisions[at].chunks >= leastChunks {
				n++
			}
		}
	}
	return n
}

// subjects notes which of the shown revisions of some length a term names, and how clearly. A term of
// the title or the file name is in every chunk.
func (s *Segment) subjects(shown *set, post []byte, held map[int64]float32) {
	if shown.n == 0 || len(post) == 0 {
		return
	}
	at, leads, chunks := -1, false, 0
	note := func() {
		switch {
		case at < 0 || s.revisions[at].chunks < leastChunks:
		case chunks == s.revisions[at].chunks:
			held[s.revisions[at].id] = namedShare
		case leads:
			held[s.revisions[at].id] = leadingShare
		}
	}
	next := shown.next(0)
	for l := newList(post); ; {
		p, ok := l.next()
		if !ok {
			break
		}
		for next < len(s.revisions) && s.revisions[next].first+s.revisions[next].chunks <= p.doc {
			next = shown.next(next + 1)
		}
		if next >= len(s.revisions) {
			break
		}
		r := s.revisions[next]
		if p.doc < r.first {
			continue
		}
		if next != at {
			note()
			at, leads, chunks = next, false, 0
		}
		chunks++
		leads = leads || p.doc < r.first+leading
	}
	note()
}
