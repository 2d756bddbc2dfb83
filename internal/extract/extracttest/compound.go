package extracttest

import (
	"encoding/binary"
	"slices"
	"unicode/utf16"
)

// Constants of a compound file (MS-CFB).
const (
	cfbSector = 512
	cfbEnd    = 0xfffffffe // end of a chain of sectors
	cfbFAT    = 0xfffffffd
	cfbNone   = 0xffffffff
)

// Compound makes a compound file with one stream and, if named, empty ones beside it.
func Compound(name string, body []byte, empty ...string) []byte {
	size := len(body)
	body = append(slices.Clone(body), make([]byte, -size&(cfbSector-1))...)
	folder := cfbEntry("Root Entry", 5, cfbNone, 1, cfbEnd, 0)
	for i, name := range append([]string{name}, empty...) {
		next, at, length := uint32(cfbNone), uint32(cfbEnd), 0
		if i < len(empty) {
			next = uint32(i + 2)
		}
		if i == 0 {
			at, length = 1, size // after the directory
		}
		folder = append(folder, cfbEntry(name, 2, next, cfbNone, at, length)...)
	}
	folder = append(folder, make([]byte, -len(folder)&(cfbSector-1))...)
	fat := []uint32{cfbEnd}
	for i := range len(body) / cfbSector {
		fat = append(fat, uint32(i+2))
	}
	fat[len(fat)-1] = cfbEnd
	fatStart := len(fat)
	sectors := (len(fat)+1)/(cfbSector/4-1) + 1
	for range sectors {
		fat = append(fat, cfbFAT)
	}
	for len(fat) < sectors*cfbSector/4 {
		fat = append(fat, cfbNone)
	}
	out := slices.Concat(cfbHeader(fatStart, sectors), folder, body)
	for _, v := range fat {
		out = binary.LittleEndian.AppendUint32(out, v)
	}
	return out
}

// cfbHeader makes the first sector. fatStart and sectors locate the table of sectors.
func cfbHeader(fatStart, sectors int) []byte {
	h := make([]byte, cfbSector)
	copy(h, "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")
	for at, v := range map[int]uint16{26: 3, 28: 0xfffe, 30: 9, 32: 6} {
		binary.LittleEndian.PutUint16(h[at:], v)
	}
	for at, v := range map[int]uint32{44: uint32(sectors), 60: cfbEnd, 68: cfbEnd} {
		binary.LittleEndian.PutUint32(h[at:], v)
	}
	for i := range 109 {
		at := uint32(cfbNone)
		if i < sectors {
			at = uint32(fatStart + i)
		}
		binary.LittleEndian.PutUint32(h[76+4*i:], at)
	}
	return h
}

// cfbEntry makes a directory entry: name, kind, next sibling, first child, and the position of its
// bytes.
func cfbEntry(name string, kind byte, next, child, start uint32, size int) []byte {
	e := make([]byte, 128)
	units := utf16.Encode([]rune(name))
	for i, u := range units {
		binary.LittleEndian.PutUint16(e[2*i:], u)
	}
	binary.LittleEndian.PutUint16(e[64:], uint16(2*len(units)+2))
	e[66] = kind
	for at, v := range map[int]uint32{68: cfbNone, 72: next, 76: child, 116: start, 120: uint32(size)} {
		binary.LittleEndian.PutUint32(e[at:], v)
	}
	return e
}
