package extracttest

import (
	"encoding/binary"
	"unicode/utf16"
)

// XLSBRecord is a record of a binary workbook (MS-XLSB section 2.1.4).
func XLSBRecord(kind int, content string) string {
	out := sevenBits(nil, kind)
	return string(sevenBits(out, len(content))) + content
}

func sevenBits(out []byte, n int) []byte {
	for ; n > 0x7f; n >>= 7 {
		out = append(out, byte(n)|0x80)
	}
	return append(out, byte(n))
}

// XLSBString is a text in a record.
func XLSBString(s string) string {
	units := utf16.Encode([]rune(s))
	out := binary.LittleEndian.AppendUint32(nil, uint32(len(units)))
	for _, u := range units {
		out = binary.LittleEndian.AppendUint16(out, u)
	}
	return string(out)
}

// XLSBCell is a record of a cell: its column, its style, and its value.
func XLSBCell(kind, column, style int, value string) string {
	head := binary.LittleEndian.AppendUint32(nil, uint32(column))
	return XLSBRecord(kind, string(binary.LittleEndian.AppendUint32(head, uint32(style)))+value)
}

// XLSBRow is the record with which a row begins.
func XLSBRow(number int) string {
	return XLSBRecord(0, string(binary.LittleEndian.AppendUint32(nil, uint32(number)))+"\x00\x00\x00\x00")
}

// XLSBBook is the workbook part of a book with one sheet, whose relation is rId1.
func XLSBBook(name string) string {
	return XLSBRecord(131, "") + XLSBRecord(143, "") + XLSBRecord(156, "\x00\x00\x00\x00\x01\x00\x00\x00"+XLSBString("rId1")+XLSBString(name)) + XLSBRecord(144, "") + XLSBRecord(132, "")
}
