package encoder

import "golang.org/x/sys/cpu"

//go:noescape
func tileVNNI(acc *int32, a *uint8, lda, groups int, b *int8, panel int)

//go:noescape
func tileAVX2(acc *int32, a *uint8, lda, groups int, b *int8)

//go:noescape
func scaleTileAVX2(out *float32, ldo int, acc *int32, rows int, zero *int32, scale *float32, sums *int32, scales, bias *float32)

//go:noescape
func floatTileAVX2(c *float32, ldc int, a *float32, lda int, b *float32, k int)

//go:noescape
func rangeAVX2(x *float32, n int) (low, high float32)

//go:noescape
func bytesAVX2(dst *uint8, x *float32, n int, inverse float32, zero int32)

//go:noescape
func expAVX2(x *float32, n int, high float32) float32

//go:noescape
func geluAVX2(x *float32, n int)

//go:noescape
func addAVX2(x, y *float32, n int)

//go:noescape
func sumRowsAVX2(sums *float32, x *float32, ldx, n int)

//go:noescape
func centreAVX2(x, squares *float32, n int, mean float32)

//go:noescape
func shiftAVX2(x *float32, n int, inverse float32, gain, bias *float32)

//go:noescape
func scaleTileAVX512(out *float32, ldo int, acc *int32, rows int, zero *int32, scale *float32, sums *int32, scales, bias *float32)

//go:noescape
func floatTileAVX512(c *float32, ldc int, a *float32, lda int, b *float32, k int)

//go:noescape
func rangeAVX512(x *float32, n int) (low, high float32)

//go:noescape
func bytesAVX512(dst *uint8, x *float32, n int, inverse float32, zero int32)

//go:noescape
func expAVX512(x *float32, n int, high float32) float32

//go:noescape
func geluAVX512(x *float32, n int)

// newKernels returns the fastest kernels that this processor runs.
func newKernels() kernels { return supported()[0] }

// supported returns the kernels that this processor runs, fastest first. The last are plain Go.
func supported() []kernels {
	all := []kernels{plain}
	if !cpu.X86.HasAVX2 || !cpu.X86.HasFMA {
		return all
	}
	avx2 := kernels{
		name: "AVX2",
		tile: func(acc *tile, a []uint8, lda int, b []int8, panel int) {
			groups := panel / panelStep
			for row := 0; row < tileRows; row += 4 {
				for half := range 2 {
					tileAVX2(&acc[row*tileColumns+half*panelColumns], &a[row*lda], lda, groups, &b[half*panel])
				}
			}
		},
		scale: func(out []float32, ldo int, acc *tile, rows int, q *quantized, sums []int32, scales, bias []float32) {
			scaleTileAVX2(&out[0], 4*ldo, &acc[0], rows, &q.zero[0], &q.scale[0], &sums[0], &scales[0], &bias[0])
		},
		floatTile: func(c []float32, ldc int, a []float32, lda int, b []float32, k int) {
			for r := 0; r < floatRows; r += 4 {
				floatTileAVX2(&c[r*ldc], 4*ldc, &a[r*lda], 4*lda, &b[0], k)
			}
		},
		limits: func(x []float32) (low, high float32) { return rangeAVX2(&x[0], len(x)) },
		bytes: func(dst []uint8, x []float32, inverse float32, zero int32) {
			bytesAVX2(&dst[0], &x[0], len(x), inverse, zero)
		},
		exp:  func(x []float32, high float32) float32 { return expAVX2(&x[0], len(x), high) },
		gelu: func(x []float32) { geluAVX2(&x[0], len(x)) },
		norm: normAVX2,
	}
	all = append([]kernels{avx2}, all...)
	if cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512VL && cpu.X86.HasAVX512VNNI {
		vnni := avx2
		vnni.name = "AVX-512 VNNI"
		vnni.tile = func(acc *tile, a []uint8, lda int, b []int8, panel int) {
			tileVNNI(&acc[0], &a[0], lda, panel/panelStep, &b[0], panel)
		}
		vnni.scale = func(out []float32, ldo int, acc *tile, rows int, q *quantized, sums []int32, scales, bias []float32) {
			scaleTileAVX512(&out[0], 4*ldo, &acc[0], rows, &q.zero[0], &q.scale[0], &sums[0], &scales[0], &bias[0])
		}
		vnni.floatTile = func(c []float32, ldc int, a []float32, lda int, b []float32, k int) {
			floatTileAVX512(&c[0], 4*ldc, &a[0], 4*lda, &b[0], k)
		}
		vnni.limits = func(x []float32) (low, high float32) { return rangeAVX512(&x[0], len(x)) }
		vnni.bytes = func(dst []uint8, x []float32, inverse float32, zero int32) {
			bytesAVX512(&dst[0], &x[0], len(x), inverse, zero)
		}
		vnni.exp = func(x []float32, high float32) float32 { return expAVX512(&x[0], len(x), high) }
		vnni.gelu = func(x []float32) { geluAVX512(&x[0], len(x)) }
		all = append([]kernels{vnni}, all...)
	}
	return all
}

// normAVX2 sums each row in the order of plain Go, eight rows at a time, so that the processor need not wait for each sum.
func normAVX2(x, add []float32, n layerNorm, epsilon float32) {
	size := len(n.gain)
	addAVX2(&x[0], &add[0], normRows*size)
	var sums [normRows]float32
	sumRowsAVX2(&sums[0], &x[0], 4*size, size)
	for r, sum := range sums {
		centreAVX2(&x[r*size], &add[r*size], size, sum/float32(size))
	}
	sumRowsAVX2(&sums[0], &add[0], 4*size, size)
	for r, squares := range sums {
		shiftAVX2(&x[r*size], size, inverseDeviation(squares, size, epsilon), &n.gain[0], &n.bias[0])
	}
}
