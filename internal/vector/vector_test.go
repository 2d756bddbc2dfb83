package vector

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
)

func random(t testing.TB) *rand.Rand {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 1))
}

// unitVector returns a random vector of length 1.
func unitVector(t testing.TB, rnd *rand.Rand, dimensions int) []float32 {
	t.Helper()
	v := make([]float32, dimensions)
	for i := range v {
		v[i] = float32(rnd.NormFloat64())
	}
	v, err := Normalize(v)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// stored is a vector as passed to a builder.
type stored struct {
	Hit
	values []float32
}

// build makes blocks of n random vectors, of revisions with up to four chunks each.
func build(t testing.TB, rnd *rand.Rand, dimensions, n int, revision int64) ([]*Block, []stored) {
	t.Helper()
	b := NewBuilder(dimensions)
	var all []stored
	for len(all) < n {
		for ordinal := range 1 + rnd.IntN(4) {
			v := unitVector(t, rnd, dimensions)
			if err := b.Add(revision, ordinal, Encode(v)); err != nil {
				t.Fatal(err)
			}
			all = append(all, stored{Hit{Revision: revision, Ordinal: ordinal}, v})
		}
		revision++
	}
	return b.Blocks(), all
}

// slowly is a naive Search.
func slowly(all []stored, shown func(revision int64) bool, query []float32, k int) (hits []Hit, matched int, mean float64) {
	for _, s := range all {
		if !shown(s.Revision) {
			continue
		}
		sum := 0.0
		for i, x := range s.values {
			sum += float64(x) * float64(query[i])
		}
		if sum > 0 {
			matched++
		}
		s.Score = sum
		mean += sum
		hits = append(hits, s.Hit)
	}
	mean /= float64(max(1, len(hits)))
	slices.SortFunc(hits, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Revision, b.Revision), cmp.Compare(a.Ordinal, b.Ordinal))
	})
	return hits[:min(k, len(hits))], matched, mean
}

func show(blocks []*Block, shown func(revision int64) bool) []Shown {
	var all []Shown
	for _, b := range blocks {
		revisions := b.Revisions()
		all = append(all, Shown{b, b.Spans(func(run int) bool { return shown(revisions[run]) })})
	}
	return all
}

// sameHits compares hits whose scores were summed in different orders.
func sameHits(a, b []Hit) bool {
	return slices.EqualFunc(a, b, func(x, y Hit) bool {
		return x.Revision == y.Revision && x.Ordinal == y.Ordinal && math.Abs(x.Score-y.Score) < 1e-5
	})
}

func TestSearch_FindsWhatAPlainScanFinds(t *testing.T) {
	rnd := random(t)
	for _, c := range []struct{ dimensions, vectors int }{{1, 5}, {3, 40}, {8, 1}, {24, 3000}, {1537, 900}, {40_000, 70}} {
		blocks, all := build(t, rnd, c.dimensions, c.vectors, 1)
		for _, share := range []int{0, 1, 50, 99, 100} {
			hidden := map[int64]bool{}
			for _, s := range all {
				hidden[s.Revision] = rnd.IntN(100) >= share
			}
			shown := func(revision int64) bool { return !hidden[revision] }
			query, k := unitVector(t, rnd, c.dimensions), 1+rnd.IntN(30)
			want, matched, mean := slowly(all, shown, query, k)
			got, err := Search(t.Context(), show(blocks, shown), query, k)
			if err != nil {
				t.Fatal(err)
			}
			if !sameHits(want, got.Hits) || got.Matched != matched || math.Abs(got.Mean-mean) > 1e-5 {
				t.Errorf("%d × %d, %d%% shown: %d hits %v of %d, mean %v, want %d hits %v of %d, mean %v", c.vectors, c.dimensions,
					share, len(got.Hits), got.Hits, got.Matched, got.Mean, len(want), want, matched, mean)
			}
		}
	}
}

func TestSearch_BreaksTiesByTheOrderOfIngestion(t *testing.T) {
	b := NewBuilder(2)
	same := Encode([]float32{0, 1})
	for _, at := range []Hit{{Revision: 7, Ordinal: 1}, {Revision: 7, Ordinal: 0}, {Revision: 3, Ordinal: 2}, {Revision: 9}} {
		if err := b.Add(at.Revision, at.Ordinal, same); err != nil {
			t.Fatal(err)
		}
	}
	found, err := Search(t.Context(), show(b.Blocks(), func(int64) bool { return true }), []float32{0, 1}, 3)
	want := []Hit{{3, 2, 1}, {7, 0, 1}, {7, 1, 1}}
	if diff := gocmp.Diff(want, found.Hits); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if found.Seen != 4 || found.Matched != 4 || found.Mean != 1 {
		t.Errorf("%+v, want 4 seen and matched with a mean of 1", found)
	}
}

func TestSearch_EndsWithItsContext(t *testing.T) {
	blocks, _ := build(t, random(t), 8, 100, 1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Search(ctx, show(blocks, func(int64) bool { return true }), make([]float32, 8), 1)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
}

// TestJoin_LeavesTheBlocksAsTheyAre joins repeatedly, as additions to a corpus do, while earlier
// results are still in use.
func TestJoin_LeavesTheBlocksAsTheyAre(t *testing.T) {
	const dimensions = 16_384
	rnd := random(t)
	type moment struct {
		blocks []*Block
		all    []stored
	}
	var moments []moment
	var now moment
	for round := range 40 {
		// Every third round continues the last revision of the previous one.
		blocks, added := build(t, rnd, dimensions, 1+rnd.IntN(10), int64(1+round-round%3))
		kept := slices.Clone(now.blocks)
		for _, b := range blocks {
			if n := len(kept); n > 0 {
				if joined := Join(kept[n-1], b); joined != nil {
					kept[n-1] = joined
					continue
				}
			}
			kept = append(kept, b)
		}
		now = moment{kept, slices.Concat(now.all, added)}
		moments = append(moments, now)
	}
	query := unitVector(t, rnd, dimensions)
	everything := func(int64) bool { return true }
	for i, m := range moments {
		want, _, _ := slowly(m.all, everything, query, 1000)
		got, err := Search(t.Context(), show(m.blocks, everything), query, 1000)
		if err != nil || !sameHits(want, got.Hits) {
			t.Errorf("after round %d: %d hits, want %d, or others (%v)", i, len(got.Hits), len(want), err)
		}
	}
	if n := len(now.blocks); n < 2 || n > 10 {
		t.Errorf("everything is in %d blocks, want a few", n)
	}
}

func TestKeep_LeavesOutRuns(t *testing.T) {
	rnd := random(t)
	blocks, all := build(t, rnd, 8, 200, 1)
	odd := func(revision int64) bool { return revision%2 == 1 }
	revisions := blocks[0].Revisions()
	kept := blocks[0].Keep(func(run int) bool { return odd(revisions[run]) })
	query := unitVector(t, rnd, 8)
	want, _, _ := slowly(all, odd, query, 50)
	got, err := Search(t.Context(), show([]*Block{kept}, func(int64) bool { return true }), query, 50)
	if err != nil || !sameHits(want, got.Hits) {
		t.Errorf("found %v (%v), want %v", got.Hits, err, want)
	}
	if rest := kept.Keep(func(int) bool { return false }); rest != nil {
		t.Errorf("%d vectors are left of none", rest.Len())
	}
}

func TestScore_FindsTheVectorOfAChunk(t *testing.T) {
	rnd := random(t)
	b := NewBuilder(8)
	var all []stored
	for i, revision := range []int64{50, 50, 1, 90, 90, 90, 50, 2} { // out of order, and 50 has two runs
		s := stored{Hit{Revision: revision, Ordinal: i}, unitVector(t, rnd, 8)}
		if err := b.Add(revision, i, Encode(s.values)); err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	block, query := b.Blocks()[0], unitVector(t, rnd, 8)
	for _, s := range all {
		want, _, _ := slowly([]stored{s}, func(int64) bool { return true }, query, 1)
		got, ok := block.Score(query, s.Revision, s.Ordinal)
		if !ok || math.Abs(got-want[0].Score) > 1e-5 {
			t.Errorf("score of %v: %v, %v, want %v", s.Hit, got, ok, want[0].Score)
		}
	}
	for _, missing := range []Hit{{Revision: 50, Ordinal: 9}, {Revision: 51}, {Revision: 0}, {Revision: 99}} {
		if _, ok := block.Score(query, missing.Revision, missing.Ordinal); ok {
			t.Errorf("%v has a score", missing)
		}
	}
}

func TestDot_IsTheSameWithAndWithoutSIMD(t *testing.T) {
	rnd := random(t)
	for _, n := range []int{1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 384, 1536, 1537} {
		a, b := unitVector(t, rnd, n), unitVector(t, rnd, n)
		want := 0.0
		for i := range a {
			want += float64(a[i]) * float64(b[i])
		}
		for name, f := range map[string]func(a, b []float32) float32{"SIMD": choose(true), "Go": choose(false)} {
			if name == "SIMD" && !simd() {
				continue
			}
			if got := float64(f(a, b)); math.Abs(got-want) > 1e-5 {
				t.Errorf("%s, %d dimensions: %v, want %v", name, n, got, want)
			}
		}
	}
}

func TestNormalize_RefusesWhatHasNoDirection(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, v := range [][]float32{nil, {}, {0, 0}, {1, nan}, {inf, 1}, {-inf, inf}} {
		if got, err := Normalize(v); err == nil {
			t.Errorf("Normalize(%v) = %v", v, got)
		}
	}
	got, err := Normalize([]float32{3e30, 4e30}) // their squares overflow a float32
	if err != nil || math.Abs(float64(got[0])-.6) > 1e-6 || math.Abs(float64(got[1])-.8) > 1e-6 {
		t.Errorf("got %v (%v), want 0.6 and 0.8", got, err)
	}
}

func TestAdd_RefusesWhatIsNoUnitVector(t *testing.T) {
	nan := float32(math.NaN())
	for name, bytes := range map[string][]byte{
		"too short": Encode([]float32{1}), "too long": Encode([]float32{1, 0, 0}), "empty": {}, "torn": {1, 2, 3, 4, 5},
		"not a number": Encode([]float32{nan, 1}), "huge": Encode([]float32{1e9, 1}),
	} {
		if err := NewBuilder(2).Add(1, 0, bytes); err == nil {
			t.Errorf("%s: Add took it", name)
		}
	}
}

// BenchmarkSearch compares queries with 100,000 vectors, with and without SIMD. It reports the
// median and 99th percentile of a search, and the heap that the vectors take. Command bench reads
// these metrics by name.
func BenchmarkSearch(b *testing.B) {
	for _, dimensions := range []int{384, 1536} {
		rnd := rand.New(rand.NewPCG(1, 1))
		before := heap()
		builder := NewBuilder(dimensions)
		for i := range 100_000 {
			if err := builder.Add(int64(i/10), i%10, Encode(unitVector(b, rnd, dimensions))); err != nil {
				b.Fatal(err)
			}
		}
		shown := show(builder.Blocks(), func(int64) bool { return true })
		size := heap() - before
		for _, with := range []bool{true, false} {
			if with && !simd() {
				continue
			}
			b.Run(fmt.Sprintf("dimensions=%d/simd=%v", dimensions, with), func(b *testing.B) {
				defer func(f func(a, b []float32) float32) { dot = f }(dot)
				dot = choose(with)
				var took []time.Duration
				for b.Loop() {
					query := unitVector(b, rnd, dimensions)
					began := time.Now()
					if _, err := Search(b.Context(), shown, query, 100); err != nil {
						b.Fatal(err)
					}
					took = append(took, time.Since(began))
				}
				slices.Sort(took)
				b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
				b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
				b.ReportMetric(size, "heap-MiB")
			})
		}
	}
}

// heap returns the live heap in MiB.
func heap() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc) / (1 << 20)
}
