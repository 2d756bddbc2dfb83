package retrieval

import (
	"context"
	"fmt"

	"parley/internal/lexical"
)

// Given holds documents that came with a request. They are in memory only, in no namespace, and are searched by their words. A
// Given is immutable and safe for concurrent use.
type Given struct {
	passages map[ChunkKey]Passage
	order    []ChunkKey // of the documents, from their beginnings
	view     *lexical.View
}

// InGiven is the namespace of the documents of a Given. No other namespace has this name.
const InGiven = asideMark + "given"

// firstGiven is the revision of the first document of a Given. Stored documents never have so high a one.
const firstGiven = 1 << 62

// Brought is a document of a Given. Its Revision and Namespace are ignored, as are the keys of its chunks.
type Brought struct {
	Document Document
	Chunks   []Chunk
}

// NewGiven returns the documents as a Given.
func NewGiven(all []Brought) (*Given, error) {
	g := &Given{passages: map[ChunkKey]Passage{}}
	revisions := make([]lexical.Revision, len(all))
	for i, b := range all {
		d := b.Document
		d.Revision, d.Namespace, d.Chunks = firstGiven+int64(i), InGiven, len(b.Chunks)
		revisions[i] = indexed(d, b.Chunks)
		for n, c := range b.Chunks {
			c.Key = ChunkKey{Revision: d.Revision, Ordinal: n}
			g.passages[c.Key] = Passage{Chunk: c, Document: d}
			g.order = append(g.order, c.Key)
		}
	}
	segment, err := lexical.Open(lexical.Build(revisions))
	if err != nil {
		return nil, fmt.Errorf("index the documents of a request: %w", err)
	}
	g.view = lexical.NewReader([]*lexical.Segment{segment}).View(nil)
	return g, nil
}

// Search returns the passages that match best. While there are fewer than q.Limit, passages without a match follow
// from the beginnings of the documents, unless q.MinScore excludes them: people who attach a document may ask what it is
// about. It uses only the text, context, limit and captions of q.
func (g *Given) Search(ctx context.Context, q Query) (Result, error) {
	res, limit := Result{Mode: Text}, max(q.Limit, 1)
	view := &view{lexical: g.view.ForQuery()}
	var err error
	if res.Terms, err = analyzeQuery(ctx, view.lexical, q); err != nil {
		return Result{}, err
	}
	found, matched, err := byText(ctx, view, q, res.Terms, limit)
	if err != nil {
		return Result{}, err
	}
	res.Matched = matched
	taken := map[ChunkKey]bool{}
	add := func(key ChunkKey, score float64, bm25 *float64) {
		p := g.passages[key]
		if taken[key] || len(res.Passages) == limit || score < q.MinScore || len(p.Chunk.Spans) == 0 {
			return
		}
		taken[key] = true
		p.Score, p.Rank, p.Scores = score, score, Scores{BM25: bm25}
		if q.Captions {
			p.Captions = captions(p.Chunk.Text, res.Terms)
		}
		res.Passages = append(res.Passages, p)
	}
	for _, c := range found {
		add(c.key, c.score, c.bm25)
	}
	for _, key := range g.order {
		add(key, 0, nil)
	}
	return res, nil
}
