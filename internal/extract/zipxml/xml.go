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

// EachToken calls visit for every token of a part until its error. The error is visit's, ctx's,
// or that the XML is not well-formed.
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

// EachElement calls visit for the start of every element of a part, until its error. A missing
// part has no elements.
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

func Attr(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// IsSyntaxError holds for the errors of broken XML and of broken compression, and not for the
// limits and ctx.
func IsSyntaxError(err error) bool {
	var typed *extract.Error
	return err != nil && !errors.As(err, &typed) &&
		!errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
}

func SmallNumber(val string) int {
	n, err := strconv.Atoi(val)
	if err != nil || n < 0 || n > 8 {
		return 0
	}
	return n
}

func IgnoreSyntax(err error) error {
	if IsSyntaxError(err) {
		return nil
	}
	return err
}

// ReadPart calls visit for the tokens of a part. A part that breaks off is no error but true: what
// was read until then stays.
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
