package retrieval_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/internal/access"
	"parley/internal/attribute"
	"parley/internal/lexical/lexicaltest"
	"parley/internal/llm"
	"parley/internal/retrieval"
)

// shapes are corpora of the same number of chunks.
var shapes = []struct {
	name              string
	documents, chunks int // chunks per document
}{
	{"documents=10000/chunks=100000", 10_000, 10},
	{"documents=100000/chunks=100000", 100_000, 1},
}

// fill adds documents from a number on, as an ingestion does. Every tenth is restricted.
func (w *world) fill(ctx context.Context, g *lexicaltest.Generator, from, documents, chunks, batch int) error {
	for ; documents > 0; documents -= batch {
		b := retrieval.Batch{Namespace: "ns"}
		for range min(batch, documents) {
			g.Document()
			texts := make([]string, chunks)
			for i := range texts {
				texts[i] = g.Passage()
			}
			p := document(fmt.Sprintf("folder/report-%d.pdf", from), texts...)
			p.Document.Attributes = fmt.Appendf(nil, `{"n":%d,"tags":["policy","draft"]}`, from%8)
			if from%10 == 0 {
				p.Document.Access = access.List{Groups: []string{"staff"}}
			}
			b.Put = append(b.Put, p)
			from++
		}
		if err := w.corpus.Apply(ctx, b); err != nil {
			return err
		}
	}
	return nil
}

// percentiles asks n questions, and returns the median and the 99th percentile of their times.
func (w *world) percentiles(g *lexicaltest.Generator, n int) (p50, p99 time.Duration) {
	w.Helper()
	var times []time.Duration
	for range n {
		q := retrieval.Query{Text: g.Question(6)}
		began := time.Now()
		w.search(q)
		times = append(times, time.Since(began))
	}
	slices.Sort(times)
	return times[len(times)/2], times[len(times)*99/100]
}

// BenchmarkSearch_BesideAnIngestion reports the latency of searches while nothing else happens,
// and while documents are added to the namespace as fast as it goes.
func BenchmarkSearch_BesideAnIngestion(b *testing.B) {
	for _, shape := range shapes {
		b.Run(shape.name, func(b *testing.B) {
			w, g := newWorld(b), lexicaltest.New(1)
			if err := w.fill(b.Context(), g, 0, shape.documents, shape.chunks, 1000); err != nil {
				b.Fatal(err)
			}
			questions := lexicaltest.New(2)
			w.percentiles(questions, 100)
			for b.Loop() {
				p50, p99 := w.percentiles(questions, 1000)
				b.ReportMetric(float64(p50.Microseconds()), "idle-p50-µs")
				b.ReportMetric(float64(p99.Microseconds()), "idle-p99-µs")
				ctx, stop := context.WithCancel(b.Context())
				var ingestion sync.WaitGroup
				added := 0
				ingestion.Go(func() {
					for ctx.Err() == nil {
						if err := w.fill(ctx, g, shape.documents+added, 64, 10, 64); err == nil {
							added += 64
						}
					}
				})
				began := time.Now()
				p50, p99 = w.percentiles(questions, 1000)
				rate := float64(added) / time.Since(began).Seconds()
				stop()
				ingestion.Wait()
				b.ReportMetric(float64(p50.Microseconds()), "busy-p50-µs")
				b.ReportMetric(float64(p99.Microseconds()), "busy-p99-µs")
				b.ReportMetric(rate*10, "chunks/s")
			}
		})
	}
}

// BenchmarkSearch_WithACondition compares searches without a condition, with one that was asked before, and with a new one,
// which an eighth of 100,000 documents meet.
func BenchmarkSearch_WithACondition(b *testing.B) {
	w, g := newWorld(b), lexicaltest.New(1)
	if err := w.fill(b.Context(), g, 0, 100_000, 1, 1000); err != nil {
		b.Fatal(err)
	}
	questions := lexicaltest.New(2)
	n := 0.0
	for _, c := range []struct {
		name  string
		where func() *attribute.Condition
	}{
		{"none", func() *attribute.Condition { return nil }},
		{"again", func() *attribute.Condition { return attribute.Compare("eq", "n", 3.0) }},
		{"new", func() *attribute.Condition {
			n++
			return attribute.All(attribute.Compare("eq", "n", 3.0), attribute.Compare("ne", "n", 8+n))
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				w.search(retrieval.Query{Text: questions.Question(6), Filter: retrieval.Filter{Where: c.where()}})
			}
		})
	}
}

// BenchmarkApply replaces a batch of documents in a large corpus.
func BenchmarkApply(b *testing.B) {
	for _, shape := range shapes {
		b.Run(shape.name, func(b *testing.B) {
			w, g := newWorld(b), lexicaltest.New(1)
			if err := w.fill(b.Context(), g, 0, shape.documents, shape.chunks, 1000); err != nil {
				b.Fatal(err)
			}
			for i := 0; b.Loop(); i++ {
				if err := w.fill(b.Context(), g, i*8%shape.documents, 8, 1, 8); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkOpen loads a stored index, and reports what it keeps in memory.
func BenchmarkOpen(b *testing.B) {
	for _, shape := range shapes {
		b.Run(shape.name, func(b *testing.B) {
			w := newWorld(b)
			if err := w.fill(b.Context(), lexicaltest.New(1), 0, shape.documents, shape.chunks, 1000); err != nil {
				b.Fatal(err)
			}
			w.corpus = nil
			before := heap()
			var c *retrieval.Corpus
			for b.Loop() {
				c = w.open(w.db.Corpus())
			}
			b.ReportMetric(heap()-before, "heap-MiB")
			b.ReportMetric(resident(), "rss-MiB")
			runtime.KeepAlive(c)
		})
	}
}

// heap returns the live heap in MiB.
func heap() float64 {
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc) / (1 << 20)
}

// resident returns the resident size of this process in MiB, 0 where the system does not tell.
func resident() (mib float64) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(status), "VmRSS:")
	fmt.Sscan(after, &mib)
	return mib / 1024
}

// noise is an embedder of random vectors.
type noise struct {
	dimensions int
	rnd        *rand.Rand
}

func (n *noise) Embed(_ context.Context, req llm.EmbedRequest) (llm.Embeddings, error) {
	var out llm.Embeddings
	for range req.Texts {
		v := make([]float32, n.dimensions)
		for i := range v {
			v[i] = float32(n.rnd.NormFloat64())
		}
		out.Vectors = append(out.Vectors, v)
	}
	return out, nil
}

// BenchmarkHybrid searches 100,000 chunks by words and vectors, with their passages read. It reports
// how fast vectors are stored beside what an embedder takes, how long reading them takes when a
// process starts, and the memory of all.
func BenchmarkHybrid(b *testing.B) {
	for _, dimensions := range []int{384, 1536} {
		b.Run(fmt.Sprintf("dimensions=%d", dimensions), func(b *testing.B) {
			w := newWorld(b, with(&noise{dimensions, rand.New(rand.NewPCG(1, 1))}))
			if err := w.fill(b.Context(), lexicaltest.New(1), 0, shapes[0].documents, shapes[0].chunks, 1000); err != nil {
				b.Fatal(err)
			}
			began := time.Now()
			w.embed()
			stored := time.Since(began)
			w.corpus = nil
			before := heap()
			began = time.Now()
			w.corpus = w.open(w.db.Corpus())
			opened := time.Since(began)
			size := heap() - before
			questions := lexicaltest.New(2)
			for b.Loop() {
				p50, p99 := w.percentiles(questions, 300)
				b.ReportMetric(float64(p50.Microseconds()), "p50-µs")
				b.ReportMetric(float64(p99.Microseconds()), "p99-µs")
			}
			b.ReportMetric(100_000/stored.Seconds(), "stored/s")
			b.ReportMetric(opened.Seconds()*1000, "open-ms")
			b.ReportMetric(size, "heap-MiB")
		})
	}
}
