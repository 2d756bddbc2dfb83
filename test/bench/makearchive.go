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

	"parley/internal/extract/extracttest"
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

// makeMSG makes an Outlook message: a compound file with one long stream, the body.
func makeMSG(passages []string) ([]byte, error) {
	var body []byte
	for _, u := range utf16.Encode([]rune(strings.Join(passages, "\r\n\r\n"))) {
		body = binary.LittleEndian.AppendUint16(body, u)
	}
	for len(body) < 4096 { // shorter streams are stored elsewhere
		body = append(body, ' ', 0)
	}
	return extracttest.Compound("__substg1.0_1000001F", body, "__properties_version1.0"), nil
}

// makeXLSB makes a binary workbook with two columns, each text in its cell.
func makeXLSB(passages []string) ([]byte, error) {
	const text = 6 // the kind of record
	sheet := ""
	for row, p := range passages {
		sheet += extracttest.XLSBRow(row) + extracttest.XLSBCell(text, 0, 0, extracttest.XLSBString(fmt.Sprint(row))) + extracttest.XLSBCell(text, 1, 0, extracttest.XLSBString(p))
	}
	rels := extracttest.RelsStart + extracttest.Rel("rId1", "worksheet", "worksheets/sheet1.bin") + extracttest.RelsEnd
	return makeZip([]entry{{"[Content_Types].xml", "<Types/>"}, {"xl/workbook.bin", extracttest.XLSBBook("Report")}, {"xl/_rels/workbook.bin.rels", rels}, {"xl/worksheets/sheet1.bin", sheet}}...)
}

// makeTNEF makes a message as Outlook packs it into winmail.dat.
func makeTNEF(passages []string) ([]byte, error) {
	return extracttest.TNEF(extracttest.TNEFAttribute{Level: 1, ID: 0x0002800c, Data: strings.Join(passages, "\r\n\r\n") + "\x00"}), nil
}

// makeXLS makes a workbook of Excel 97 with two columns of short strings, each in its cell.
func makeXLS(passages []string) ([]byte, error) {
	record := func(kind uint16, body []byte) []byte {
		head := binary.LittleEndian.AppendUint16(nil, kind)
		return append(binary.LittleEndian.AppendUint16(head, uint16(len(body))), body...)
	}
	const begin = "\x00\x06\x05\x00"
	book := record(0x809, []byte(begin))
	at := len(book) + 4 + 14 + 4
	book = append(book, record(0x85, append(binary.LittleEndian.AppendUint32(nil, uint32(at)), "\x00\x00\x06\x00Report"...))...)
	book = append(append(book, record(0x0a, nil)...), record(0x809, []byte(begin))...)
	for row, p := range passages {
		for column, cell := range []string{fmt.Sprint(row), p} {
			label := binary.LittleEndian.AppendUint16(nil, uint16(row))
			label = binary.LittleEndian.AppendUint16(label, uint16(column))
			label = binary.LittleEndian.AppendUint16(append(label, 0, 0), uint16(len(cell)))
			book = append(book, record(0x204, append(append(label, 0), cell...))...)
		}
	}
	return extracttest.Compound("Workbook", append(book, record(0x0a, nil)...)), nil
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
