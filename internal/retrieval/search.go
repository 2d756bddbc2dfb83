package retrieval

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"parley/internal/lexical"
)

// maxStale bounds how often a search starts again because documents changed under it.
const maxStale = 8

// Search returns the passages that match the query best. The filter applies before the best are
// chosen. Without an embedder every mode is Text, and the result says so.
func (c *Corpus) Search(ctx context.Context, q Query) (Result, error) {
	st, err := c.current(ctx, q.Namespace)
	for attempt := 0; ; attempt++ {
		if err != nil {
			return Result{}, err
		}
		res, complete, err := c.searchState(ctx, st, q)
		if err != nil || complete || attempt == maxStale {
			return res, err
		}
		// A hit was replaced or removed since the index was read: read it again.
		if st, err = c.latest(ctx, q.Namespace); err != nil {
			return Result{}, err
		}
	}
}

// searchState searches one state of the index. It is not complete when a hit is no longer stored.
func (c *Corpus) searchState(ctx context.Context, st *state, q Query) (res Result, complete bool, err error) {
	view := st.view(q.Filter).ForQuery()
	limit := max(q.Limit, 1)
	res = Result{Mode: Text, Terms: analyzeQuery(view, q)}
	hits, matched := rank(view, q, res.Terms, limit*pageFactor)
	hits, res.Matched = spread(hits, limit), matched
	if len(hits) == 0 {
		return res, true, nil
	}
	keys := make([]ChunkKey, len(hits))
	scores := make(map[ChunkKey]float64, len(hits))
	for i, h := range hits {
		keys[i] = ChunkKey{Revision: h.Revision, Ordinal: h.Ordinal}
		scores[keys[i]] = h.Score
	}
	found, err := c.store.Chunks(ctx, q.Namespace, keys)
	if err != nil {
		return Result{}, false, fmt.Errorf("read %d chunks: %w", len(keys), err)
	}
	complete = len(found) == len(keys)
	best := hits[0].Score
	for _, p := range found {
		if !q.MaySee(p.Document.Category, p.Document.Access) {
			continue // a second look, at what is stored now
		}
		raw := scores[p.Chunk.Key]
		p.Scores.BM25, p.Score = &raw, raw/best
		if p.Score < q.MinScore {
			continue
		}
		if q.Captions {
			p.Captions = captions(p.Chunk.Text, res.Terms)
		}
		res.Passages = append(res.Passages, p)
	}
	return res, complete, nil
}

// pageFactor is how many times more hits are ranked than wanted, so that enough pages are among
// them.
const pageFactor = 4

// spread returns the best limit hits of distinct pages, filled up with further hits of the same
// pages where there are too few: chunks of one page overlap and resemble one another, and the
// second says less than the best one of another page. Texts without pages are not affected.
func spread(hits []lexical.Hit, limit int) []lexical.Hit {
	if len(hits) <= limit {
		return hits
	}
	type page struct {
		revision int64
		number   int
	}
	seen := make(map[page]bool)
	var first, rest []lexical.Hit
	for _, h := range hits {
		p := page{h.Revision, h.Page}
		if h.Page > 0 && seen[p] {
			rest = append(rest, h)
			continue
		}
		seen[p] = true
		first = append(first, h)
	}
	if len(first) < limit {
		first = append(first, rest[:min(len(rest), limit-len(first))]...)
		slices.SortStableFunc(first, func(a, b lexical.Hit) int { return cmp.Compare(b.Score, a.Score) })
	}
	return first[:limit]
}

// Hit is a chunk in a ranking.
type Hit struct {
	Key   ChunkKey
	Score float64 // raw
}

// Rank returns the keys of the best q.Limit chunks without reading them, for measuring.
func (c *Corpus) Rank(ctx context.Context, q Query) ([]Hit, error) {
	st, err := c.latest(ctx, q.Namespace)
	if err != nil {
		return nil, err
	}
	view := st.view(q.Filter).ForQuery()
	found, _ := rank(view, q, analyzeQuery(view, q), q.Limit)
	hits := make([]Hit, len(found))
	for i, h := range found {
		hits[i] = Hit{Key: ChunkKey{Revision: h.Revision, Ordinal: h.Ordinal}, Score: h.Score}
	}
	return hits, nil
}
