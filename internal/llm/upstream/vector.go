package upstream

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"strconv"

	"parley/internal/llm"
)

// Vector is a vector of an answer: a JSON array of numbers, or little-endian 32-bit floats in a
// base64 string.
type Vector []float32

// bytesPerVector exceeds the size of the longest known vectors, 8,192 dimensions as decimals.
const bytesPerVector = 192 << 10

// VectorsLimit returns the most bytes that an answer with n vectors may have.
func VectorsLimit(n int) int { return 64<<10 + n*bytesPerVector }

// Vectors returns a slice of plain vectors.
func Vectors(list []Vector) [][]float32 {
	plain := make([][]float32, len(list))
	for i, v := range list {
		plain[i] = v
	}
	return plain
}

// UnmarshalJSON reads either form. A member that is not a number is an error that is not
// retried: servers write null for NaN.
func (v *Vector) UnmarshalJSON(b []byte) error {
	switch {
	case bytes.HasPrefix(b, []byte("[")):
		return v.parse(bytes.TrimSpace(b[1 : len(b)-1]))
	case bytes.HasPrefix(b, []byte(`"`)):
		return v.decode(b)
	}
	return errVector
}

var errVector = &llm.Error{Err: errors.New("the upstream's answer is not usable: it holds something that is not a vector")}

// parse reads numbers between commas.
func (v *Vector) parse(list []byte) error {
	out := make([]float32, 0, bytes.Count(list, []byte(","))+1)
	for len(list) > 0 {
		number, rest, _ := bytes.Cut(list, []byte(","))
		x, err := strconv.ParseFloat(string(bytes.TrimSpace(number)), 32)
		if err != nil {
			return errVector
		}
		out, list = append(out, float32(x)), rest
	}
	*v = out
	return nil
}

func (v *Vector) decode(quoted []byte) error {
	var raw []byte
	if json.Unmarshal(quoted, &raw) != nil || len(raw)%4 != 0 {
		return errVector
	}
	out := make([]float32, len(raw)/4)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	*v = out
	return nil
}
