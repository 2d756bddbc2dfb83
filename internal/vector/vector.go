// Package vector searches vectors: exactly, whatever their number, by the dot product of the query
// with every vector that the caller may see. On x86 with AVX2 the products are SIMD; elsewhere they
// are plain Go, which takes about two and a half times as long.
//
// Vectors lie in immutable blocks, each with the revisions and ordinals of the chunks that they
// belong to. What a caller may not see is left out by spans over the blocks, before the best are
// chosen.
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

// dot returns the dot product of two vectors of one length, which is not 0.
var dot = choose(simd())

// simd reports whether this processor runs vek's SIMD code.
func simd() bool { return vek.Info().Acceleration }

func choose(simd bool) func(a, b []float32) float32 {
	if simd {
		return vek32.Dot
	}
	return dotGo
}

// dotGo has four sums, so that an addition need not wait for the one before: on processors without
// SIMD code it is twice as fast as the plain loop that vek falls back to.
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

// Normalize returns v with the length 1, so that dot products are cosines. The error says that v
// has no direction: it is empty or zero, or holds what is no number.
func Normalize(v []float32) ([]float32, error) {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if !(sum > 0) || math.IsInf(sum, 0) { // a NaN is not above zero
		return nil, ErrDirection
	}
	scale := 1 / math.Sqrt(sum)
	unit := make([]float32, len(v))
	for i, x := range v {
		unit[i] = float32(float64(x) * scale)
	}
	return unit, nil
}

// ErrDirection says that a vector points nowhere.
var ErrDirection = errors.New("the vector is zero, or holds what is no number")

// Encode returns a vector as little-endian bytes.
func Encode(v []float32) []byte {
	b := make([]byte, 0, 4*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

// appendDecoded appends the vector of some bytes to values. What is no number is an error, since it
// would spoil every ranking that it takes part in.
func appendDecoded(values []float32, b []byte, dimensions int) ([]float32, error) {
	if len(b) != 4*dimensions {
		return nil, fmt.Errorf("a vector has %d bytes, not those of %d dimensions", len(b), dimensions)
	}
	for ; len(b) > 0; b = b[4:] {
		x := math.Float32frombits(binary.LittleEndian.Uint32(b))
		if !(x >= -2 && x <= 2) { // of a unit vector, with room for rounding
			return nil, ErrDirection
		}
		values = append(values, x)
	}
	return values, nil
}
