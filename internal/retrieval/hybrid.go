package retrieval

import (
	"cmp"
	"context"
	"slices"

	"parley/internal/lexical"
)

// candidate is a chunk that may become a passage.
type candidate struct {
	key    ChunkKey
	page   int      // on which it begins; 0 when there are none
	rank   float64  // by which candidates of one search are ordered
	score  float64  // Passage.Score
	bm25   *float64 // Scores.BM25
	cosine *float64 // Scores.Vector
}

// byText ranks by words.
func byText(ctx context.Context, v *view, q Query, terms []Term, k int) (all []candidate, matched int, err error) {
	hits, matched, err := rank(ctx, v.lexical, q, terms, k)
	for _, h := range hits {
		all = append(all, candidate{
			key: keyOf(h), page: h.Page, rank: h.Score, score: h.Score / hits[0].Score, bm25: &h.Score,
		})
	}
	return all, matched, err
}

func keyOf(h lexical.Hit) ChunkKey { return ChunkKey{Revision: h.Revision, Ordinal: h.Ordinal} }

// byVectors ranks by similarity to the question, and omits chunks without any.
func (st *state) byVectors(ctx context.Context, v *view, f Filter, asked question, k int) (all []candidate, matched int, err error) {
	found, _, err := st.likest(ctx, v, f, asked, k, nil)
	if err != nil {
		return nil, 0, err
	}
	for _, h := range found.Hits {
		if h.Score <= 0 {
			break
		}
		key := ChunkKey{Revision: h.Revision, Ordinal: h.Ordinal}
		all = append(all, candidate{
			key: key, page: st.page(key), rank: h.Score, score: within(h.Score), cosine: &h.Score,
		})
	}
	return all, found.Matched, nil
}

// page returns the page on which a chunk begins.
func (st *state) page(key ChunkKey) int {
	for _, p := range st.parts {
		if _, ok := p.segment.Find(key.Revision); ok {
			return p.segment.Page(key.Revision, key.Ordinal)
		}
	}
	return 0
}

// The parameters of fusion, measured in internal/eval (TestFusion); docs/measurements.md has the table.
const (
	vectorShare = 0.6  // of the similarity in the fused rank, unless Embedding.Share says otherwise; the words have the rest
	likeWords   = 0.75 // of a chunk's lexical share; stands in for its similarity while the chunk has no vector
	fusedWords  = 1000 // chunks whose lexical score counts
	fusedLeast  = 100  // the least number of candidates of each kind
)

// byBoth ranks by words and by similarity together: each of a chunk's two scores is taken relative to the best of its kind, and
// the two are added. The zero of a lexical score is a chunk without any of the words; that of a similarity is the mean of all
// chunks that the caller may see, since models differ in how similar they consider unrelated texts. With exact vector search,
// only chunks that have no vector yet lack a score.
func (st *state) byBoth(ctx context.Context, v *view, q Query, terms []Term, asked question, k int) (all []candidate, matched int, err error) {
	k = max(k, fusedLeast)
	hits, matched, err := rank(ctx, v.lexical, q, terms, max(k, fusedWords))
	if err != nil {
		return nil, 0, err
	}
	var keys []ChunkKey
	for _, h := range hits[:min(k, len(hits))] {
		keys = append(keys, keyOf(h))
	}
	found, likeness, err := st.likest(ctx, v, q.Filter, asked, k, keys)
	if err != nil {
		return nil, 0, err
	}
	asked.share = 1 - (1-asked.share)*knownShare(terms)
	f := fusion{st: st, asked: asked, words: make(map[ChunkKey]lexical.Hit), liked: make(map[ChunkKey]float64), likeness: likeness}
	for _, h := range hits {
		f.bestWords, f.words[keyOf(h)] = hits[0].Score, h
	}
	f.mean = found.Mean
	for _, h := range found.Hits {
		f.bestLiked = found.Hits[0].Score
		if key := (ChunkKey{h.Revision, h.Ordinal}); h.Score > 0 {
			f.liked[key] = h.Score
			keys = append(keys, key)
		}
	}
	chosen := make(map[ChunkKey]bool)
	for _, key := range keys {
		if !chosen[key] {
			chosen[key] = true
			all = append(all, f.candidate(key))
		}
	}
	slices.SortFunc(all, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.rank, a.rank), cmp.Compare(a.key.Revision, b.key.Revision), cmp.Compare(a.key.Ordinal, b.key.Ordinal))
	})
	return all, max(matched, found.Matched), nil
}

// knownShare returns the share of a question's weight that is on words that some chunk holds: words that no chunk holds cannot
// rank. A question in another language than the documents is thus left to its vector.
func knownShare(terms []Term) float64 {
	var known, all float64
	for _, t := range terms {
		if t.Like || t.Other || t.Weight < contextBound {
			continue
		}
		all += t.Weight * t.IDF
		if t.Known {
			known += t.Weight * t.IDF
		}
	}
	if all == 0 {
		return 1
	}
	return known / all
}

// contextBound is the weight below which a term comes from the conversation, not the question.
const contextBound = 0.5

// fusion is the state of byBoth.
type fusion struct {
	st        *state
	asked     question
	words     map[ChunkKey]lexical.Hit
	bestWords float64
	liked     map[ChunkKey]float64 // the cosines of the chunks most similar to the question
	likeness  map[ChunkKey]float64 // the cosines of all candidates, if not all vectors are in memory; else nil
	bestLiked float64
	mean      float64 // mean cosine of all chunks that the caller may see
}

func (f *fusion) candidate(key ChunkKey) candidate {
	c := candidate{key: key}
	share := 0.0
	if h, ok := f.words[key]; ok {
		c.page, c.bm25, share = h.Page, &h.Score, h.Score/f.bestWords
	} else {
		c.page = f.st.page(key)
	}
	cosine, ok := f.cosine(key)
	if !ok {
		c.rank, c.score = share*(1-f.asked.share+f.asked.share*likeWords), share
		return c
	}
	c.rank = f.asked.share*f.relative(cosine) + (1-f.asked.share)*share
	c.score, c.cosine = within(cosine), &cosine
	return c
}

// cosine returns the similarity of a chunk to the question; ok is false if the chunk has no vector.
func (f *fusion) cosine(key ChunkKey) (cosine float64, ok bool) {
	if cosine, ok = f.liked[key]; ok {
		return cosine, true
	}
	if f.likeness != nil {
		cosine, ok = f.likeness[key]
		return cosine, ok
	}
	for _, p := range f.st.vectors.parts {
		if cosine, ok = p.block.Score(f.asked.vector, key.Revision, key.Ordinal); ok {
			return cosine, true
		}
	}
	return 0, false
}

// relative scales a cosine so that the mean becomes 0 and the best becomes 1.
func (f *fusion) relative(cosine float64) float64 {
	if f.bestLiked <= f.mean { // all are the same
		return 1
	}
	return within((cosine - f.mean) / (f.bestLiked - f.mean))
}

// within returns x clamped to [0, 1].
func within(x float64) float64 { return min(max(x, 0), 1) }
