package ingest

import (
	"encoding/binary"
	"errors"
	"math"

	"parley/internal/extract"
)

// runsVersion is the first byte of encoded runs.
const runsVersion = 1

// errRuns means that bytes were not written by encodeRuns.
var errRuns = errors.New("damaged character map")

// encodeRuns packs the character map of a page for retrieval.Page.Map; nil for no runs.
//
// After a version byte there are two varints for each run: the distance of its start from the previous
// run in bytes of text, and its Char. A Char is written as 0 for -1, and otherwise as 1 plus the zigzag
// difference to its value if the runs so far had been ASCII without gaps, so that most runs take two
// bytes.
func encodeRuns(runs []extract.Run) []byte {
	if len(runs) == 0 {
		return nil
	}
	b := make([]byte, 1, 1+3*len(runs))
	b[0] = runsVersion
	offset, expected := 0, 0
	for _, r := range runs {
		b = binary.AppendUvarint(b, uint64(r.Offset-offset))
		if r.Char < 0 {
			b = binary.AppendUvarint(b, 0)
			offset = r.Offset
			continue
		}
		expected += r.Offset - offset
		d := int64(r.Char - expected)
		b = binary.AppendUvarint(b, 1+uint64(d<<1^d>>63))
		offset, expected = r.Offset, r.Char
	}
	return b
}

// DecodeRuns unpacks the result of encodeRuns.
func DecodeRuns(b []byte) ([]extract.Run, error) {
	if len(b) == 0 {
		return nil, nil
	}
	if b[0] != runsVersion {
		return nil, errRuns
	}
	b = b[1:]
	runs := make([]extract.Run, 0, len(b)/2)
	offset, expected := 0, 0
	for len(b) > 0 {
		step, n := binary.Uvarint(b)
		if n <= 0 || step > 1<<40 {
			return nil, errRuns
		}
		b = b[n:]
		code, n := binary.Uvarint(b)
		if n <= 0 || code > 1<<40 {
			return nil, errRuns
		}
		b = b[n:]
		offset += int(step)
		if code == 0 {
			runs = append(runs, extract.Run{Offset: offset, Char: -1})
			continue
		}
		zigzag := code - 1
		expected += int(step) + int(int64(zigzag>>1)^-int64(zigzag&1))
		if expected < 0 || offset < 0 {
			return nil, errRuns
		}
		runs = append(runs, extract.Run{Offset: offset, Char: expected})
	}
	return runs, nil
}

// boxesVersion begins a map with boxes: the length of its runs, the runs as encodeRuns writes them, and for each box
// the difference of its Char to the one before and four numbers in 65,536ths of the page.
const (
	boxesVersion = runsVersion + 1
	boxUnits     = 1 << 16
)

// encodeMap packs where the text of a page came from.
func encodeMap(p extract.Page) []byte {
	runs := encodeRuns(p.Chars)
	if len(p.Boxes) == 0 || len(runs) == 0 {
		return runs
	}
	b := binary.AppendUvarint([]byte{boxesVersion}, uint64(len(runs)))
	b = append(b, runs...)
	before := 0
	for _, box := range p.Boxes {
		b = binary.AppendUvarint(b, uint64(max(box.Char-before, 0)))
		before = box.Char
		for _, v := range []float64{box.Box.X, box.Box.Y, box.Box.Width, box.Box.Height} {
			b = binary.AppendUvarint(b, uint64(math.Round(min(max(v, 0), 1)*boxUnits)))
		}
	}
	return b
}

// DecodeMap unpacks the result of encodeMap into a page without its text.
func DecodeMap(b []byte) (p extract.Page, err error) {
	if len(b) == 0 || b[0] != boxesVersion {
		p.Chars, err = DecodeRuns(b)
		return p, err
	}
	size, n := binary.Uvarint(b[1:])
	if n <= 0 || size > uint64(len(b)-1-n) {
		return p, errRuns
	}
	b = b[1+n:]
	if p.Chars, err = DecodeRuns(b[:size]); err != nil {
		return p, err
	}
	char := uint64(0)
	for b = b[size:]; len(b) > 0; {
		var v [5]uint64
		for i := range v {
			if v[i], n = binary.Uvarint(b); n <= 0 || v[i] > 1<<40 {
				return p, errRuns
			}
			b = b[n:]
		}
		char += v[0]
		p.Boxes = append(p.Boxes, extract.CharBox{Char: int(char), Box: extract.Box{
			X: float64(v[1]) / boxUnits, Y: float64(v[2]) / boxUnits, Width: float64(v[3]) / boxUnits, Height: float64(v[4]) / boxUnits,
		}})
	}
	return p, nil
}
