package extract

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
)

// node is a stream, or a storage with what lies in it.
type node struct {
	name     string
	data     []byte
	children []node
}

// cfbBuilder lays out a compound file of sectors of 512 bytes, small streams in the mini stream.
type cfbBuilder struct {
	dir     []byte
	mini    []byte
	miniFAT []uint32
	big     [][]byte // streams in sectors of their own
	bigAt   []int    // offsets in dir of where their starts stand
}

func makeCFB(children ...node) []byte {
	var b cfbBuilder
	b.add(node{name: "Root Entry", children: children}, cfbRoot)
	dirSectors := (len(b.dir) + 511) / 512
	miniSectors := (len(b.miniFAT)*4 + 511) / 512
	var fat []uint32
	chain := func(n int) uint32 {
		if n == 0 {
			return 0xfffffffe
		}
		start := uint32(len(fat))
		for i := range n {
			next := start + uint32(i) + 1
			if i == n-1 {
				next = 0xfffffffe
			}
			fat = append(fat, next)
		}
		return start
	}
	pad := func(p []byte) []byte { return append(p, make([]byte, (512-len(p)%512)%512)...) }
	words := func(w []uint32) []byte {
		var p []byte
		for _, v := range w {
			p = binary.LittleEndian.AppendUint32(p, v)
		}
		return p
	}
	chain(dirSectors)
	miniFATStart := chain(miniSectors)
	binary.LittleEndian.PutUint32(b.dir[116:], chain((len(b.mini)+511)/512))
	binary.LittleEndian.PutUint32(b.dir[120:], uint32(len(b.mini)))
	for i, data := range b.big {
		binary.LittleEndian.PutUint32(b.dir[b.bigAt[i]:], chain((len(data)+511)/512))
	}
	fatSectors := (len(fat)+1)/128 + 1
	header := make([]byte, 512)
	copy(header, cfbMagic)
	binary.LittleEndian.PutUint16(header[26:], 3)
	binary.LittleEndian.PutUint16(header[28:], 0xfffe)
	binary.LittleEndian.PutUint16(header[30:], 9)
	binary.LittleEndian.PutUint16(header[32:], 6)
	binary.LittleEndian.PutUint32(header[44:], uint32(fatSectors))
	binary.LittleEndian.PutUint32(header[56:], 4096)
	binary.LittleEndian.PutUint32(header[60:], miniFATStart)
	binary.LittleEndian.PutUint32(header[68:], 0xfffffffe)
	for i := range 109 {
		at := uint32(0xffffffff)
		if i < fatSectors {
			at = uint32(len(fat) + i)
		}
		binary.LittleEndian.PutUint32(header[76+4*i:], at)
	}
	out := slices.Concat(header, pad(b.dir))
	out = append(out, pad(words(b.miniFAT))...)
	out = append(out, pad(b.mini)...)
	for _, data := range b.big {
		out = append(out, pad(data)...)
	}
	for range fatSectors {
		fat = append(fat, 0xfffffffd)
	}
	for len(fat)%128 != 0 {
		fat = append(fat, 0xffffffff)
	}
	return append(out, words(fat)...)
}

// add writes the entry of a node and of all below it, and returns its number.
func (b *cfbBuilder) add(n node, kind byte) uint32 {
	number, at := uint32(len(b.dir)/128), len(b.dir)
	e := make([]byte, 128)
	units := utf16.Encode([]rune(n.name))
	for i, u := range units {
		binary.LittleEndian.PutUint16(e[2*i:], u)
	}
	binary.LittleEndian.PutUint16(e[64:], uint16(2*len(units)+2))
	e[66] = kind
	for _, off := range []int{68, 72, 76} {
		binary.LittleEndian.PutUint32(e[off:], 0xffffffff)
	}
	b.dir = append(b.dir, e...)
	if kind == cfbStream {
		binary.LittleEndian.PutUint32(b.dir[at+120:], uint32(len(n.data)))
		if len(n.data) >= 4096 {
			b.big, b.bigAt = append(b.big, n.data), append(b.bigAt, at+116)
		} else {
			binary.LittleEndian.PutUint32(b.dir[at+116:], b.small(n.data))
		}
	}
	link := at + 76 // the first child hangs below its storage, the others one below the other
	for _, c := range n.children {
		kind := byte(cfbStream)
		if c.children != nil {
			kind = cfbStorage
		}
		place := link
		child := b.add(c, kind)
		binary.LittleEndian.PutUint32(b.dir[place:], child)
		link = int(child)*128 + 72
	}
	return number
}

func (b *cfbBuilder) small(data []byte) uint32 {
	start := uint32(len(b.miniFAT))
	n := (len(data) + 63) / 64
	if n == 0 {
		return 0xfffffffe
	}
	for i := range n {
		next := start + uint32(i) + 1
		if i == n-1 {
			next = 0xfffffffe
		}
		b.miniFAT = append(b.miniFAT, next)
	}
	b.mini = append(b.mini, data...)
	b.mini = append(b.mini, make([]byte, n*64-len(data))...)
	return start
}

func TestCompound_ReadsStreamsOfAnySize(t *testing.T) {
	contents := map[string]string{}
	var nodes []node
	for _, size := range []int{0, 1, 63, 64, 65, 4095, 4096, 100_000} {
		data := make([]byte, size)
		for i := range data {
			data[i] = byte(i*7 + size)
		}
		name := fmt.Sprintf("s%d", size)
		contents[name] = string(data)
		nodes = append(nodes, node{name: name, data: data})
	}
	nodes = append(nodes, node{name: "inner", children: []node{{name: "ä", data: []byte("x")}}})
	file := makeCFB(nodes...)
	c, err := openCompound(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, e := range c.root().list() {
		if e.kind == cfbStream {
			got[e.name] = string(e.bytes(1 << 20))
		}
	}
	if diff := cmp.Diff(contents, got); diff != "" {
		t.Error(diff)
	}
	if inner := c.root().named("inner"); inner == nil || string(inner.named("ä").bytes(9)) != "x" {
		t.Error("the inner storage is not read")
	}
}

// FuzzCompound holds that a broken compound file neither panics nor goes on for ever.
func FuzzCompound(f *testing.F) {
	f.Add(makeCFB(node{name: "a", data: []byte("b")}, node{name: "c", data: make([]byte, 5000)}, node{name: "d", children: []node{{name: "e"}}}))
	f.Add(makeMSG("x", node{name: "__substg1.0_1000001F", data: utf16le("hello")}))
	f.Fuzz(func(t *testing.T, data []byte) { fuzzed(t, "a.msg", data) })
}
