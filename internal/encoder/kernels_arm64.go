package encoder

import "golang.org/x/sys/cpu"

//go:noescape
func tileNEON(acc *int32, a *uint8, lda, groups int, b *int8)

//go:noescape
func scaleTileNEON(out *float32, ldo int, acc *int32, rows int, zero *int32, scale *float32, sums *int32, scales, bias *float32)

//go:noescape
func floatTileNEON(c *float32, ldc int, a *float32, lda int, b *float32, k int)

//go:noescape
func rangeNEON(x *float32, n int) (low, high float32)

//go:noescape
func bytesNEON(dst *uint8, x *float32, n int, inverse float32, zero int32)

//go:noescape
func expNEON(x *float32, n int, high float32) float32

//go:noescape
func geluNEON(x *float32, n int)

// newKernels returns the fastest kernels that this processor runs.
func newKernels() kernels { return supported()[0] }

// supported returns the kernels that this processor runs, fastest first. The last are plain Go.
func supported() []kernels {
	if !cpu.ARM64.HasASIMDDP {
		return []kernels{plain}
	}
	neon := kernels{
		name: "NEON with dot product",
		tile: func(acc *tile, a []uint8, lda int, b []int8, panel int) {
			const columns = panelColumns / 2 // that one call covers
			for c := 0; c < tileColumns; c += columns {
				at := c/panelColumns*panel + c%panelColumns*4
				tileNEON(&acc[c], &a[0], lda, panel/panelStep, &b[at])
			}
		},
		scale: func(out []float32, ldo int, acc *tile, rows int, q *quantized, sums []int32, scales, bias []float32) {
			scaleTileNEON(&out[0], 4*ldo, &acc[0], rows, &q.zero[0], &q.scale[0], &sums[0], &scales[0], &bias[0])
		},
		floatTile: func(c []float32, ldc int, a []float32, lda int, b []float32, k int) {
			for r := 0; r < floatRows; r += 4 {
				floatTileNEON(&c[r*ldc], 4*ldc, &a[r*lda], 4*lda, &b[0], k)
			}
		},
		limits: func(x []float32) (low, high float32) { return rangeNEON(&x[0], len(x)) },
		bytes: func(dst []uint8, x []float32, inverse float32, zero int32) {
			bytesNEON(&dst[0], &x[0], len(x), inverse, zero)
		},
		exp:  func(x []float32, high float32) float32 { return expNEON(&x[0], len(x), high) },
		gelu: func(x []float32) { geluNEON(&x[0], len(x)) },
		norm: plain.norm,
	}
	return []kernels{neon, plain}
}
