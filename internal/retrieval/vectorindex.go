package retrieval

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"

	"parley/internal/vector"
)

// VectorIndex is the part of a database that searches vectors itself. Its results are approximate, so it is used only for
// namespaces whose vectors exceed the memory limit for them.
type VectorIndex interface {
	// Suits reports whether vectors of a length can be indexed.
	Suits(length int) bool
	// Sizes returns how many chunks each namespace has.
	Sizes(ctx context.Context) (map[string]int, error)
	// Ready reports whether the vectors of a namespace in a generation are indexed.
	Ready(ctx context.Context, namespace string, generation int64) (bool, error)
	// Follow brings the index of a namespace up to date with the stored vectors, and creates it if there is none. The version of
	// the vectors grows when the index becomes ready. The next Follow continues an interrupted one.
	Follow(ctx context.Context, namespace string, g Generation) error
	// Keep removes all indexes except the given ones. From then on they are not Ready, and the version of the vectors grows.
	Keep(ctx context.Context, keep []IndexKey) error
	// Nearest returns the chunks most similar to a vector, in approximately the order of their similarity.
	Nearest(ctx context.Context, q NearQuery) (Near, error)
	// VectorsOf ranges over the vectors of the given chunks, except chunks without one, in no particular order. The bytes are
	// valid until the next vector. An error is the last item.
	VectorsOf(ctx context.Context, generation int64, keys []ChunkKey) iter.Seq2[LinkedVector, error]
	// SampledVectors is VectorStore.LinkedVectors for a sample, one of every n vectors, always the same ones.
	SampledVectors(ctx context.Context, namespace string, generation, after, until int64, of int) iter.Seq2[LinkedVector, error]
}

// IndexKey names the index of a namespace.
type IndexKey struct {
	Namespace  string
	Generation int64
}

// NearQuery asks a VectorIndex.
type NearQuery struct {
	Filter     Filter
	Generation int64
	Vector     []float32 // of length 1
	K          int       // how many chunks
	Only       []int64   // the revisions that the filter lets through, if they are few: the result is exact then
}

// Near is a VectorIndex's answer.
type Near struct {
	Keys []ChunkKey
	Mean float64 // mean similarity of all chunks of NearQuery.Only
}

// WithVectorIndex makes a database search vectors that take more than half of the memory that WithMemory
// allows.
func WithVectorIndex(x VectorIndex) Option {
	return func(c *Corpus) { c.index = x }
}

// Bounds of searches in a VectorIndex.
const (
	sampleLeast = 8192   // vectors in memory from which the mean similarity is taken
	exactly     = 10_000 // chunks that a filter leaves, up to which the search is exact …
	exactShare  = 8      // … if they are at most one of exactShare; otherwise the index with a filter is as good, and faster
)

// sampled describes a vectorSet of a namespace whose vectors an index in the database searches. The set
// holds one of every n vectors.
type sampled struct {
	index VectorIndex
	log   *slog.Logger
	of    int
}

// sampling returns how the vectors of a namespace are sampled, by the number of its chunks, or nil if all are to be in memory. A
// sampled set stays sampled until its vectors would take less than three quarters of the size from which sets are sampled.
func (c *Corpus) sampling(ctx context.Context, namespace string, g Generation, chunks int, now *sampled) (*sampled, error) {
	bound := c.vectorBound()
	if now != nil {
		bound = bound / 4 * 3
	}
	if c.index == nil || bound == 0 || int64(chunks)*int64(g.Length)*4 <= bound || !c.index.Suits(g.Length) {
		return nil, nil
	}
	ready, err := c.index.Ready(ctx, namespace, g.ID)
	if err != nil || !ready {
		return nil, err
	}
	of := 1
	for chunks/(2*of) >= sampleLeast {
		of *= 2
	}
	if now != nil && (now.of == of || now.of == of/2) {
		return now, nil
	}
	c.log.Info("vectors are searched in the database", "namespace", namespace, "chunks", chunks, "dimensions", g.Length)
	return &sampled{c.index, c.log, of}, nil
}

// vectorBound returns the number of bytes of one namespace's vectors that may be in memory if there is an index; 0 means no limit.
func (c *Corpus) vectorBound() int64 { return c.memory / 2 }

// keepIndexes makes the database index the vectors of a generation if they are too many for memory, and drop the indexes that
// are no longer needed.
func (c *Corpus) keepIndexes(ctx context.Context) error {
	if c.index == nil || c.vectorBound() == 0 {
		return nil
	}
	generations, _, err := c.store.Generations(ctx)
	if err != nil {
		return fmt.Errorf("read the generations of vectors: %w", err)
	}
	sizes, err := c.index.Sizes(ctx)
	if err != nil {
		return err
	}
	var keep, follow []IndexKey
	byID := map[int64]Generation{}
	for _, g := range generations {
		if g.State == Retired || g.Length == 0 || !c.index.Suits(g.Length) {
			continue
		}
		byID[g.ID] = g
		for namespace, chunks := range sizes {
			key := IndexKey{namespace, g.ID}
			switch bytes := int64(chunks) * int64(g.Length) * 4; {
			case bytes > c.vectorBound():
				follow = append(follow, key)
				keep = append(keep, key)
			case bytes > c.vectorBound()/2: // a namespace that has an index keeps it
				ready, err := c.index.Ready(ctx, namespace, g.ID)
				if err != nil {
					return err
				}
				if keep = append(keep, key); ready {
					follow = append(follow, key)
				}
			}
		}
	}
	for _, key := range follow {
		if err := c.index.Follow(ctx, key.Namespace, byID[key.Generation]); err != nil {
			return err
		}
	}
	return c.index.Keep(ctx, keep)
}

// errNear says that the database could not search vectors.
var errNear = errors.New("the database could not search vectors")

// likest returns the k chunks most similar to a question, among those that a view shows, and the similarity of these chunks and
// of the given others.
func (st *state) likest(ctx context.Context, v *view, f Filter, asked question, k int, others []ChunkKey) (vector.Found, map[ChunkKey]float64, error) {
	if st.vectors.sampled == nil {
		found, err := vector.Search(ctx, v.vectors, asked.vector, k)
		return found, nil, err
	}
	found, scores, err := st.nearest(ctx, v, f, asked, k, others)
	if err != nil && ctx.Err() == nil {
		st.vectors.sampled.log.Error("search vectors in the database; the search goes on by words", "namespace", f.Namespace, "error", err)
		err = fmt.Errorf("%w: %w", errNear, err)
	}
	return found, scores, err
}

// nearest is likest for vectors in the database. It computes each similarity from the whole vector, so the values are the same
// as in memory; only the set of chunks found is approximate.
func (st *state) nearest(ctx context.Context, v *view, f Filter, asked question, k int, others []ChunkKey) (found vector.Found, scores map[ChunkKey]float64, err error) {
	in := st.vectors.sampled
	near, err := in.index.Nearest(ctx, NearQuery{Filter: f, Generation: asked.generation, Vector: asked.vector, K: 2 * max(k, fusedLeast), Only: v.few})
	if err != nil {
		return found, nil, err
	}
	if v.few != nil {
		found.Mean = near.Mean
	} else if found, err = vector.Search(ctx, v.vectors, asked.vector, 1); err != nil {
		return found, nil, err
	}
	found.Hits, found.Seen, found.Matched = nil, found.Seen*in.of, found.Matched*in.of
	maySee := st.rights.maySee(f)
	scores = map[ChunkKey]float64{}
	for linked, err := range in.index.VectorsOf(ctx, asked.generation, append(slices.Clip(near.Keys), others...)) {
		if err != nil {
			return found, nil, err
		}
		if !maySee[st.rightsOf(linked.Key.Revision)] || !f.Within.Has(linked.Key.Revision) {
			continue // the index in memory is older, or newer
		}
		if score, err := vector.Score(asked.vector, linked.Data); err == nil {
			scores[linked.Key] = score
		}
	}
	for key, score := range scores {
		found.Hits = append(found.Hits, vector.Hit{Revision: key.Revision, Ordinal: key.Ordinal, Score: score})
	}
	found.Hits = vector.Best(found.Hits, k)
	if v.few != nil {
		for _, score := range scores {
			if score > 0 {
				found.Matched++
			}
		}
	}
	return found, scores, nil
}

// few returns the revisions that a view shows, ascending, if their chunks are few enough to compare all of them.
func (st *state) few(shown []vector.Shown, sees func(part *part, revision int) bool) []int64 {
	if st.vectors.sampled == nil {
		return nil
	}
	vectors := 0
	for _, s := range shown {
		for _, span := range s.Spans {
			vectors += span.End - span.Start
		}
	}
	if n := vectors * st.vectors.sampled.of; n > exactly || n*exactShare > st.chunks() {
		return nil
	}
	all := []int64{}
	for i := range st.parts {
		for n, revision := range st.parts[i].segment.Revisions() {
			if sees(&st.parts[i], n) {
				all = append(all, revision)
			}
		}
	}
	slices.Sort(all)
	return all
}
