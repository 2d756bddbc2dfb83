package codepage

import (
	"bufio"
	"encoding/xml"
	"io"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding/unicode"
)

// NewXML returns a decoder for a part of a document. It knows only the five entities of XML itself and loads nothing, so
// that a document can neither expand nor read other files.
func NewXML(r io.Reader) *xml.Decoder {
	in := bufio.NewReader(r)
	start, _ := in.Peek(2) // the first token returns the error again
	var order unicode.Endianness
	switch string(start) {
	case "\xff\xfe", "<\x00":
		order = unicode.LittleEndian
	case "\xfe\xff", "\x00<":
		order = unicode.BigEndian
	default:
		d := xml.NewDecoder(in)
		d.CharsetReader = labelled
		return d
	}
	d := xml.NewDecoder(unicode.UTF16(order, unicode.UseBOM).NewDecoder().Reader(in))
	d.CharsetReader = func(_ string, input io.Reader) (io.Reader, error) { return input, nil }
	return d
}

// labelled decodes a document that declares an encoding. If the name is unknown, it guesses the encoding from the bytes.
func labelled(label string, in io.Reader) (io.Reader, error) {
	label = Alias(label)
	if enc, _ := charset.Lookup(label); enc != nil {
		return enc.NewDecoder().Reader(in), nil
	}
	ahead := bufio.NewReaderSize(in, 64<<10)
	sample, _ := ahead.Peek(64 << 10) // the first token returns the error again
	if utf8.Valid(sample[:len(sample)-Incomplete(sample)]) {
		return ahead, nil
	}
	return Guess(sample).NewDecoder().Reader(ahead), nil
}
