package lexical

import (
	"cmp"
	"context"
	"math"
	"runtime"
	"slices"
	"sort"
	"sync"
	"sync/atomic"
)

// Term is one weighted term of a query, already analysed.
type Term struct {
	Text   string
	Weight float64
}

// Hit is a chunk that matches a query.
type Hit struct {
	Revision int64
	Ordinal  int
	Page     int     // page on which the chunk begins, 0 if there are no pages
	Score    float64 // BM25
}

// Reader is a set of segments with their common statistics. Search it through a View. It is
// immutable and safe for concurrent use.
type Reader struct {
	segments []*Segment
	chunks   int
	average  float64 // average length of a chunk in words
}

// NewReader returns a reader over the segments. No revision may be in two of them.
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

// idf returns the weight of a term that df chunks contain. It is never negative; df 0 is treated as
// 1.
func (r *Reader) idf(df int) float64 { return idf(df, r.chunks) }

func idf(df, chunks int) float64 {
	n := float64(max(df, 1))
	return math.Log(1 + (max(float64(chunks), n)-n+0.5)/(n+0.5))
}

// Search returns the k best chunks of the view, best first; equal scores are in the order of
// ingestion. matched counts all chunks of the view with a score above zero. The error comes from
// ctx.
func (v *View) Search(ctx context.Context, terms []Term, k int) (hits []Hit, matched int, err error) {
	return v.SearchAbout(ctx, terms, nil, k)
}

// SearchAbout is Search with a bonus, by document, for chunks that contain some of the terms. In the documents with the highest
// bonuses, the weight of a term depends on how rare it is in that document, because the words that name a document occur all
// over it.
func (v *View) SearchAbout(ctx context.Context, terms []Term, about Subjects, k int) (hits []Hit, matched int, err error) {
	r := v.reader
	query, postings := make([]weighted, 0, len(terms)), 0
	for _, t := range terms {
		if err := ctx.Err(); err != nil {
			return nil, 0, err
		}
		at, df := v.entries(t.Text), 0
		for _, e := range at {
			df += e.df
		}
		postings += df
		if df > 0 {
			query = append(query, weighted{at, t.Weight, newWeight(t.Weight*r.idf(df), r.average)})
		}
	}
	if len(query) == 0 {
		return newTop(k).hits(), 0, nil
	}
	return v.searchAll(ctx, query, about, postings, k)
}

// shared is the number of postings from which the processors share the segments of a search.
const shared = 1 << 16

// searchAll searches all segments. postings is the total number of postings that the query has to read.
func (v *View) searchAll(ctx context.Context, query []weighted, about Subjects, postings, k int) (hits []Hit, matched int, err error) {
	least := about.Most() * namedLeast
	var wanted []int // positions of segments, largest first
	for i := range v.reader.segments {
		if v.shown[i].n > 0 {
			wanted = append(wanted, i)
		}
	}
	workers := 1
	if postings >= shared {
		workers = min(runtime.GOMAXPROCS(0), len(wanted))
		slices.SortFunc(wanted, func(i, j int) int {
			return cmp.Compare(v.reader.segments[j].chunks, v.reader.segments[i].chunks)
		})
	}
	all := make([]*top, workers)
	var next, sum atomic.Int64
	work := func(worker int) {
		t := scratch.Get().(*scores)
		defer scratch.Put(t)
		best, found := newTop(k), 0
		for n := int(next.Add(1)) - 1; n < len(wanted); n = int(next.Add(1)) - 1 {
			i := wanted[n]
			found += v.reader.segments[i].search(ctx, query, about, least, i, v, t, best)
		}
		all[worker] = best
		sum.Add(int64(found))
	}
	var others sync.WaitGroup
	for worker := 1; worker < workers; worker++ {
		others.Go(func() { work(worker) })
	}
	if workers > 0 {
		work(0)
	}
	others.Wait()
	if err := ctx.Err(); err != nil {
		return nil, 0, err
	}
	best := newTop(k)
	for _, t := range all {
		for _, h := range t.heap {
			best.add(h)
		}
	}
	return best.hits(), int(sum.Load()), nil
}

// weighted is a term of a query with its entry in each segment.
type weighted struct {
	at     []entry
	share  float64 // Term.Weight
	weight weight
}

// scratch reuses working memory between searches.
var scratch = sync.Pool{New: func() any { return new(scores) }}

// search offers the chunks of a view with a score to top and returns their number. position is the segment's index in the view.
// The query is taken to name the documents with a bonus of at least least. The search stops when ctx ends.
func (s *Segment) search(ctx context.Context, query []weighted, about Subjects, least float32, position int, v *View, t *scores, top *top) (matched int) {
	shown := &v.shown[position]
	scorers := make([]scorer, 0, len(query))
	for _, q := range query {
		if post := q.at[position].post; len(post) > 0 {
			scorers = append(scorers, scorer{weight: q.weight, share: q.share, post: post, doc: -1})
		}
	}
	if len(scorers) == 0 {
		return 0
	}
	first, revision := 0, 0
	for _, part := range s.stretches {
		t.reset(part.end - first)
		named, again := s.named(about, least, shown, revision, part.revisions), []scorer(nil)
		if len(named) > 0 {
			again = slices.Clone(scorers)
		}
		for i := range scorers {
			if ctx.Err() != nil {
				return matched
			}
			scorers[i].score(s, first, t)
		}
		t.forget(named, first)
		for i := range again {
			again[i].scoreWithin(s, named, first, v.reader.average, t)
		}
		if shown.all && len(about) == 0 {
			matched += s.collectAll(first, t.chunks(), top)
		} else {
			matched += s.collect(first, t.chunks(), about, shown, revision, part.revisions, top)
		}
		first, revision = part.end, part.revisions
	}
	return matched
}

// collect offers chunks of the shown revisions [from, to) to top and returns how many have a score.
// scores begins with chunk first.
func (s *Segment) collect(first int, scores []float32, about Subjects, shown *set, from, to int, top *top) (matched int) {
	for at := shown.next(from); at < to; at = shown.next(at + 1) {
		r := s.revisions[at]
		gain := about[r.id]
		for i, score := range scores[r.first-first : r.first-first+r.chunks] {
			if score <= 0 {
				continue
			}
			matched++
			if score += gain; score >= top.floor {
				top.add(Hit{Revision: r.id, Ordinal: i, Page: int(s.page(r.first + i)), Score: float64(score)})
			}
		}
	}
	return matched
}

// collectAll is collect with everything shown: it looks up the revision of the best chunks only.
func (s *Segment) collectAll(first int, scores []float32, top *top) (matched int) {
	for i, score := range scores {
		if score <= 0 {
			continue
		}
		matched++
		if score >= top.floor {
			chunk := first + i
			r := s.revisions[s.revisionAt(chunk)]
			top.add(Hit{Revision: r.id, Ordinal: chunk - r.first, Page: int(s.page(chunk)), Score: float64(score)})
		}
	}
	return matched
}

// revisionAt returns the position of the revision that contains a chunk.
func (s *Segment) revisionAt(chunk int) int {
	// Of several revisions with the same first chunk, all except the last are empty.
	return sort.Search(len(s.revisions), func(i int) bool { return s.revisions[i].first > chunk }) - 1
}
