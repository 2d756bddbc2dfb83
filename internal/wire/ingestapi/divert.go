package ingestapi

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"

	"parley/internal/chat"
)

// divert reads a JSON body of which one member, a string at the top, may be too large to be held in
// memory: a file as base64. It returns the body with that string empty, to be parsed as any other, and
// has passed the string's content to take as it came. The rest of the body may have limit bytes.
//
// It only looks for the string; whether the body is JSON is for the parser to say.
func divert(body io.Reader, member string, limit int64, take func(content io.Reader) error) (rest []byte, err error) {
	d := &diverter{r: bufio.NewReaderSize(body, 64<<10), limit: limit}
	for {
		c, err := d.r.ReadByte()
		if errors.Is(err, io.EOF) {
			return d.rest.Bytes(), nil
		}
		if err != nil {
			return nil, err
		}
		if err := d.keep(c); err != nil {
			return nil, err
		}
		switch c {
		case '{', '[':
			d.depth++
		case '}', ']':
			d.depth--
		case '"':
			name, err := d.text()
			if err != nil {
				return nil, err
			}
			if d.depth == 1 && name == member && !d.taken {
				if err := d.value(take); err != nil {
					return nil, err
				}
			}
		}
	}
}

type diverter struct {
	r     *bufio.Reader
	rest  bytes.Buffer
	limit int64
	depth int
	taken bool
}

func (d *diverter) keep(c byte) error {
	if int64(d.rest.Len()) >= d.limit {
		return &chat.Error{Kind: chat.TooLarge, Msg: fmt.Sprintf("The request body is over the limit of %d bytes, beside its file.", d.limit)}
	}
	return d.rest.WriteByte(c)
}

// text keeps a string whose first quote was kept, and returns it as it is written.
func (d *diverter) text() (string, error) {
	start := d.rest.Len()
	for escaped := false; ; {
		c, err := d.r.ReadByte()
		if errors.Is(err, io.EOF) {
			return "", nil // the parser will say so
		}
		if err == nil {
			err = d.keep(c)
		}
		switch {
		case err != nil:
			return "", err
		case escaped:
			escaped = false
		case c == '\\':
			escaped = true
		case c == '"':
			return string(d.rest.Bytes()[start : d.rest.Len()-1]), nil
		}
	}
}

// value passes the string that is the value of a key on, if it is one.
func (d *diverter) value(take func(io.Reader) error) error {
	colon := false
	for {
		c, err := d.r.ReadByte()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch {
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
		case c == ':' && !colon:
			colon = true
		case c == '"' && colon:
			if err := errors.Join(d.keep('"'), d.keep('"')); err != nil {
				return err
			}
			d.taken = true
			content := &stringReader{r: d.r}
			if err := take(content); err != nil {
				return err
			}
			_, err := io.Copy(io.Discard, content) // what was not wanted of it
			return err
		default: // another value, or no value: it was a string in a list, say
			return d.r.UnreadByte()
		}
		if err := d.keep(c); err != nil {
			return err
		}
	}
}

// stringReader reads the content of a JSON string that needs no escapes but those of slashes and line
// ends, up to its closing quote.
type stringReader struct {
	r    *bufio.Reader
	done bool
	err  error // with which it ended early
}

func (s *stringReader) Read(b []byte) (n int, err error) {
	if s.err != nil {
		return 0, s.err
	}
	for n < len(b) && !s.done {
		c, err := s.r.ReadByte()
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		switch {
		case err == nil && c == '\\':
			c, err = s.escape()
		case err == nil && c < ' ':
			err = errNotBase64 // which JSON wants escaped
		}
		switch {
		case err != nil:
			s.err = err
			return n, err
		case c == '"':
			s.done = true
		default:
			b[n] = c
			n++
		}
	}
	if n == 0 && s.done && len(b) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

var errNotBase64 = &chat.Error{Kind: chat.Invalid, Msg: `"file" must be the content of a file in base64.`}

func (s *stringReader) escape() (byte, error) {
	c, err := s.r.ReadByte()
	if err != nil {
		return 0, io.ErrUnexpectedEOF
	}
	switch c {
	case '/':
		return '/', nil
	case 'n', 'r':
		return '\n', nil
	}
	return 0, errNotBase64
}

// base64Reader decodes base64 of either alphabet, with or without padding and line ends, and passes
// over the beginning of a data: URL.
func base64Reader(r io.Reader) io.Reader {
	b := bufio.NewReader(r)
	if head, _ := b.Peek(5); string(head) == "data:" {
		const longest = 256
		for range longest {
			if c, err := b.ReadByte(); err != nil || c == ',' {
				break
			}
		}
	}
	return &strictBase64{r: base64.NewDecoder(base64.RawStdEncoding, &alphabet{r: b})}
}

// alphabet makes the characters of base64url those of base64 and takes padding and line ends away.
type alphabet struct {
	r      io.Reader
	padded bool
}

func (a *alphabet) Read(b []byte) (int, error) {
	n, err := a.r.Read(b)
	kept := b[:0]
	for _, c := range b[:n] {
		switch c {
		case '\r', '\n', ' ':
			continue
		case '=':
			a.padded = true
			continue
		case '-':
			c = '+'
		case '_':
			c = '/'
		}
		if a.padded {
			return len(kept), errNotBase64 // something behind the padding
		}
		kept = append(kept, c)
	}
	return len(kept), err
}

// strictBase64 gives errors of the decoder their kind.
type strictBase64 struct{ r io.Reader }

func (s *strictBase64) Read(b []byte) (int, error) {
	n, err := s.r.Read(b)
	if _, corrupt := errors.AsType[base64.CorruptInputError](err); corrupt {
		err = errNotBase64
	}
	return n, err
}
