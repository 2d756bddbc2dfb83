package codepage

import (
	"encoding/binary"
	"fmt"
	"unicode/utf16"
)

// windows are the charsets of code pages that are not called windows-NUMBER.
var windows = map[int]string{
	0: "", 866: "ibm866", 932: "shift_jis", 936: "gbk", 949: "euc-kr", 950: "big5", 10000: "macintosh",
	20866: "koi8-r", 20932: "euc-jp", 21866: "koi8-u", 51932: "euc-jp", 51949: "euc-kr", 54936: "gb18030",
	28591: "iso-8859-1", 28592: "iso-8859-2", 28593: "iso-8859-3", 28594: "iso-8859-4", 28595: "iso-8859-5",
	28596: "iso-8859-6", 28597: "iso-8859-7", 28598: "iso-8859-8", 28605: "iso-8859-15", 65001: "utf-8",
}

// Charsets are the code pages of the character sets of fonts. Other character sets have the document's code page.
var Charsets = map[int]int{
	77: 10000, 128: 932, 129: 949, 134: 936, 136: 950, 161: 1253, 162: 1254, 163: 1258, 177: 1255,
	178: 1256, 186: 1257, 204: 1251, 222: 874, 238: 1250, 255: 437,
}

// Windows returns the charset of a code page as Windows numbers them, or "" for 0.
func Windows(page int) string {
	if name, ok := windows[page]; ok {
		return name
	}
	return fmt.Sprintf("windows-%d", page)
}

// UTF16 decodes UTF-16 in little endian without a byte order mark. An odd byte at the end is left out.
func UTF16(b []byte) string {
	units := make([]uint16, len(b)/2)
	for i := range units {
		units[i] = binary.LittleEndian.Uint16(b[2*i:])
	}
	return string(utf16.Decode(units))
}

// EncodeUTF16 returns a text as UTF-16 in little endian.
func EncodeUTF16(s string) []byte {
	var b []byte
	for _, u := range utf16.Encode([]rune(s)) {
		b = binary.LittleEndian.AppendUint16(b, u)
	}
	return b
}
