package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"html"
	"io"
	"strings"
	"unicode/utf16"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

// texts returns the files of an archive.
func texts(passages []string) (files []entry) {
	for i, part := range shares(passages) {
		files = append(files, entry{fmt.Sprintf("part-%d.txt", i), strings.Join(part, "\n\n") + "\n"})
	}
	return files
}

func makeArchive(passages []string) ([]byte, error) { return makeZip(texts(passages)...) }

func makeTAR(passages []string) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range texts(passages) {
		if err := w.WriteHeader(&tar.Header{Name: f.name, Mode: 0o600, Size: int64(len(f.body))}); err != nil {
			return nil, err
		}
		if _, err := w.Write([]byte(f.body)); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return b.Bytes(), err
}

func makeTGZ(passages []string) ([]byte, error) {
	return packTAR(passages, func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil })
}

// packTAR makes a tar archive and compresses it.
func packTAR(passages []string, compress func(io.Writer) (io.WriteCloser, error)) ([]byte, error) {
	archive, err := makeTAR(passages)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	w, err := compress(&b)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(archive); err != nil {
		return nil, err
	}
	err = w.Close()
	return b.Bytes(), err
}

func makeEPUB(passages []string) ([]byte, error) {
	var items, spine strings.Builder
	files := []entry{
		{"mimetype", "application/epub+zip"},
		{"META-INF/container.xml", xmlHead + `<container><rootfiles><rootfile full-path="OEBPS/book.opf"/></rootfiles></container>`},
	}
	for i, part := range shares(passages) {
		var body strings.Builder
		for _, p := range part {
			fmt.Fprintf(&body, "<p>%s</p>\n", html.EscapeString(p))
		}
		files = append(files, entry{fmt.Sprintf("OEBPS/c%d.xhtml", i), xmlHead +
			`<html xmlns="http://www.w3.org/1999/xhtml"><head><title>c</title></head><body><h1>Chapter</h1>` + body.String() + `</body></html>`})
		fmt.Fprintf(&items, `<item id="c%d" href="c%[1]d.xhtml" media-type="application/xhtml+xml"/>`, i)
		fmt.Fprintf(&spine, `<itemref idref="c%d"/>`, i)
	}
	return makeZip(append(files, entry{"OEBPS/book.opf", xmlHead + `<package><metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>Report</dc:title></metadata>` +
		`<manifest>` + items.String() + `</manifest><spine>` + spine.String() + `</spine></package>`})...)
}

// Constants of a compound file (MS-CFB) for makeMSG.
const (
	cfbSector = 512
	cfbEnd    = 0xfffffffe // end of a chain of sectors
	cfbFAT    = 0xfffffffd
	cfbNone   = 0xffffffff
)

// makeMSG makes an Outlook message: a compound file with one long stream, the body.
func makeMSG(passages []string) ([]byte, error) {
	var body []byte
	for _, u := range utf16.Encode([]rune(strings.Join(passages, "\r\n\r\n"))) {
		body = binary.LittleEndian.AppendUint16(body, u)
	}
	for len(body) < 4096 { // shorter streams are stored elsewhere
		body = append(body, ' ', 0)
	}
	size := len(body)
	body = append(body, make([]byte, -size&(cfbSector-1))...)
	const first = 1 // first sector of the body, after the directory's
	var fat []uint32
	fat = append(fat, cfbEnd)
	for i := range len(body) / cfbSector {
		fat = append(fat, uint32(first+i+1))
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
	folder := append(cfbEntry("Root Entry", 5, cfbNone, 1, cfbEnd, 0), cfbEntry("__substg1.0_1000001F", 2, 2, cfbNone, first, size)...)
	folder = append(folder, cfbEntry("__properties_version1.0", 2, cfbNone, cfbNone, cfbEnd, 0)...)
	folder = append(folder, make([]byte, -len(folder)&(cfbSector-1))...)
	out := append(cfbHeader(fatStart, sectors), folder...)
	out = append(out, body...)
	for _, v := range fat {
		out = binary.LittleEndian.AppendUint32(out, v)
	}
	return out, nil
}

// cfbHeader makes the first sector. fatStart and sectors locate the table of sectors.
func cfbHeader(fatStart, sectors int) []byte {
	h := make([]byte, cfbSector)
	copy(h, "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")
	for at, v := range map[int]uint16{26: 3, 28: 0xfffe, 30: 9, 32: 6} {
		binary.LittleEndian.PutUint16(h[at:], v)
	}
	for at, v := range map[int]uint32{44: uint32(sectors), 56: 4096, 60: cfbEnd, 68: cfbEnd} {
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

// makeRAR makes a RAR 5.0 archive of files that are stored as they are.
func makeRAR(passages []string) ([]byte, error) {
	out := []byte("Rar!\x1a\x07\x01\x00")
	out = append(out, rarBlock(nil, 1, 0, 0)...) // the archive: no flags of its own
	for _, f := range texts(passages) {
		size := uint64(len(f.body))
		const hasCRC, isUnix = 4, 1
		file := rarNumbers(hasCRC, size, 0o100644)
		file = binary.LittleEndian.AppendUint32(file, crc32.ChecksumIEEE([]byte(f.body)))
		file = append(file, rarNumbers(0, isUnix, uint64(len(f.name)))...)
		out = append(out, rarBlock(append(file, f.name...), 2, 2, size)...)
		out = append(out, f.body...)
	}
	return append(out, rarBlock(nil, 5, 0, 0)...), nil
}

// rarBlock makes the head of a block: checksum, length, kind and flags, and the length of what follows if
// flag 2 is set.
func rarBlock(fields []byte, kind, flags, follows uint64) []byte {
	head := rarNumbers(kind, flags)
	if flags&2 != 0 {
		head = append(head, rarNumbers(follows)...)
	}
	if len(fields) == 0 {
		fields = []byte{0}
	}
	head = append(head, fields...)
	head = append(rarNumbers(uint64(len(head))), head...)
	return append(binary.LittleEndian.AppendUint32(nil, crc32.ChecksumIEEE(head)), head...)
}

func rarNumbers(values ...uint64) (b []byte) {
	for _, v := range values {
		b = binary.AppendUvarint(b, v)
	}
	return b
}

func makeTXZ(passages []string) ([]byte, error) {
	return packTAR(passages, func(w io.Writer) (io.WriteCloser, error) { return xz.NewWriter(w) })
}

func makeTZST(passages []string) ([]byte, error) {
	return packTAR(passages, func(w io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(w) })
}
