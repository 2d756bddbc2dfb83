package zipxml

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"

	"parley/internal/extract"
	"parley/internal/extract/codepage"
)

// EachToken calls visit for every token until visit fails. The error is visit's or ctx's, or says that the XML is not
// well-formed.
func EachToken(ctx context.Context, r io.Reader, visit func(*xml.Decoder, xml.Token) error) error {
	d := codepage.NewXML(r)
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

// EachElement calls visit for the start of every element of a part until visit fails. A missing part
// has no elements.
func EachElement(archive *Archive, name string, visit func(*xml.Decoder, xml.StartElement) error) error {
	part, err := OpenPart(archive, name)
	if err != nil || part == nil {
		return err
	}
	defer part.Close()
	return EachToken(context.Background(), part, func(d *xml.Decoder, token xml.Token) error {
		if start, ok := token.(xml.StartElement); ok {
			return visit(d, start)
		}
		return nil
	})
}

// Attr returns the value of an attribute by its local name, or "" if it is missing.
func Attr(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// IsSyntaxError reports whether an error is one of broken XML or broken compression, not a limit or
// ctx's.
func IsSyntaxError(err error) bool {
	var typed *extract.Error
	return err != nil && !errors.As(err, &typed) &&
		!errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
}

// SmallNumber parses a number from 0 to 8, as levels of lists are; anything else is 0.
func SmallNumber(val string) int {
	n, err := strconv.Atoi(val)
	if err != nil || n < 0 || n > 8 {
		return 0
	}
	return n
}

// IgnoreSyntax returns nil for syntax errors and err for others.
func IgnoreSyntax(err error) error {
	if IsSyntaxError(err) {
		return nil
	}
	return err
}

// ReadPart calls visit for the tokens of a part, and reports whether the part is broken. It visits all tokens before the
// damage.
func ReadPart(ctx context.Context, archive *Archive, name string, visit func(*xml.Decoder, xml.Token) error) (broken bool, err error) {
	part, err := OpenPart(archive, name)
	if err != nil || part == nil {
		return false, err
	}
	defer part.Close()
	err = EachToken(ctx, part, visit)
	if IsSyntaxError(err) {
		return true, nil
	}
	return false, err
}
