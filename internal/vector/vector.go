// Package vector searches vectors exactly: it takes the dot product of the query with every vector
// that the caller may see. On x86 with AVX2 the products are SIMD; elsewhere they are plain Go,
// which takes about two and a half times as long.
//
// Vectors are stored in immutable blocks, with the revisions and ordinals of their chunks. Spans
// over the blocks leave out the chunks that the caller may not see, before the best are chosen.
//
//	b := vector.NewBuilder(len(v))
//	err := b.Add(revision, ordinal, vector.Encode(v))
//	…
//	block := b.Blocks()[0]
//	shown := []vector.Shown{{Block: block, Spans: block.Spans(maySee)}}
//	found, err := vector.Search(ctx, shown, query, 10)
package vector

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/viterin/vek"
	"github.com/viterin/vek/vek32"
)

// dot returns the dot product of two vectors of the same length, which must not be 0.
var dot = choose(simd())

// simd reports whether this processor runs vek's SIMD code.
func simd() bool { return vek.Info().Acceleration }

func choose(simd bool) func(a, b []float32) float32 {
	if simd {
		return vek32.Dot
	}
	return dotGo
}

// dotGo keeps four sums, so that an addition need not wait for the previous one. On processors
// without SIMD code it is twice as fast as vek's plain loop.
func dotGo(a, b []float32) float32 {
	b = b[:len(a)]
	var s0, s1, s2, s3 float32
	for len(a) >= 8 {
		x, y := a[:8:8], b[:8:8]
		s0 += x[0]*y[0] + x[4]*y[4]
		s1 += x[1]*y[1] + x[5]*y[5]
		s2 += x[2]*y[2] + x[6]*y[6]
		s3 += x[3]*y[3] + x[7]*y[7]
		a, b = a[8:], b[8:]
	}
	for i := range a {
		s0 += a[i] * b[i]
	}
	return s0 + s1 + s2 + s3
}

// Normalize returns v scaled to length 1, so that dot products are cosines. It fails if v is empty
// or zero, or contains NaN or an infinity.
func Normalize(v []float32) ([]float32, error) {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if !(sum > 0) || math.IsInf(sum, 0) { // false for NaN, too
		return nil, ErrDirection
	}
	scale := 1 / math.Sqrt(sum)
	unit := make([]float32, len(v))
	for i, x := range v {
		unit[i] = float32(float64(x) * scale)
	}
	return unit, nil
}

// ErrDirection says that a vector has no direction.
var ErrDirection = errors.New("the vector is zero or not finite")

// Encode returns a vector as little-endian bytes.
func Encode(v []float32) []byte {
	b := make([]byte, 0, 4*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

// Score returns the dot product of a query with an encoded vector of the same length.
func Score(query []float32, encoded []byte) (float64, error) {
	v, err := appendDecoded(make([]float32, 0, len(query)), encoded, len(query))
	if err != nil {
		return 0, err
	}
	return float64(dot(query, v)), nil
}

// appendDecoded appends an encoded vector to values. It rejects values that are not finite, since
// they would spoil every ranking.
func appendDecoded(values []float32, b []byte, dimensions int) ([]float32, error) {
	if len(b) != 4*dimensions {
		return nil, fmt.Errorf("a vector has %d bytes, which does not fit %d dimensions", len(b), dimensions)
	}
	for ; len(b) > 0; b = b[4:] {
		x := math.Float32frombits(binary.LittleEndian.Uint32(b))
		if !(x >= -2 && x <= 2) { // a unit vector's range, with room for rounding
			return nil, ErrDirection
		}
		values = append(values, x)
	}
	return values, nil
}
