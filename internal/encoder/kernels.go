package encoder

import "math"

// Sizes of the blocks in which matrices are multiplied.
const (
	tileRows     = 8  // rows of activations that one tile covers
	tileColumns  = 32 // outputs that one tile covers: two panels
	panelColumns = 16 // outputs in one panel of weights
	panelStep    = 4 * panelColumns
	floatRows    = 8 // rows of one tile of floats, which has panelColumns columns
	normRows     = 8 // rows that are normalised at a time
)

// tile holds the sums of tileRows rows and tileColumns outputs.
type tile [tileRows * tileColumns]int32

// quantized is a matrix of activations in eight bits: the value of b in row r is
// (b - zero[r]) * scale[r]. Its rows are padded to a multiple of tileRows.
type quantized struct {
	bytes []uint8
	zero  []int32
	scale []float32
}

// kernels are the inner loops. Each has one form in plain Go, which says what it computes, and
// others in assembly, which tests compare with it. Lengths of rows are multiples of panelColumns,
// or of 32 for bytes; the callers pad them. The k of floatTile is any number from 1 on.
type kernels struct {
	name string

	// tile computes acc[r][c] = Σ a[r][k]·b[k][c] for 8 rows of bytes, lda apart, and two panels
	// of weights. panel is the length of one panel in bytes, so k runs to panel/panelColumns.
	// Weights lie within ±64: pairs of products then fit into 16 bits, which AVX2 relies on.
	tile func(acc *tile, a []uint8, lda int, b []int8, panel int)
	// scale turns the first rows of acc into floats: out[r][c] = (acc[r][c] - zero[r]·sums[c]) ·
	// scale[r] · scales[c] + bias[c]. Rows of out are ldo apart.
	scale func(out []float32, ldo int, acc *tile, rows int, q *quantized, sums []int32, scales, bias []float32)
	// floatTile computes c[r][j] = Σ a[r][i]·b[i][j] for 8 rows and 16 columns, i < k.
	floatTile func(c []float32, ldc int, a []float32, lda int, b []float32, k int)
	// limits returns the least and the greatest of x.
	limits func(x []float32) (low, high float32)
	// bytes computes dst[i] = x[i]·inverse + zero, rounded to even and clamped to a byte.
	bytes func(dst []uint8, x []float32, inverse float32, zero int32)
	// exp replaces x by exp(x - high) and returns the sum.
	exp func(x []float32, high float32) float32
	// gelu replaces x by x·Φ(x).
	gelu func(x []float32)
	// norm adds add to x, normalises each of the 8 rows of x to mean 0 and variance 1, and then scales and shifts it.
	// It may overwrite add.
	norm func(x, add []float32, n layerNorm, epsilon float32)
}

// Fast reports whether this processor has kernels in assembly. Plain Go is about a hundred times slower than
// the fastest of them: enough for making vectors in the background, too slow for reading while somebody waits.
func Fast() bool { return newKernels().name != plain.name }

var plain = kernels{
	name: "plain Go",
	tile: func(acc *tile, a []uint8, lda int, b []int8, panel int) {
		clear(acc[:])
		for half := range 2 {
			w := b[half*panel : (half+1)*panel]
			for r := range tileRows {
				sums := acc[r*tileColumns+half*panelColumns:][:panelColumns]
				row := a[r*lda:]
				for g := range panel / panelStep {
					a0, a1, a2, a3 := int32(row[4*g]), int32(row[4*g+1]), int32(row[4*g+2]), int32(row[4*g+3])
					step := w[g*panelStep:][:panelStep]
					for c := range sums {
						sums[c] += a0*int32(step[4*c]) + a1*int32(step[4*c+1]) + a2*int32(step[4*c+2]) + a3*int32(step[4*c+3])
					}
				}
			}
		}
	},
	scale: func(out []float32, ldo int, acc *tile, rows int, q *quantized, sums []int32, scales, bias []float32) {
		for r := range rows {
			row := out[r*ldo:][:tileColumns]
			for c := range row {
				row[c] = float32(acc[r*tileColumns+c]-q.zero[r]*sums[c])*q.scale[r]*scales[c] + bias[c]
			}
		}
	},
	floatTile: func(c []float32, ldc int, a []float32, lda int, b []float32, k int) {
		for r := range floatRows {
			row := c[r*ldc:][:panelColumns]
			clear(row)
			for i := range k {
				x := a[r*lda+i]
				for j, y := range b[i*panelColumns:][:panelColumns] {
					row[j] += x * y
				}
			}
		}
	},
	limits: func(x []float32) (low, high float32) {
		low, high = x[0], x[0]
		for _, v := range x {
			low, high = min(low, v), max(high, v)
		}
		return low, high
	},
	bytes: func(dst []uint8, x []float32, inverse float32, zero int32) {
		for i, v := range x {
			dst[i] = uint8(min(255, max(0, int32(math.RoundToEven(float64(v*inverse)))+zero)))
		}
	},
	exp: func(x []float32, high float32) float32 {
		var sum float32
		for i, v := range x {
			x[i] = float32(math.Exp(float64(v - high)))
			sum += x[i]
		}
		return sum
	},
	gelu: func(x []float32) {
		for i, v := range x {
			x[i] = float32(0.5 * float64(v) * (1 + math.Erf(float64(v)/math.Sqrt2)))
		}
	},
	norm: func(x, add []float32, n layerNorm, epsilon float32) {
		size := len(n.gain)
		for i := range x[:normRows*size] {
			x[i] += add[i]
		}
		for r := range normRows {
			n.apply(x[r*size:][:size], epsilon)
		}
	},
}
