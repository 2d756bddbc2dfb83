package retrieval

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
)

// maxStale bounds how often a search starts again because documents changed under it.
const maxStale = 8

// Search returns the passages that match the query best. The filter applies before the best are chosen. If the
// question cannot be embedded, or there is no embedder, the search uses the mode Text, and the result says so.
func (c *Corpus) Search(ctx context.Context, q Query) (Result, error) {
	if !q.Principal.MayUse(q.Namespace) {
		return Result{Mode: Text}, nil // nor do they learn how rare its words are
	}
	defer c.use(q.Namespace)()
	st, asked, err := c.prepare(ctx, q)
	for attempt := 0; ; attempt++ {
		if err != nil {
			return Result{}, err
		}
		res, complete, err := c.searchState(ctx, st, q, asked)
		if err != nil || complete || attempt == maxStale {
			return res, err
		}
		// A hit was replaced or removed since the index was read: read it again.
		if st, err = c.latest(ctx, q.Namespace); err != nil {
			return Result{}, err
		}
	}
}

// prepare returns the state to search, and the question as a vector if the query is for vectors.
func (c *Corpus) prepare(ctx context.Context, q Query) (*state, question, error) {
	if err := c.ready(ctx, q.Namespace); err != nil {
		return nil, question{}, err
	}
	st, err := c.current(ctx, q.Namespace)
	if err != nil || q.Mode == Text || c.embedding == nil {
		return st, question{}, err
	}
	if err := c.refreshVectors(ctx, q.Namespace, false); err != nil {
		if ctx.Err() != nil {
			return nil, question{}, ctx.Err()
		}
		c.log.Error("read vectors", "namespace", q.Namespace, "error", err) // those that are there will do
	}
	asked := c.embedQuestion(ctx, c.space(q.Namespace).state.Load(), q.Text)
	if ctx.Err() != nil {
		return nil, question{}, ctx.Err()
	}
	st, err = c.current(ctx, q.Namespace) // again, because that took its time
	return st, asked, err
}

// searchState searches one state of the index. It is not complete when a hit is no longer stored.
func (c *Corpus) searchState(ctx context.Context, st *state, q Query, asked question) (res Result, complete bool, err error) {
	q, complete, err = c.confined(ctx, st, q)
	if err != nil {
		return Result{}, false, err
	}
	limit := max(q.Limit, 1)
	res, found, err := st.find(ctx, q, asked, max(limit*pageFactor, depth(q)))
	if err != nil {
		return Result{}, false, err
	}
	read, err := c.reorder(ctx, st, q, res, found)
	if err != nil {
		return Result{}, false, err
	}
	chosen := spread(found, limit)
	if len(chosen) == 0 {
		return res, complete, nil
	}
	best := slices.MaxFunc(chosen, func(a, b candidate) int { return cmp.Compare(a.rank, b.rank) }).rank
	if err := c.readMissing(ctx, q.Namespace, chosen, read); err != nil {
		return Result{}, false, err
	}
	for _, h := range chosen {
		if err := ctx.Err(); err != nil {
			return Result{}, false, err
		}
		stored := read[h.key]
		if stored == nil {
			complete = false
			continue
		}
		p := *stored
		if !q.MaySee(p.Document.Category, p.Document.Access) || !q.Within.Has(p.Document.Revision) {
			continue // check the rights again, with what is stored now
		}
		p.Score, p.Rank, p.Scores = h.score, h.rank/cmp.Or(best, 1), Scores{BM25: h.bm25, Vector: h.cosine}
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

// reorder ranks the best candidates anew by their text, if the question is one common word or some of them are of documents with
// pages. It returns the passages that it has read. A search by vectors keeps its order: similarity decides.
func (c *Corpus) reorder(ctx context.Context, st *state, q Query, res Result, all []candidate) (map[ChunkKey]*Passage, error) {
	read := make(map[ChunkKey]*Passage)
	if res.Mode == Vectors {
		return read, nil
	}
	w, found := newWording(q, res.Terms), all[:min(len(all), looked)]
	switch {
	case w.asksCommon():
		found = all[:min(len(all), lookedOne)]
	case !slices.ContainsFunc(found, func(h candidate) bool { return h.page > 0 }):
		return read, nil
	}
	if err := c.readMissing(ctx, q.Namespace, found, read); err != nil {
		return nil, err
	}
	about := st.view(q.Filter).forQuery().lexical.Subjects(ctx, subjectTerms(beginning(q.Text)))
	w.reorder(about, found, read)
	if res.Mode == Text { // scores fall along the ranking
		for i := range all {
			all[i].score = all[i].rank / all[0].rank
		}
	}
	return read, ctx.Err()
}

// readMissing adds the passages of the candidates that are stored and that read lacks.
func (c *Corpus) readMissing(ctx context.Context, namespace string, found []candidate, read map[ChunkKey]*Passage) error {
	var keys []ChunkKey
	for _, h := range found {
		if read[h.key] == nil {
			keys = append(keys, h.key)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	passages, err := c.store.Chunks(ctx, namespace, keys)
	if err != nil {
		return fmt.Errorf("read %d chunks: %w", len(keys), err)
	}
	for i := range passages {
		read[passages[i].Chunk.Key] = &passages[i]
	}
	return nil
}

// find returns the k best candidates for a query, or more, and a result without passages.
func (st *state) find(ctx context.Context, q Query, asked question, k int) (res Result, found []candidate, err error) {
	res = Result{Mode: Text, Usage: asked.usage, Model: asked.model, EmbedTime: asked.took, Note: asked.note}
	res.HasVector = asked.vector != nil && asked.generation == st.vectors.generation.ID
	if asked.vector != nil && !res.HasVector {
		res.Note = noteSwitching // just now
	}
	view := st.view(q.Filter).forQuery()
	if res.Terms, err = analyzeQuery(ctx, view.lexical, q); err != nil {
		return Result{}, nil, err
	}
	switch {
	case !res.HasVector:
		found, res.Matched, err = byText(ctx, view, q, res.Terms, k)
	case q.Mode == Vectors:
		res.Mode = Vectors
		found, res.Matched, err = st.byVectors(ctx, view, q.Filter, asked, k)
	default:
		res.Mode = Hybrid
		found, res.Matched, err = st.byBoth(ctx, view, q, res.Terms, asked, k)
	}
	if errors.Is(err, errNear) {
		res.Mode, res.HasVector, res.Note = Text, false, noteNoSearch
		found, res.Matched, err = byText(ctx, view, q, res.Terms, k)
	}
	return res, found, err
}

// pageFactor is the ratio of ranked to wanted hits, so that enough pages are among
// them.
const pageFactor = 4

// distinctPages is the smallest number of passages that spread takes from distinct pages.
const distinctPages = 10

// spread returns the best limit candidates. The first ones come from distinct pages, because chunks of one page often resemble
// one another: half of them, and at least distinctPages. The rest come from any page, because a page may hold several sections.
// Texts without pages are not affected.
func spread(all []candidate, limit int) []candidate {
	if len(all) <= limit {
		return all
	}
	type page struct {
		revision int64
		number   int
	}
	distinct := max((limit+1)/2, min(limit, distinctPages))
	seen := make(map[page]bool)
	var first, rest []candidate
	for _, h := range all {
		p := page{h.key.Revision, h.page}
		if len(first) == distinct || h.page > 0 && seen[p] {
			rest = append(rest, h)
			continue
		}
		seen[p] = true
		first = append(first, h)
	}
	few := len(first) < distinct
	chosen := append(first, rest[:limit-len(first)]...)
	if few {
		slices.SortStableFunc(chosen, func(a, b candidate) int { return cmp.Compare(b.rank, a.rank) })
	}
	return chosen
}

// Hit is a chunk in a ranking.
type Hit struct {
	Key   ChunkKey
	Score float64 // by which it is ranked
}

// Rank returns the keys of the best q.Limit chunks without reading them, for measuring.
func (c *Corpus) Rank(ctx context.Context, q Query) ([]Hit, error) {
	defer c.use(q.Namespace)()
	_, asked, err := c.prepare(ctx, q)
	if err != nil {
		return nil, err
	}
	st, err := c.latest(ctx, q.Namespace)
	if err != nil {
		return nil, err
	}
	if q, _, err = c.confined(ctx, st, q); err != nil {
		return nil, err
	}
	res, found, err := st.find(ctx, q, asked, max(q.Limit, depth(q)))
	if err != nil {
		return nil, err
	}
	if _, err := c.reorder(ctx, st, q, res, found); err != nil {
		return nil, err
	}
	found = found[:min(q.Limit, len(found))]
	hits := make([]Hit, len(found))
	for i, h := range found {
		hits[i] = Hit{Key: h.key, Score: h.rank}
	}
	return hits, nil
}
