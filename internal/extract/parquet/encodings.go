package parquet

import (
	"encoding/binary"
	"slices"

	"parley/internal/extract"
)

// values returns the next value of a page as text.
type values func() (string, error)

// bitsAt returns width bits, at most 64, from a position in bits, the lowest first; false if there are too few.
func bitsAt(data []byte, at uint64, width uint) (uint64, bool) {
	if at+uint64(width) > 8*uint64(len(data)) {
		return 0, false
	}
	var v uint64
	for got := uint(0); got < width; {
		shift := uint(at+uint64(got)) & 7
		v |= uint64(data[(at+uint64(got))>>3]>>shift) << got
		got += 8 - shift
	}
	if width < 64 {
		v &= 1<<width - 1
	}
	return v, true
}

// hybrid decodes small numbers of a fixed width. They are stored as runs of one repeated number, or of packed numbers.
type hybrid struct {
	data     []byte
	width    uint
	left     uint64 // numbers left of the run
	packed   bool
	reversed bool   // the highest bit of a packed number comes first
	value    uint64 // of a run of one number
	at       uint64 // of packed numbers: position in bits
}

func (h *hybrid) next() (uint64, error) {
	for h.left == 0 {
		if h.packed {
			h.data, h.packed, h.at = h.data[min((h.at+7)/8, uint64(len(h.data))):], false, 0
		}
		head, n := binary.Uvarint(h.data)
		if n <= 0 || head>>1 > 1<<32 {
			return 0, broken()
		}
		h.data = h.data[n:]
		if h.packed = head&1 == 1; h.packed {
			h.left = head >> 1 * 8
			continue
		}
		h.left = head >> 1
		size := int(h.width+7) / 8
		if len(h.data) < size {
			return 0, broken()
		}
		h.value = 0
		for i, b := range h.data[:size] {
			h.value |= uint64(b) << (8 * i)
		}
		h.data = h.data[size:]
	}
	h.left--
	if !h.packed {
		return h.value, nil
	}
	v, ok := bitsAt(h.data, h.at, h.width)
	if !ok {
		return 0, broken()
	}
	if h.reversed {
		v = 0
		for i := range uint64(h.width) {
			v = v<<1 | uint64(h.data[(h.at+i)/8]>>(7-(h.at+i)%8)&1)
		}
	}
	h.at += uint64(h.width)
	return v, nil
}

// ofDictionary decodes values that are stored as numbers of dictionary entries.
func ofDictionary(data []byte, dictionary []string) values {
	var h hybrid
	if len(data) > 0 { // a page without values may have no bytes
		h = hybrid{data: data[1:], width: uint(min(data[0], 32))}
	}
	return func() (string, error) {
		i, err := h.next()
		if err != nil || i >= uint64(len(dictionary)) {
			return "", broken()
		}
		return dictionary[i], nil
	}
}

// plain decodes values that are stored one after the other.
func (l *leaf) plain(data []byte) values {
	at := 0
	switch l.physical {
	case boolean:
		return func() (string, error) {
			v, ok := bitsAt(data, uint64(at), 1)
			if at++; !ok {
				return "", broken()
			}
			return l.show(raw{n: v}), nil
		}
	case byteArrays:
		return func() (string, error) {
			if len(data)-at < 4 {
				return "", broken()
			}
			n := binary.LittleEndian.Uint32(data[at:])
			if at += 4; uint64(n) > uint64(len(data)-at) {
				return "", broken()
			}
			at += int(n)
			return l.show(raw{b: data[at-int(n) : at]}), nil
		}
	}
	width := l.width()
	return func() (string, error) {
		if len(data)-at < width {
			return "", broken()
		}
		at += width
		return l.show(l.fixed(data[at-width : at])), nil
	}
}

// width returns the size in bytes of values of a fixed size.
func (l *leaf) width() int {
	switch l.physical {
	case int32s, floats:
		return 4
	case int96s:
		return 12
	case fixedBytes:
		return int(l.length)
	}
	return 8
}

func (l *leaf) fixed(b []byte) raw {
	switch l.physical {
	case int32s, floats:
		return raw{n: uint64(binary.LittleEndian.Uint32(b))}
	case int64s, doubles:
		return raw{n: binary.LittleEndian.Uint64(b)}
	}
	return raw{b: b}
}

// split decodes BYTE_STREAM_SPLIT: the first bytes of all values, then the second ones, and so on.
func (l *leaf) split(data []byte) values {
	width, i := l.width(), 0
	n := len(data) / max(width, 1)
	b := make([]byte, width)
	return func() (string, error) {
		if i >= n {
			return "", broken()
		}
		for k := range b {
			b[k] = data[k*n+i]
		}
		i++
		return l.show(l.fixed(b)), nil
	}
}

// deltas decodes DELTA_BINARY_PACKED: whole numbers as differences from the previous number, packed in blocks.
type deltas struct {
	thrift
	perMini uint64 // numbers of a miniblock
	minis   uint64 // miniblocks of a block
	left    uint64 // numbers that have not been returned
	value   int64  // the next one

	widths []byte // of the miniblocks of this block that have not begun
	least  int64  // smallest difference of this block
	mini   []byte // the miniblock
	got    uint64 // numbers taken from it
}

// newDeltas reads the head. The numbers may be at most most.
func newDeltas(data []byte, most int64) (deltas, error) {
	d := deltas{thrift: thrift{data: data}}
	size := d.unsigned()
	d.minis, d.left, d.value = d.unsigned(), d.unsigned(), d.int()
	if d.broken || d.minis == 0 || d.minis > size || size > 1<<24 || d.left > uint64(max(most, 0)) {
		return d, broken()
	}
	d.perMini = size / d.minis
	d.got = d.perMini
	return d, nil
}

func (d *deltas) next() (int64, error) {
	if d.left == 0 {
		return 0, broken()
	}
	value := d.value
	if d.left--; d.left == 0 {
		return value, nil
	}
	if d.got == d.perMini {
		if len(d.widths) == 0 {
			d.least, d.widths = d.int(), d.take(d.minis)
		}
		if d.broken || d.widths[0] > 64 {
			return 0, broken()
		}
		d.mini = d.take(min(d.perMini*uint64(d.widths[0])/8, uint64(len(d.data)-d.at)))
		d.got = 0
	}
	v, ok := bitsAt(d.mini, d.got*uint64(d.widths[0]), uint(d.widths[0]))
	if d.got++; !ok {
		return 0, broken()
	}
	if d.got == d.perMini {
		d.widths = d.widths[1:]
	}
	d.value += d.least + int64(v)
	return value, nil
}

// rest returns the data after the numbers.
func (d deltas) rest() ([]byte, error) { //nolint:gocritic // it reads ahead with a copy
	for d.left > 0 {
		if _, err := d.next(); err != nil {
			return nil, err
		}
	}
	return d.data[d.at:], nil
}

func (l *leaf) deltaNumbers(data []byte, most int64) (values, error) {
	d, err := newDeltas(data, most)
	return func() (string, error) {
		n, err := d.next()
		return l.show(raw{n: uint64(n)}), err
	}, err
}

// lengths decodes DELTA_LENGTH_BYTE_ARRAY: the lengths of all values, then their bytes.
func lengths(data []byte, most int64) (func() ([]byte, error), error) {
	d, err := newDeltas(data, most)
	if err != nil {
		return nil, err
	}
	data, err = d.rest()
	return func() ([]byte, error) {
		n, err := d.next()
		if err != nil || n < 0 || n > int64(len(data)) {
			return nil, broken()
		}
		b := data[:n]
		data = data[n:]
		return b, nil
	}, err
}

func (l *leaf) deltaLengths(data []byte, most int64) (values, error) {
	next, err := lengths(data, most)
	return func() (string, error) {
		b, err := next()
		if err != nil {
			return "", err
		}
		return l.show(raw{b: b}), nil
	}, err
}

// deltaBytes decodes DELTA_BYTE_ARRAY: for each value, the number of bytes that it shares with the value before, and then
// its other bytes. Together the values may have allowed bytes.
func (l *leaf) deltaBytes(data []byte, most, allowed int64) (values, error) {
	shared, err := newDeltas(data, most)
	if err != nil {
		return nil, err
	}
	if data, err = shared.rest(); err != nil {
		return nil, err
	}
	suffix, err := lengths(data, most)
	var last []byte
	return func() (string, error) {
		n, err := shared.next()
		if err != nil || n < 0 || n > int64(len(last)) {
			return "", broken()
		}
		end, err := suffix()
		if err != nil {
			return "", err
		}
		last = slices.Concat(last[:n], end)
		if allowed -= int64(len(last)); allowed < 0 {
			return "", extract.TooLargef("its columns need more memory than allowed")
		}
		return l.show(raw{b: last}), nil
	}, err
}
