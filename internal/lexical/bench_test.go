package lexical_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/internal/lexical"
	"parley/internal/lexical/lexicaltest"
	"parley/internal/text"
)

// sizes are the numbers of passages that the benchmarks index.
var sizes = []int{20_000, 200_000}

const (
	perDocument = 10
	perSegment  = 25_000
)

// generated returns documents with n passages in total.
func generated(g *lexicaltest.Generator, first, n int) []lexical.Revision {
	var revisions []lexical.Revision
	for i := range n {
		if i%perDocument == 0 {
			g.Document()
			revisions = append(revisions, lexical.Revision{ID: int64(first + i/perDocument)})
		}
		r := &revisions[len(revisions)-1]
		r.Chunks = append(r.Chunks, lexical.Chunk{Body: g.Passage(), Titles: []string{"report"}})
	}
	return revisions
}

// indexes caches the indexes by number of passages: each takes seconds to build.
var indexes = map[int][][]byte{}

func index(b *testing.B, n int) [][]byte {
	b.Helper()
	if indexes[n] == nil {
		g := lexicaltest.New(1)
		for from := 0; from < n; from += perSegment {
			indexes[n] = append(indexes[n], lexical.Build(generated(g, from+1, min(perSegment, n-from))))
		}
	}
	return indexes[n]
}

func opened(b *testing.B, n int) []*lexical.Segment {
	b.Helper()
	var segments []*lexical.Segment
	for _, data := range index(b, n) {
		s, err := lexical.Open(data)
		if err != nil {
			b.Fatal(err)
		}
		segments = append(segments, s)
	}
	return segments
}

// eachSize runs a benchmark for each number of passages.
func eachSize(b *testing.B, f func(b *testing.B, n int)) {
	for _, n := range sizes {
		b.Run(fmt.Sprintf("passages=%d", n), func(b *testing.B) { f(b, n) })
	}
}

// BenchmarkBuild indexes one batch of an ingestion.
func BenchmarkBuild(b *testing.B) {
	revisions := generated(lexicaltest.New(1), 1, 2000)
	size := 0
	for b.Loop() {
		size = len(lexical.Build(revisions))
	}
	b.ReportMetric(2000*float64(b.N)/b.Elapsed().Seconds(), "passages/s")
	b.ReportMetric(float64(size)/2000, "bytes/passage")
}

// BenchmarkMerge merges eight segments.
func BenchmarkMerge(b *testing.B) {
	g := lexicaltest.New(1)
	var segments []*lexical.Segment
	for i := range 8 {
		s, err := lexical.Open(lexical.Build(generated(g, 1+1000*i, 2500)))
		if err != nil {
			b.Fatal(err)
		}
		segments = append(segments, s)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := lexical.Merge(segments, func(int, int) bool { return true }); !ok {
			b.Fatal("nothing is left")
		}
	}
	b.ReportMetric(20_000*float64(b.N)/b.Elapsed().Seconds(), "passages/s")
}

// BenchmarkOpen reads all segments of an index.
func BenchmarkOpen(b *testing.B) {
	eachSize(b, func(b *testing.B, n int) {
		index(b, n)
		for b.Loop() {
			opened(b, n)
		}
	})
}

// BenchmarkView selects every document except one.
func BenchmarkView(b *testing.B) {
	eachSize(b, func(b *testing.B, n int) {
		r := lexical.NewReader(opened(b, n))
		for b.Loop() {
			r.View(func(segment, revision int) bool { return segment > 0 || revision > 0 })
		}
	})
}

// BenchmarkSearch finds ten passages for realistic questions, with and without the words of a
// conversation, and reports the median.
func BenchmarkSearch(b *testing.B) {
	eachSize(b, func(b *testing.B, n int) {
		v := lexical.NewReader(opened(b, n)).View(nil)
		for _, context := range []int{0, 40} {
			b.Run(fmt.Sprintf("context=%d", context), func(b *testing.B) {
				g := lexicaltest.New(2)
				questions := make([][]lexical.Term, 500)
				for i := range questions {
					for _, t := range text.Terms(g.LastTurn()) {
						questions[i] = append(questions[i], lexical.Term{Text: t, Weight: 1})
					}
					for _, w := range g.Context(context) {
						questions[i] = append(questions[i], lexical.Term{Text: text.Terms(w)[0], Weight: .15})
					}
				}
				var times []time.Duration
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					began := time.Now()
					_, _, _ = v.Search(b.Context(), questions[i%len(questions)], 10)
					times = append(times, time.Since(began))
				}
				slices.Sort(times)
				b.ReportMetric(float64(times[len(times)/2].Microseconds()), "p50-µs")
				b.ReportMetric(float64(times[len(times)*99/100].Microseconds()), "p99-µs")
			})
		}
	})
}

// BenchmarkStat looks up the statistics of a term.
func BenchmarkStat(b *testing.B) {
	eachSize(b, func(b *testing.B, n int) {
		v := lexical.NewReader(opened(b, n)).View(nil)
		words := strings.Fields(lexicaltest.New(3).Question(50))
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			v.Stat(words[i%len(words)])
		}
	})
}

// BenchmarkSimilar corrects misspelt words, and looks for words that have no correction.
func BenchmarkSimilar(b *testing.B) {
	eachSize(b, func(b *testing.B, n int) {
		v := lexical.NewReader(opened(b, n)).View(nil)
		g := lexicaltest.New(1)
		for name, word := range map[string]string{"found": g.Word(20) + "x", "absent": "aqxqxqxqxq"} {
			b.Run(name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					v.Similar(b.Context(), word)
				}
			})
		}
	})
}
