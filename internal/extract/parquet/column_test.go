package parquet

import (
	"bytes"
	"encoding/binary"
	"math"
	"testing"

	"parley/internal/extract"
)

// structOf writes a struct of numbers and, where a member is one, structs; members are numbered from 1, and nil ones are left out.
func structOf(members ...any) (b []byte) {
	before := 0
	for i, m := range members {
		switch m := m.(type) {
		case int:
			b = binary.AppendVarint(append(b, byte(i+1-before)<<4|5), int64(m))
		case []byte:
			b = append(append(b, byte(i+1-before)<<4|thriftStruct), m...)
		default:
			continue
		}
		before = i + 1
	}
	return append(b, 0)
}

// Sums of sizes that a file claims may be too large for 64 bits.
func TestColumn_RefusesPagesWithImpossibleSizes(t *testing.T) {
	const most, lz4 = math.MaxInt64, 7
	for name, head := range map[string][]byte{
		"unpacked":           structOf(dataPage, most, 1),
		"levels":             structOf(dataPageV2, 1, 1, nil, nil, nil, nil, structOf(1, 0, 1, 0, most, most)),
		"number of values":   structOf(dataPageV2, 1, 1, nil, nil, nil, nil, structOf(most, 0, 1, 0, 0, 0, 2)),
		"negative, unpacked": structOf(dataPage, -1, 1),
	} {
		file := append(head, 0)
		c := column{leaf: &leaf{}, codec: lz4, t: &table{file: bytes.NewReader(file), size: int64(len(file)), cells: 1, limits: extract.Limits{MemoryBytes: 1 << 20, TextBytes: 1 << 20}}}
		if err := c.page(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
