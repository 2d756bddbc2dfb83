package vector

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

// Hit is a vector that was found.
type Hit struct {
	Revision int64
	Ordinal  int
	Score    float64 // the dot product
}

// Shown is the part of a block that a caller may see.
type Shown struct {
	Block *Block
	Spans []Span
}

// Found is the result of a search.
type Found struct {
	Hits    []Hit   // best first; equal scores in the order of revisions and ordinals
	Seen    int     // vectors compared
	Matched int     // vectors with a score above zero
	Mean    float64 // mean of all scores
}

// unitValues is the number of values that one goroutine compares at a time. Smaller searches use one
// goroutine.
const unitValues = 256 << 10

// Search returns the k shown vectors (k ≥ 1) that are most similar to query, a unit vector of the
// same length. It is exact. A large search is split over the processors. The error is ctx's.
func Search(ctx context.Context, shown []Shown, query []float32, k int) (Found, error) {
	units := unitsOf(shown, max(1, unitValues/len(query)))
	scans := make([]scan, max(1, min(runtime.GOMAXPROCS(0), len(units))))
	var next atomic.Int64
	work := func(s *scan) {
		s.top.k = k
		for i := next.Add(1); int(i) <= len(units) && ctx.Err() == nil; i = next.Add(1) {
			s.add(units[i-1], query)
		}
	}
	var others sync.WaitGroup
	for i := range scans[1:] {
		others.Go(func() { work(&scans[i+1]) })
	}
	work(&scans[0])
	others.Wait()
	if err := ctx.Err(); err != nil {
		return Found{}, err
	}
	return join(scans, k), nil
}

// unit is a span that one goroutine compares.
type unit struct {
	block *Block
	span  Span
}

func unitsOf(shown []Shown, size int) []unit {
	var units []unit
	for _, s := range shown {
		for _, span := range s.Spans {
			for ; span.Start < span.End; span.Start += size {
				units = append(units, unit{s.Block, Span{span.Start, min(span.Start+size, span.End)}})
			}
		}
	}
	return units
}

// scan is the result of one goroutine.
type scan struct {
	top     top
	seen    int
	matched int
	sum     float64
}

func (s *scan) add(u unit, query []float32) {
	s.seen += u.span.End - u.span.Start
	for i := u.span.Start; i < u.span.End; i++ {
		score := float64(dot(query, u.block.vector(i)))
		s.sum += score
		if score > 0 {
			s.matched++
		}
		if len(s.top.hits) < s.top.k || score >= s.top.hits[0].Score {
			s.top.add(Hit{u.block.revisionAt(i), int(u.block.ordinals[i]), score})
		}
	}
}

func join(scans []scan, k int) Found {
	var f Found
	sum := 0.0
	for _, s := range scans {
		f.Hits = append(f.Hits, s.top.hits...)
		f.Seen += s.seen
		f.Matched += s.matched
		sum += s.sum
	}
	f.Hits = Best(f.Hits, k)
	f.Mean = sum / float64(max(1, f.Seen))
	return f
}

// Best returns the k best hits, best first, as Search does.
func Best(hits []Hit, k int) []Hit {
	slices.SortFunc(hits, func(a, b Hit) int { return compare(b, a) })
	return hits[:min(k, len(hits))]
}

// compare orders hits; the worse hit is less.
func compare(a, b Hit) int {
	return cmp.Or(cmp.Compare(a.Score, b.Score), cmp.Compare(b.Revision, a.Revision), cmp.Compare(b.Ordinal, a.Ordinal))
}

// top keeps the k best hits in a heap with the worst at the front.
type top struct {
	k    int
	hits []Hit
}

func (t *top) add(h Hit) {
	if len(t.hits) < t.k {
		t.hits = append(t.hits, h)
		for i := len(t.hits) - 1; i > 0; {
			parent := (i - 1) / 2
			if compare(t.hits[i], t.hits[parent]) >= 0 {
				return
			}
			t.hits[i], t.hits[parent] = t.hits[parent], t.hits[i]
			i = parent
		}
		return
	}
	if compare(h, t.hits[0]) <= 0 {
		return
	}
	t.hits[0] = h
	for i := 0; ; {
		least := i
		for _, child := range []int{2*i + 1, 2*i + 2} {
			if child < len(t.hits) && compare(t.hits[child], t.hits[least]) < 0 {
				least = child
			}
		}
		if least == i {
			return
		}
		t.hits[i], t.hits[least] = t.hits[least], t.hits[i]
		i = least
	}
}
