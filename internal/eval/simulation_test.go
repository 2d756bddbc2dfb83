package eval

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"parley/internal/llm"
	"parley/internal/retrieval"
)

// The simulated embedding model. There is none to be had offline, so vectors are made that find as
// well as a real model does, by its published figures, and err as it does: half of a vector is where
// its text is among the topics of the corpus, so that errors go with the words, half is meaning,
// which is random except for a share of the meaning of the queries for which a passage is relevant.
//
// topicWeight and strengthSpread reproduce what is known of BGE-base on MTRAG FiQA beside its
// recall@10: with the ten best of BM25 it has .136 (last turn) and .172 (human rewrite) in common,
// both together hold .433 and .510 of what is relevant, and its nDCG@10 is .291 and .341
// (TestSimulation_ErrsAsARealModelDoes).
const (
	topicSize      = 96
	meaningSize    = 96
	topicWeight    = 1.0
	strengthSpread = 0.3 // of the logarithm of how strongly a query's meaning shows
)

// simulation is a data set with one form of its queries, whose passages are indexed.
type simulation struct {
	*product
	name    string
	keys    []retrieval.ChunkKey
	texts   []string // of the chunks
	passage []int    // of each chunk
	ids     []string // of the passages
	topic   [][]float32
	queries []simQuery

	byKey     map[retrieval.ChunkKey]int
	byPassage map[string]int
}

type simQuery struct {
	Query
	text  string
	topic []float32
	words []hit // by BM25
}

// hit is a chunk with a score.
type hit struct {
	chunk int
	score float64
}

// simulate indexes a data set and places its chunks and queries among its topics.
func simulate(t testing.TB, dataset, formName string) *simulation {
	t.Helper()
	ctx := context.Background()
	d := load(t, shared(t, "data/"+dataset))
	s := &simulation{product: newProduct(t), name: dataset + " " + formName,
		byKey: map[retrieval.ChunkKey]int{}, byPassage: map[string]int{}}
	s.index(t, d)
	documents, err := s.Store.AllDocuments(ctx, s.Namespace, "", 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	for _, doc := range documents {
		chunks, err := s.db.Corpus().RevisionChunks(ctx, doc.Revision)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range chunks {
			s.byKey[c.Key] = len(s.keys)
			s.keys, s.passage = append(s.keys, c.Key), append(s.passage, len(s.ids))
			s.texts = append(s.texts, c.Text)
		}
		s.byPassage[doc.Name] = len(s.ids)
		s.ids = append(s.ids, doc.Name)
	}
	var space *topics
	space, s.topic = newTopics(s.texts, topicSize)
	for _, f := range forms(ctx, s.Env) {
		for _, q := range d.Queries {
			text, terms, ok := f.query(q)
			if !ok || f.name != formName {
				continue
			}
			query := retrieval.Query{Filter: retrieval.Filter{Namespace: s.Namespace}, Text: text, Context: terms, Limit: depth}
			hits, err := s.Corpus.Rank(ctx, query)
			if err != nil {
				t.Fatal(err)
			}
			sq := simQuery{Query: q, text: text, topic: space.place(text)}
			for _, h := range hits {
				sq.words = append(sq.words, hit{s.byKey[h.Key], h.Score})
			}
			s.queries = append(s.queries, sq)
		}
	}
	return s
}

// model is a simulated embedding model, as the vectors that it gives.
type model struct {
	chunks, queries [][]float32
}

// embed returns a model in which meaning shows with a strength.
func (s *simulation) embed(strength float64, seed uint64) model {
	rnd := rand.New(rand.NewPCG(seed, 1))
	meaning := make([][]float32, len(s.keys))
	for i := range meaning {
		meaning[i] = scaled(gaussian(rnd, meaningSize), 1)
	}
	chunksOf := make([][]int, len(s.ids))
	for c, p := range s.passage {
		chunksOf[p] = append(chunksOf[p], c)
	}
	m := model{}
	for _, q := range s.queries {
		direction := scaled(gaussian(rnd, meaningSize), 1)
		ofQuery := strength * math.Exp(strengthSpread*rnd.NormFloat64())
		var relevant []string
		for id := range q.Relevant {
			relevant = append(relevant, id)
		}
		slices.Sort(relevant)
		for _, id := range relevant {
			at, ok := s.byPassage[id]
			if !ok {
				continue
			}
			shows := ofQuery * math.Exp(strengthSpread*rnd.NormFloat64())
			best := rnd.IntN(len(chunksOf[at]))
			for i, c := range chunksOf[at] {
				share := 0.5
				if i == best {
					share = 1
				}
				addTo(meaning[c], direction, float32(share*shows))
			}
		}
		m.queries = append(m.queries, joinHalves(q.topic, direction))
	}
	for c := range s.keys {
		m.chunks = append(m.chunks, joinHalves(s.topic[c], scaled(meaning[c], 1)))
	}
	return m
}

func joinHalves(topic, meaning []float32) []float32 {
	v := append(scaled(slices.Clone(topic), topicWeight), meaning...)
	return scaled(v, 1)
}

// scores are the cosines of all chunks for one query, and their order.
type scores struct {
	all  []float64
	best []hit
	mean float64
}

func (s *simulation) score(m model, query int) scores {
	r := scores{all: make([]float64, len(s.keys))}
	for c := range s.keys {
		r.all[c] = cosine(m.queries[query], m.chunks[c])
		r.best = append(r.best, hit{c, r.all[c]})
		r.mean += r.all[c] / float64(len(s.keys))
	}
	sortHits(r.best)
	r.best = r.best[:min(depth, len(r.best))]
	return r
}

func sortHits(hits []hit) {
	slices.SortFunc(hits, func(a, b hit) int {
		switch {
		case a.score > b.score:
			return -1
		case a.score < b.score:
			return 1
		}
		return a.chunk - b.chunk
	})
}

// measure takes the measures of rankings of chunks, by query.
func (s *simulation) measure(rank func(query int) []hit) Ranking {
	var r Ranking
	for i, q := range s.queries {
		r.add(s.passages(rank(i)), q.Relevant)
	}
	r.finish(nil)
	return r
}

// passages returns passages in the order of their best chunk.
func (s *simulation) passages(hits []hit) []string {
	seen := map[int]bool{}
	var ids []string
	for _, h := range hits {
		if p := s.passage[h.chunk]; !seen[p] {
			seen[p] = true
			ids = append(ids, s.ids[p])
		}
	}
	return ids
}

// calibrate returns the strength with which vectors alone reach a measure.
func (s *simulation) calibrate(measure string, goal float64) float64 {
	low, high := 0.0, 2.0
	for range 9 {
		middle := (low + high) / 2
		m := s.embed(middle, 1)
		r := s.measure(func(q int) []hit { return s.score(m, q).best })
		if measures(r)[measure] < goal {
			low = middle
		} else {
			high = middle
		}
	}
	return (low + high) / 2
}

// Embedder makes the model one that a corpus can be embedded with. It knows the texts of the data set.
func (s *simulation) Embedder(m model) llm.Embedder {
	e := simEmbedder{}
	for c, text := range s.texts {
		e[text] = m.chunks[c]
	}
	for i, q := range s.queries {
		e["query: "+q.text] = m.queries[i]
	}
	return e
}

type simEmbedder map[string][]float32

func (e simEmbedder) Embed(_ context.Context, req llm.EmbedRequest) (llm.Embeddings, error) {
	var out llm.Embeddings
	for _, text := range req.Texts {
		if req.Purpose == llm.ForQuery {
			out.Vectors = append(out.Vectors, e["query: "+text])
			continue
		}
		v, ok := e[text]
		for rest := text; !ok && rest != ""; v, ok = e[rest] { // what stands above the text is not part of it
			_, rest, _ = strings.Cut(rest, "\n\n")
		}
		out.Vectors = append(out.Vectors, v)
	}
	return out, nil
}

// ResolveEmbedder implements retrieval.Embedders.
func (e simEmbedder) ResolveEmbedder(string) (llm.Embedder, string, error) {
	return e, "simulated", nil
}
