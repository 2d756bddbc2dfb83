package encoder

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// forEachKernel runs a test for all kernels of this machine but the plain ones.
func forEachKernel(t *testing.T, test func(t *testing.T, k kernels)) {
	for _, k := range supported() {
		if k.name != plain.name {
			t.Run(k.name, func(t *testing.T) { test(t, k) })
		}
	}
	if len(supported()) == 1 {
		t.Skip("this processor runs only the kernels in plain Go")
	}
}

func random(r *rand.Rand, n int, scale float32) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64()) * scale
	}
	return x
}

// checkTile compares sums of products of a size with those of plain Go; they are integers and equal.
func checkTile(t *testing.T, k kernels, r *rand.Rand, groups int) {
	panel := groups * panelStep
	lda := groups*4 + 4*r.IntN(3)
	a, b := make([]uint8, tileRows*lda), make([]int8, 2*panel)
	for i := range a {
		a[i] = uint8(r.IntN(256))
		if r.IntN(4) == 0 {
			a[i] = 255
		}
	}
	for i := range b {
		b[i] = int8(r.IntN(129) - 64)
		if r.IntN(4) == 0 {
			b[i] = int8(128*r.IntN(2) - 64)
		}
	}
	var got, want tile
	k.tile(&got, a, lda, b, panel)
	plain.tile(&want, a, lda, b, panel)
	if got != want {
		t.Errorf("%d groups: sums differ from those of plain Go", groups)
	}
}

func TestTile_IsThatOfPlainGo(t *testing.T) {
	forEachKernel(t, func(t *testing.T, k kernels) {
		r := rand.New(rand.NewPCG(1, 2))
		for groups := 1; groups < 100; groups += 1 + r.IntN(7) {
			checkTile(t, k, r, groups)
		}
		// The greatest sums there can be: pairs of products must not overflow 16 bits.
		groups := 384
		a, b := slices.Repeat([]uint8{255}, tileRows*groups*4), slices.Repeat([]int8{64}, 2*groups*panelStep)
		var got tile
		k.tile(&got, a, groups*4, b, groups*panelStep)
		if want := int32(255 * 64 * groups * 4); got[0] != want || got[len(got)-1] != want {
			t.Errorf("got %d, want %d", got[0], want)
		}
	})
}

func FuzzTile(f *testing.F) {
	f.Add(uint64(1), 96)
	f.Fuzz(func(t *testing.T, seed uint64, groups int) {
		for _, k := range supported() {
			checkTile(t, k, rand.New(rand.NewPCG(seed, 1)), 1+int(uint(groups)%600))
		}
	})
}

func TestScale_IsThatOfPlainGo(t *testing.T) {
	forEachKernel(t, func(t *testing.T, k kernels) {
		r := rand.New(rand.NewPCG(3, 4))
		var acc tile
		for i := range acc {
			acc[i] = int32(r.IntN(2_000_000) - 1_000_000)
		}
		q := quantized{zero: make([]int32, tileRows), scale: random(r, tileRows, .1)}
		sums := make([]int32, tileColumns)
		for i := range sums {
			sums[i] = int32(r.IntN(20_000) - 10_000)
		}
		for i := range q.zero {
			q.zero[i] = int32(r.IntN(256))
		}
		scales, bias := random(r, tileColumns, .01), random(r, tileColumns, 1)
		for rows := 1; rows <= tileRows; rows++ {
			got, want := make([]float32, tileRows*40), make([]float32, tileRows*40)
			k.scale(got, 40, &acc, rows, &q, sums, scales, bias)
			plain.scale(want, 40, &acc, rows, &q, sums, scales, bias)
			near(t, fmt.Sprint(rows, " rows"), got, want, 1e-5)
		}
	})
}

func TestFloatTile_IsThatOfPlainGo(t *testing.T) {
	forEachKernel(t, func(t *testing.T, k kernels) {
		r := rand.New(rand.NewPCG(5, 6))
		for _, n := range []int{1, 2, 7, 32, 333, 512} {
			lda := n + r.IntN(5)
			a, b := random(r, floatRows*lda, 1), random(r, n*panelColumns, 1)
			got, want := make([]float32, floatRows*20), make([]float32, floatRows*20)
			k.floatTile(got, 20, a, lda, b, n)
			plain.floatTile(want, 20, a, lda, b, n)
			near(t, fmt.Sprint(n), got, want, 1e-4)
		}
	})
}

func TestRows_AreThoseOfPlainGo(t *testing.T) {
	forEachKernel(t, func(t *testing.T, k kernels) {
		r := rand.New(rand.NewPCG(7, 8))
		for n := 16; n < 600; n += 16 {
			x := random(r, n, float32(math.Pow(10, float64(r.IntN(5)-2))))
			x[r.IntN(n)] = float32(math.Inf(-1))
			exps, wantExps := slices.Clone(x), slices.Clone(x)
			_, high := k.limits(x)
			if _, want := plain.limits(x); high != want {
				t.Errorf("the greatest of %d is %g, not %g", n, high, want)
			}
			sum, wantSum := k.exp(exps, high), plain.exp(wantExps, high)
			near(t, "exp", exps, wantExps, 1e-6)
			near(t, "sum of exp", []float32{sum}, []float32{wantSum}, 1e-3)

			x = random(r, n, 3)
			gelus, wantGelus := slices.Clone(x), slices.Clone(x)
			k.gelu(gelus)
			plain.gelu(wantGelus)
			near(t, "gelu", gelus, wantGelus, 2e-6)

			low, high := k.limits(x)
			if a, b := plain.limits(x); low != a || high != b {
				t.Errorf("limits are %g and %g, not %g and %g", low, high, a, b)
			}
			if n%32 != 0 {
				continue
			}
			got, want := make([]uint8, n), make([]uint8, n)
			x[r.IntN(n)] = 1e6
			k.bytes(got, x, 255/(high-low), 100) // some values lie outside of what a byte holds
			plain.bytes(want, x, 255/(high-low), 100)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("bytes (-want +got):\n%s", diff)
			}
		}
	})
}

func TestNorm_IsThatOfPlainGo(t *testing.T) {
	forEachKernel(t, func(t *testing.T, k kernels) {
		r := rand.New(rand.NewPCG(9, 10))
		for n := 32; n < 600; n += 32 {
			x, add := random(r, normRows*n, 20), random(r, normRows*n, 3)
			norm := layerNorm{gain: random(r, n, 1), bias: random(r, n, 1)}
			want := slices.Clone(x)
			plain.norm(want, slices.Clone(add), norm, 1e-12)
			k.norm(x, add, norm, 1e-12)
			if diff := cmp.Diff(want, x); diff != "" {
				t.Errorf("rows of %d (-want +got):\n%s", n, diff)
			}
		}
	})
}

// TestKernels_RoundTheSameWay holds that all kernels in assembly, on all processors, give the same results to the last bit.
func TestKernels_RoundTheSameWay(t *testing.T) {
	forEachKernel(t, func(t *testing.T, k kernels) {
		r := rand.New(rand.NewPCG(11, 12))
		sum := fnv.New64a()
		add := func(x ...float32) {
			for _, v := range x {
				_ = binary.Write(sum, binary.LittleEndian, math.Float32bits(v))
			}
		}
		for n := 16; n <= 512; n += 16 {
			x := random(r, n, 40)
			x[0], x[1], x[2], x[n-1] = 0, -90, 90, float32(math.Inf(-1))
			low, high := k.limits(x)
			add(low, high, k.exp(x, high))
			add(x...)
			x = random(r, n, 3)
			k.gelu(x)
			add(x...)
			lda := n + r.IntN(5)
			c := make([]float32, floatRows*panelColumns)
			k.floatTile(c, panelColumns, random(r, floatRows*lda, 1), lda, random(r, n*panelColumns, 1), n-r.IntN(3))
			add(c...)
		}
		var acc tile
		q := quantized{zero: make([]int32, tileRows), scale: random(r, tileRows, .1)}
		sums := make([]int32, tileColumns)
		for i := range acc {
			acc[i] = int32(r.IntN(2_000_000) - 1_000_000)
			q.zero[i%tileRows], sums[i%tileColumns] = int32(r.IntN(256)), int32(r.IntN(20_000)-10_000)
		}
		out := make([]float32, tileRows*tileColumns)
		k.scale(out, tileColumns, &acc, tileRows, &q, sums, random(r, tileColumns, .01), random(r, tileColumns, 1))
		add(out...)
		x := random(r, normRows*384, 20)
		k.norm(x, random(r, normRows*384, 3), layerNorm{gain: random(r, 384, 1), bias: random(r, 384, 1)}, 1e-12)
		add(x...)
		if got, want := sum.Sum64(), uint64(0x903dc7225bf1f013); got != want {
			t.Errorf("the results have the sum %#x, not %#x", got, want)
		}
	})
}

func near(t *testing.T, what string, got, want []float32, within float64) {
	t.Helper()
	for i := range want {
		if d := math.Abs(float64(got[i] - want[i])); !(d <= within*max(1, math.Abs(float64(want[i])))) {
			t.Fatalf("%s: at %d %g, not %g", what, i, got[i], want[i])
		}
	}
}

func BenchmarkTile(b *testing.B) {
	const groups = 96
	a, w := make([]uint8, tileRows*groups*4), make([]int8, 2*groups*panelStep)
	for _, k := range supported() {
		b.Run(k.name, func(b *testing.B) {
			var acc tile
			for b.Loop() {
				k.tile(&acc, a, groups*4, w, groups*panelStep)
			}
			b.ReportMetric(float64(2*tileRows*tileColumns*groups*4)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GOP/s")
		})
	}
}
