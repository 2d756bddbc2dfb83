package store_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"parley/internal/access"
	"parley/internal/retrieval"
	"parley/internal/store/pgtest"
	"parley/internal/vector"
)

// BenchmarkVectorIndex reports how much of the ten best of an exact search pgvector finds, and how long a search
// takes, without a filter and with one that leaves a hundredth. PARLEY_BENCH_VECTORS says among how many vectors of
// 384 numbers: by default 100,000. The vectors lie around a thousand centres, as texts do around their subjects.
func BenchmarkVectorIndex(b *testing.B) {
	n := 100_000
	if s := os.Getenv("PARLEY_BENCH_VECTORS"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil {
			b.Fatal(err)
		}
	}
	const dimensions = 384
	x := newIndexed(b, pgtest.NewWithVectors(b), dimensions)
	g, err := x.db.Corpus().BeginGeneration(b.Context(), retrieval.Generation{Model: "fake:384", Recipe: "1"})
	x.must(err)
	const batch = 10_000
	all := vector.NewBuilder(dimensions)
	few := vector.NewBuilder(dimensions)
	for first := 0; first < n; first += batch {
		x.putVectors(g, first, min(batch, n-first), all, few)
	}
	x.must(x.db.Corpus().SwitchGeneration(b.Context(), g.ID))
	index, _, err := x.db.VectorIndex(b.Context())
	x.must(err)
	g.Length = dimensions
	began := time.Now()
	x.must(index.Follow(b.Context(), "ns", g))
	b.ReportMetric(time.Since(began).Seconds(), "build-s")
	if ready, err := index.Ready(b.Context(), "ns", g.ID); err != nil || !ready {
		b.Fatalf("ready: %v, %v", ready, err)
	}
	for b.Loop() {
		for name, c := range map[string]struct {
			filter retrieval.Filter
			blocks []*vector.Block
		}{
			"all": {retrieval.Filter{Namespace: "ns", Principal: fewOnes}, all.Blocks()},
			"few": {retrieval.Filter{Namespace: "ns", Principal: fewOnes, RequireGroup: true}, few.Blocks()},
		} {
			recall, times := x.measure(func(v []float32) ([]retrieval.ChunkKey, error) {
				near, err := index.Nearest(b.Context(), retrieval.NearQuery{Filter: c.filter, Generation: g.ID, Vector: v, K: 200})
				return near.Keys, err
			}, c.blocks)
			b.ReportMetric(recall, name+"-recall")
			b.ReportMetric(float64(times[len(times)/2].Microseconds())/1000, name+"-p50-ms")
			b.ReportMetric(float64(times[len(times)*99/100].Microseconds())/1000, name+"-p99-ms")
		}
	}
}

// around returns a unit vector near one of a thousand centres.
func around(random *rand.Rand, dimensions int) []float32 {
	centre := rand.New(rand.NewPCG(random.Uint64N(1000), 7))
	v := make([]float32, dimensions)
	for i := range v {
		v[i] = float32(centre.NormFloat64() + 0.8*random.NormFloat64())
	}
	unit, _ := vector.Normalize(v)
	return unit
}

// putVectors adds documents of ten chunks each and their vectors, also to the blocks of an exact search.
func (x *indexed) putVectors(g retrieval.Generation, first, n int, all, few *vector.Builder) {
	x.Helper()
	random := rand.New(rand.NewPCG(uint64(first), 3))
	revision, err := x.db.Corpus().NextRevisions(x.Context(), n/10)
	x.must(err)
	b := retrieval.Batch{Namespace: "ns"}
	put := retrieval.VectorBatch{Generation: g.ID, Length: 384}
	for i := range n / 10 {
		p := retrieval.Put{Document: retrieval.Document{ID: fmt.Sprint(first + i), Revision: revision + int64(i), Namespace: "ns", Name: fmt.Sprint(first + i), Title: "t", MediaType: "text/plain", Chunks: 10}}
		if i%100 == 7 {
			p.Document.Access = access.List{Groups: []string{"few"}}
		}
		for k := range 10 {
			key := retrieval.ChunkKey{Revision: p.Document.Revision, Ordinal: k}
			p.Chunks = append(p.Chunks, retrieval.Chunk{Key: key, Text: "t", Spans: []retrieval.Span{{End: 1}}})
			data := vector.Encode(around(random, 384))
			hash := retrieval.Hash{}
			copy(hash[:], fmt.Sprint(first, i, k))
			put.Vectors = append(put.Vectors, retrieval.Vector{Hash: hash, Data: data})
			put.Links = append(put.Links, retrieval.VectorLink{Key: key, Hash: hash})
			x.must(all.Add(key.Revision, k, data))
			if i%100 == 7 {
				x.must(few.Add(key.Revision, k, data))
			}
		}
		b.Put = append(b.Put, p)
	}
	_, err = x.db.Corpus().Apply(x.Context(), b)
	x.must(err)
	_, err = x.db.Corpus().PutVectors(x.Context(), put)
	x.must(err)
}

// measure searches for some questions, and returns the share of the ten best that are found and the sorted times.
func (x *indexed) measure(search func([]float32) ([]retrieval.ChunkKey, error), blocks []*vector.Block) (recall float64, times []time.Duration) {
	x.Helper()
	var shown []vector.Shown
	for _, b := range blocks {
		shown = append(shown, vector.Shown{Block: b, Spans: b.Spans(func(int) bool { return true })})
	}
	random := rand.New(rand.NewPCG(1, 99))
	found, of := 0, 0
	for range 100 {
		q := around(random, 384)
		want, err := vector.Search(x.Context(), shown, q, 10)
		x.must(err)
		began := time.Now()
		keys, err := search(q)
		times = append(times, time.Since(began))
		x.must(err)
		for _, h := range want.Hits {
			of++
			if slices.Contains(keys, retrieval.ChunkKey{Revision: h.Revision, Ordinal: h.Ordinal}) {
				found++
			}
		}
	}
	slices.Sort(times)
	return float64(found) / float64(of), times
}
