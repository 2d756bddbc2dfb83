package retrieval

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"parley/internal/lexical"
)

// viewKey is a Filter in comparable form.
type viewKey struct {
	subject, groups  string
	include, exclude string
	user, group      bool
}

func (f Filter) key() viewKey {
	return viewKey{
		subject: f.Principal.Subject, groups: strings.Join(f.Principal.Groups, "\x00"),
		include: f.IncludeCategory, exclude: f.ExcludeCategory,
		user: f.RequireUser, group: f.RequireGroup,
	}
}

// view returns the part of the index that the filter lets through.
func (c *Corpus) view(ctx context.Context, st *state, f Filter) (*lexical.View, error) {
	key := f.key()
	st.mu.Lock()
	v := st.views[key]
	st.mu.Unlock()
	if v != nil {
		return v, nil
	}
	visible, err := c.store.Visible(ctx, f)
	if err != nil {
		return nil, fmt.Errorf("read which documents may be seen: %w", err)
	}
	v = st.reader.View(visible)
	st.mu.Lock()
	if len(st.views) >= maxViews {
		clear(st.views)
	}
	st.views[key] = v
	st.mu.Unlock()
	return v, nil
}

// Search returns the passages that match the query best. The filter applies before the best are
// chosen. Without an embedder every mode is Text, and the result says so.
func (c *Corpus) Search(ctx context.Context, q Query) (Result, error) {
	for attempt := 0; ; attempt++ {
		st, err := c.current(ctx, q.Namespace)
		if err != nil {
			return Result{}, err
		}
		res, complete, err := c.searchState(ctx, st, q)
		if err != nil || complete || attempt == maxStale {
			return res, err
		}
		// A hit was replaced or removed since the index was read: read it again.
		if _, err := c.latest(ctx, q.Namespace); err != nil {
			return Result{}, err
		}
	}
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

// maxStale bounds how often a search starts again because documents changed under it.
const maxStale = 2

// latest returns the state at the store's present version, however short ago the last was made.
func (c *Corpus) latest(ctx context.Context, namespace string) (*state, error) {
	s := c.space(namespace)
	s.load.Lock()
	defer s.load.Unlock()
	version, err := c.store.Version(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the corpus version: %w", err)
	}
	old := s.state.Load()
	if old != nil && old.version == version {
		return old, nil
	}
	st, err := c.loadState(ctx, namespace, old)
	if err != nil {
		return nil, err
	}
	s.state.Store(st)
	return st, nil
}

// searchState searches one state of the index. It is not complete when a hit is no longer stored.
func (c *Corpus) searchState(ctx context.Context, st *state, q Query) (Result, bool, error) {
	view, err := c.view(ctx, st, q.Filter)
	if err != nil {
		return Result{}, false, err
	}
	res := Result{Mode: Text, Terms: analyzeQuery(st.reader, q)}
	limit := max(q.Limit, 1)
	hits, matched := rank(st.reader, view, q, res.Terms, limit*pageFactor)
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
	best := hits[0].Score
	for _, p := range found {
		if !q.MaySee(p.Document.Category, p.Document.Access) {
			continue // its rights changed since the view was made
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
	return res, len(found) == len(keys), nil
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
	view, err := c.view(ctx, st, q.Filter)
	if err != nil {
		return nil, err
	}
	found, _ := rank(st.reader, view, q, analyzeQuery(st.reader, q), q.Limit)
	hits := make([]Hit, len(found))
	for i, h := range found {
		hits[i] = Hit{Key: ChunkKey{Revision: h.Revision, Ordinal: h.Ordinal}, Score: h.Score}
	}
	return hits, nil
}
