package store_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"parley/internal/access"
	"parley/internal/retrieval"
	"parley/internal/store"
	"parley/internal/store/pgtest"
	"parley/internal/vector"
)

// BenchmarkVectorIndex reports how much of the ten best of an exact search pgvector finds, and how long a search
// takes beside that exact one: without a filter, with one that leaves a fifth, and with one that leaves a hundredth, which
// the database searches exactly up to a million. PARLEY_BENCH_VECTORS says among how many vectors of 384 numbers: by
// default 100,000. The vectors lie around a thousand centres, as texts do around their subjects. How far it is goes to the
// standard error; with a million, pass -timeout 4h.
func BenchmarkVectorIndex(b *testing.B) {
	n := 100_000
	if s := os.Getenv("PARLEY_BENCH_VECTORS"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil {
			b.Fatal(err)
		}
	}
	x := newIndexed(b, pgtest.NewWithVectors(b), benchLength)
	g, err := x.db.Corpus().BeginGeneration(b.Context(), retrieval.Generation{Model: "fake:384", Recipe: "1"})
	x.must(err)
	const batch = 10_000
	f := &filled{all: vector.NewBuilder(benchLength), fifth: vector.NewBuilder(benchLength), few: vector.NewBuilder(benchLength)}
	began := time.Now()
	for first := 0; first < n; first += batch {
		x.putVectors(g, first, min(batch, n-first), f)
		if done := first + batch; done%100_000 == 0 {
			fmt.Fprintf(os.Stderr, "%d of %d vectors are stored, after %v\n", done, n, time.Since(began).Round(time.Second))
		}
	}
	x.must(x.db.Corpus().SwitchGeneration(b.Context(), g.ID))
	index, _, err := x.db.VectorIndex(b.Context())
	x.must(err)
	g.Length = benchLength
	filling := time.Since(began)
	began = time.Now()
	built := x.tellOfTheBuild(began)
	x.must(index.Follow(b.Context(), "ns", g))
	built()
	building := time.Since(began)
	if ready, err := index.Ready(b.Context(), "ns", g.ID); err != nil || !ready {
		b.Fatalf("ready: %v, %v", ready, err)
	}
	_, err = x.raw.ExecContext(b.Context(), "ANALYZE") // the server of the tests has no autovacuum
	x.must(err)
	for b.Loop() {
		x.compare(b, index, g, f)
	}
	b.ReportMetric(filling.Seconds(), "stored-s")
	b.ReportMetric(building.Seconds(), "indexed-s")
}

// benchLength is the length of the vectors of BenchmarkVectorIndex.
const benchLength = 384

// filled is what BenchmarkVectorIndex has stored.
type filled struct {
	all, fifth, few *vector.Builder
	onlyFew         []int64 // revisions
}

func (x *indexed) compare(b *testing.B, index *store.VectorIndex, g retrieval.Generation, f *filled) {
	both := access.Principal{Subject: "ann", Groups: []string{"few", "fifth"}}
	for _, c := range []struct {
		name   string
		filter retrieval.Filter
		only   []int64
		exact  []*vector.Block
	}{
		{"all", retrieval.Filter{Namespace: "ns", Principal: both}, nil, f.all.Blocks()},
		{"fifth", retrieval.Filter{Namespace: "ns", Principal: access.Principal{Subject: "bob", Groups: []string{"fifth"}}, RequireGroup: true}, nil, f.fifth.Blocks()},
		{"few", retrieval.Filter{Namespace: "ns", Principal: fewOnes, RequireGroup: true}, f.onlyFew, f.few.Blocks()},
	} {
		recall, times, exact := x.measure(func(v []float32) ([]retrieval.ChunkKey, error) {
			near, err := index.Nearest(b.Context(), retrieval.NearQuery{Filter: c.filter, Generation: g.ID, Vector: v, K: 200, Only: c.only})
			if err != nil {
				return nil, err
			}
			for linked, err := range index.VectorsOf(b.Context(), g.ID, near.Keys) { // as searches do
				if err != nil || len(linked.Data) == 0 {
					return nil, fmt.Errorf("%v has no vector: %w", linked.Key, err)
				}
			}
			return near.Keys, nil
		}, c.exact)
		b.ReportMetric(recall, c.name+"-recall")
		b.ReportMetric(milliseconds(times[len(times)/2]), c.name+"-p50-ms")
		b.ReportMetric(milliseconds(times[len(times)*99/100]), c.name+"-p99-ms")
		b.ReportMetric(milliseconds(exact[len(exact)/2]), c.name+"-exact-p50-ms")
	}
}

// tellOfTheBuild writes to the standard error now and then how far the index is, until the returned function is called.
func (x *indexed) tellOfTheBuild(began time.Time) (stop func()) {
	ctx, cancel := context.WithCancel(x.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(30 * time.Second)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			var phase string
			var tuples int64
			err := x.raw.QueryRowContext(ctx, "SELECT phase, tuples_done FROM pg_stat_progress_create_index").Scan(&phase, &tuples)
			if err != nil {
				phase = "copying vectors" // the index is not begun yet
			}
			fmt.Fprintf(os.Stderr, "after %v: %s, %d vectors\n", time.Since(began).Round(time.Second), phase, tuples)
		}
	}()
	return func() { cancel(); <-done }
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

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

// putVectors adds documents of fifty chunks each and their vectors, also to the blocks of an exact search.
func (x *indexed) putVectors(g retrieval.Generation, first, n int, f *filled) {
	x.Helper()
	const chunks = 50
	random := rand.New(rand.NewPCG(uint64(first), 3))
	revision, err := x.db.Corpus().NextRevisions(x.Context(), n/chunks)
	x.must(err)
	b := retrieval.Batch{Namespace: "ns"}
	put := retrieval.VectorBatch{Generation: g.ID, Length: benchLength}
	for i := range n / chunks {
		id := fmt.Sprint(first/chunks + i)
		p := retrieval.Put{Document: retrieval.Document{ID: id, Revision: revision + int64(i), Namespace: "ns", Name: id, Title: "t", MediaType: "text/plain", Chunks: chunks}}
		into := []*vector.Builder{f.all}
		switch {
		case i%100 == 8:
			p.Document.Access = access.List{Groups: []string{"few"}}
			into, f.onlyFew = append(into, f.few), append(f.onlyFew, p.Document.Revision)
		case i%5 == 2:
			p.Document.Access = access.List{Groups: []string{"fifth"}}
			into = append(into, f.fifth)
		}
		for k := range chunks {
			key := retrieval.ChunkKey{Revision: p.Document.Revision, Ordinal: k}
			p.Chunks = append(p.Chunks, retrieval.Chunk{Key: key, Text: "t", Spans: []retrieval.Span{{End: 1}}})
			data := vector.Encode(around(random, benchLength))
			hash := retrieval.Hash{}
			copy(hash[:], fmt.Sprint(id, " ", k))
			put.Vectors = append(put.Vectors, retrieval.Vector{Hash: hash, Data: data})
			put.Links = append(put.Links, retrieval.VectorLink{Key: key, Hash: hash})
			for _, to := range into {
				x.must(to.Add(key.Revision, k, data))
			}
		}
		b.Put = append(b.Put, p)
	}
	_, err = x.db.Corpus().Apply(x.Context(), b)
	x.must(err)
	_, err = x.db.Corpus().PutVectors(x.Context(), put)
	x.must(err)
}

// measure searches for some questions, and returns the share of the ten best that are found, and the sorted times of it
// and of an exact search in memory.
func (x *indexed) measure(search func([]float32) ([]retrieval.ChunkKey, error), blocks []*vector.Block) (recall float64, times, exact []time.Duration) {
	x.Helper()
	var shown []vector.Shown
	for _, b := range blocks {
		shown = append(shown, vector.Shown{Block: b, Spans: b.Spans(func(int) bool { return true })})
	}
	random := rand.New(rand.NewPCG(1, 99))
	found, of := 0, 0
	for range 100 {
		q := around(random, benchLength)
		began := time.Now()
		want, err := vector.Search(x.Context(), shown, q, 10)
		exact = append(exact, time.Since(began))
		x.must(err)
		began = time.Now()
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
	slices.Sort(exact)
	return float64(found) / float64(of), times, exact
}
