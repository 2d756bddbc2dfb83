package lexical

import (
	"context"
	"math"
)

// Subjects is the bonus for the chunks of each revision whose document a query names.
type Subjects map[int64]float32

// Parameters of subjects; docs/measurements.md has their effect on reports.
const (
	leading      = 2   // chunks at the beginning of a document that name its subject
	leastChunks  = 8   // documents with fewer chunks get no bonus
	namedShare   = 1.0 // weight of a word of the title or the file name
	leadingShare = 0.5 // weight of a word of the leading chunks
	subjectScale = 4   // weight of the words that name a document, relative to the words of a chunk
	namedLeast   = 0.5 // of the highest bonus, with which a document counts as named
)

// Subjects returns how strongly a query names each document, by its title, its file name and its
// beginning. A word counts more the fewer documents it names, so that words common to all documents
// do not distinguish them. Short documents are omitted: their words are enough to find them.
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

// long returns the number of shown revisions that are long enough to get a bonus.
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

// subjects records which of the long shown revisions a term names, and how strongly. A term of the
// title or the file name is in every chunk.
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

// Most returns the highest bonus.
func (a Subjects) Most() (most float32) {
	for _, bonus := range a {
		most = max(most, bonus)
	}
	return most
}

// named returns the shown revisions among [from, to) with a bonus of at least least.
func (s *Segment) named(about Subjects, least float32, shown *set, from, to int) (found []revision) {
	if len(about) == 0 {
		return nil
	}
	for at := shown.next(from); at < to; at = shown.next(at + 1) {
		if bonus, ok := about[s.revisions[at].id]; ok && bonus >= least {
			found = append(found, s.revisions[at])
		}
	}
	return found
}
