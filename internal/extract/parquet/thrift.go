package parquet

import (
	"encoding/binary"
	"slices"
)

// thrift decodes values in Thrift's compact protocol. After a fault it is broken and returns zeros, so that callers need to check
// only once, at the end.
type thrift struct {
	data   []byte
	at     int
	broken bool
	nodes  int // values that may still be kept
	deep   int // values that enclose the current one
}

// node is a decoded value: a number or truth value, or bytes, or the members of a list or struct.
type node struct {
	id int64 // of a member of a struct
	n  int64
	b  []byte
	in []node
}

// get returns a member of a struct, or an empty node if there is none.
func (n node) get(id int64) node {
	if i := slices.IndexFunc(n.in, func(m node) bool { return m.id == id }); i >= 0 {
		return n.in[i]
	}
	return node{}
}

func (n node) has(id int64) bool {
	return slices.ContainsFunc(n.in, func(m node) bool { return m.id == id })
}

// The types of values that need a name.
const (
	thriftList   = 9
	thriftStruct = 12
)

// take returns the next n bytes.
func (t *thrift) take(n uint64) []byte {
	if t.broken || n > uint64(len(t.data)-t.at) {
		t.broken = true
		return nil
	}
	t.at += int(n)
	return t.data[t.at-int(n) : t.at]
}

func (t *thrift) byte() byte {
	if b := t.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (t *thrift) unsigned() uint64 {
	v, n := binary.Uvarint(t.data[t.at:])
	t.take(uint64(max(n, 0)))
	t.broken = t.broken || n <= 0
	return v
}

func (t *thrift) int() int64 {
	v := t.unsigned()
	return int64(v>>1) ^ -int64(v&1)
}

// field reads the header of the next field of a struct; ok is false at the end of the struct. The header gives the id as a
// difference from that of the field before.
func (t *thrift) field(before int64) (id int64, kind byte, ok bool) {
	head := t.byte()
	if id = before + int64(head>>4); head != 0 && head>>4 == 0 {
		id = t.int()
	}
	return id, head & 15, head != 0 && !t.broken
}

func (t *thrift) list() (kind byte, n uint64) {
	head := t.byte()
	if n = uint64(head >> 4); n == 15 {
		n = t.unsigned()
	}
	return head & 15, n
}

// value reads a value. Truth values take a byte in lists and none in structs.
func (t *thrift) value(kind byte, inList bool) (v node) {
	const deepest = 32
	t.deep, t.nodes = t.deep+1, t.nodes-1
	if t.broken = t.broken || t.deep > deepest || t.nodes < 0; t.broken {
		return v
	}
	switch kind {
	case 1, 2: // true, false
		if v.n = int64(kind & 1); inList {
			v.n = int64(t.byte() & 1)
		}
	case 3:
		v.n = int64(t.byte())
	case 4, 5, 6:
		v.n = t.int()
	case 7: // a floating-point number
		t.take(8)
	case 8:
		v.b = t.take(t.unsigned())
	case thriftList, 10: // a list, a set
		of, n := t.list()
		for ; n > 0 && !t.broken; n-- {
			v.in = append(v.in, t.value(of, true))
		}
	case 11: // a map, which is skipped
		if n := t.unsigned(); n > 0 {
			for kinds := t.byte(); n > 0 && !t.broken; n-- {
				t.value(kinds>>4, true)
				t.value(kinds&15, true)
			}
		}
	case thriftStruct:
		for id, of, ok := t.field(0); ok; id, of, ok = t.field(id) {
			m := t.value(of, false)
			m.id = id
			v.in = append(v.in, m)
		}
	default:
		t.broken = true
	}
	t.deep--
	return v
}
