package lexical

import (
	"cmp"
	"math"
	"slices"
	"sync"
)

// Term is one weighted term of a query, already analysed.
type Term struct {
	Text   string
	Weight float64
}

// Stat is what a reader knows of a term.
type Stat struct {
	IDF float64 // for an unseen term that of a term in a single chunk
	DF  int     // chunks that hold it, those of dropped revisions included
}

// Hit is a chunk that matches a query.
type Hit struct {
	Revision int64
	Ordinal  int
	Page     int     // the page on which the chunk begins, 0 when there are none
	Score    float64 // BM25
}

// Reader searches a set of segments. It is immutable and safe for concurrent use.
type Reader struct {
	segments []*Segment
	chunks   int
	average  float64 // length of a chunk in words
}

// NewReader returns a reader over the segments.
func NewReader(segments []*Segment) *Reader {
	r := &Reader{segments: segments}
	var total uint64
	for _, s := range segments {
		r.chunks += s.chunks
		total += s.total
	}
	r.average = max(1, float64(total)/float64(max(1, r.chunks)))
	return r
}

// Chunks returns the number of chunks indexed, those of dropped revisions included.
func (r *Reader) Chunks() int { return r.chunks }

// View is the part of a reader's chunks that a caller may see: for each segment the visible
// revisions in order.
type View struct {
	live [][]revision
}

// View returns the view of the revisions in visible, which must ascend.
func (r *Reader) View(visible []int64) *View {
	v := &View{live: make([][]revision, len(r.segments))}
	for i, s := range r.segments {
		for _, rev := range s.revisions {
			if _, ok := slices.BinarySearch(visible, rev.id); ok && rev.chunks > 0 {
				v.live[i] = append(v.live[i], rev)
			}
		}
	}
	return v
}

// Stat returns what the reader knows of a term.
func (r *Reader) Stat(term string) Stat {
	df := 0
	for _, s := range r.segments {
		if e, ok := s.find(term); ok {
			df += e.df
		}
	}
	return Stat{IDF: r.idf(df), DF: df}
}

func (r *Reader) idf(df int) float64 {
	n := float64(max(df, 1))
	return math.Log(1 + (float64(r.chunks)-n+0.5)/(n+0.5))
}

// Search returns the k best chunks of the view, best first; equal scores stand in the order of
// ingestion. Matched counts all chunks of the view with a score above zero.
func (r *Reader) Search(terms []Term, v *View, k int) (hits []Hit, matched int) {
	type found struct {
		entry
		weight float64
	}
	lists := make([][]found, len(r.segments))
	for _, t := range terms {
		df := 0
		at := make([]entry, len(r.segments))
		for i, s := range r.segments {
			if e, ok := s.find(t.Text); ok {
				at[i] = e
				df += e.df
			}
		}
		for i, e := range at {
			if e.df > 0 {
				lists[i] = append(lists[i], found{e, t.Weight * r.idf(df)})
			}
		}
	}
	top := newTop(k)
	scores := scratch.Get().(*[]float32)
	defer scratch.Put(scores)
	for i, s := range r.segments {
		if len(lists[i]) == 0 || len(v.live[i]) == 0 {
			continue
		}
		acc := zeroed(scores, s.chunks)
		for _, l := range lists[i] {
			s.score(acc, l.post, newWeight(l.weight, r.average))
		}
		matched += s.collect(acc, v.live[i], top)
	}
	return top.hits(), matched
}

// scratch holds score accumulators between searches.
var scratch = sync.Pool{New: func() any { return new([]float32) }}

func zeroed(p *[]float32, n int) []float32 {
	if cap(*p) < n {
		*p = make([]float32, n)
	}
	acc := (*p)[:n]
	clear(acc)
	return acc
}

// collect offers the visible chunks with a score to top and returns how many there are.
func (s *Segment) collect(acc []float32, live []revision, top *top) (matched int) {
	for _, r := range live {
		for i, score := range acc[r.first : r.first+r.chunks] {
			if score <= 0 {
				continue
			}
			matched++
			if score >= top.floor {
				top.add(Hit{Revision: r.id, Ordinal: i, Page: int(s.page(r.first + i)), Score: float64(score)})
			}
		}
	}
	return matched
}

// top keeps the k best hits in a heap with the worst of them first.
type top struct {
	k     int
	floor float32 // no hit below this can enter
	heap  []Hit
}

func newTop(k int) *top { return &top{k: max(k, 1), heap: make([]Hit, 0, min(max(k, 1), 1024))} }

// compareHits orders hits best first; equal scores stand in the order of ingestion.
func compareHits(a, b Hit) int {
	return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Revision, b.Revision), cmp.Compare(a.Ordinal, b.Ordinal))
}

func (t *top) add(h Hit) {
	switch {
	case len(t.heap) < t.k:
		t.heap = append(t.heap, h)
		t.up(len(t.heap) - 1)
	case compareHits(h, t.heap[0]) < 0:
		t.heap[0] = h
		t.down(0)
	}
	if len(t.heap) == t.k {
		t.floor = float32(t.heap[0].Score)
	}
}

func (t *top) worse(i, j int) bool { return compareHits(t.heap[i], t.heap[j]) > 0 }

func (t *top) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !t.worse(i, parent) {
			return
		}
		t.heap[i], t.heap[parent] = t.heap[parent], t.heap[i]
		i = parent
	}
}

func (t *top) down(i int) {
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(t.heap); child++ {
			if t.worse(child, least) {
				least = child
			}
		}
		if least == i {
			return
		}
		t.heap[i], t.heap[least] = t.heap[least], t.heap[i]
		i = least
	}
}

func (t *top) hits() []Hit {
	slices.SortFunc(t.heap, compareHits)
	return t.heap
}
