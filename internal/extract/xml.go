package extract

import (
	"bufio"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
	utf16 "golang.org/x/text/encoding/unicode"

	"parley/internal/extract/codepage"
)

// newXML returns a decoder for a part of a document. It knows no entities but the five of XML
// itself and loads nothing, so that a document can neither expand nor reach beyond itself.
func newXML(r io.Reader) *xml.Decoder {
	in := bufio.NewReader(r)
	start, _ := in.Peek(2) // an error comes again with the first token
	var order utf16.Endianness
	switch string(start) {
	case "\xff\xfe", "<\x00":
		order = utf16.LittleEndian
	case "\xfe\xff", "\x00<":
		order = utf16.BigEndian
	default:
		d := xml.NewDecoder(in)
		d.CharsetReader = labelled
		return d
	}
	d := xml.NewDecoder(utf16.UTF16(order, utf16.UseBOM).NewDecoder().Reader(in))
	d.CharsetReader = func(_ string, input io.Reader) (io.Reader, error) { return input, nil }
	return d
}

// labelled decodes what declares an encoding. Of an encoding that is not known by this name the bytes
// decide.
func labelled(label string, in io.Reader) (io.Reader, error) {
	label = codepage.Alias(label)
	if enc, _ := charset.Lookup(label); enc != nil {
		return enc.NewDecoder().Reader(in), nil
	}
	ahead := bufio.NewReaderSize(in, 64<<10)
	sample, _ := ahead.Peek(64 << 10) // an error comes again with the first token
	if utf8.Valid(sample[:len(sample)-codepage.Incomplete(sample)]) {
		return ahead, nil
	}
	return codepage.Guess(sample).NewDecoder().Reader(ahead), nil
}

// eachToken calls visit for every token of a part until its error. The error is visit's, ctx's,
// or that the XML is not well-formed.
func eachToken(ctx context.Context, r io.Reader, visit func(*xml.Decoder, xml.Token) error) error {
	d := newXML(r)
	for n := 0; ; n++ {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("parse XML: %w", err)
		}
		if n%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := visit(d, token); err != nil {
			return err
		}
	}
}

// eachElement calls visit for the start of every element of a part, until its error. A missing
// part has no elements.
func eachElement(archive *container, name string, visit func(*xml.Decoder, xml.StartElement) error) error {
	part, err := openPart(archive, name)
	if err != nil || part == nil {
		return err
	}
	defer part.Close()
	return eachToken(context.Background(), part, func(d *xml.Decoder, token xml.Token) error {
		if start, ok := token.(xml.StartElement); ok {
			return visit(d, start)
		}
		return nil
	})
}

func xmlAttr(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// isSyntaxError holds for the errors of broken XML and of broken compression, and not for the
// limits and ctx.
func isSyntaxError(err error) bool {
	var typed *Error
	return err != nil && !errors.As(err, &typed) &&
		!errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
}
