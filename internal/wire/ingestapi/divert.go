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

// divert reads a JSON body in which one top-level string member may be too large for memory: a file in
// base64. It passes the content of that string to take as it arrives, and returns the body with an empty
// string in its place, to be parsed like any other. The returned body is limited to limit bytes.
//
// It only finds the string; it does not check that the body is valid JSON, which is left to the parser.
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
		return &chat.Error{Kind: chat.TooLarge, Msg: fmt.Sprintf("The request body is over the limit of %d bytes, not counting the file.", d.limit)}
	}
	return d.rest.WriteByte(c)
}

// text keeps the rest of a string whose opening quote was read, and returns its content, with escapes not decoded.
func (d *diverter) text() (string, error) {
	start := d.rest.Len()
	for escaped := false; ; {
		c, err := d.r.ReadByte()
		if errors.Is(err, io.EOF) {
			return "", nil // the parser reports it
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

// value reads what follows the key. It passes a string value to take, and leaves any other value unread.
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
			_, err := io.Copy(io.Discard, content) // the part that take did not read
			return err
		default: // not a string, or what seemed to be a key was not one
			return d.r.UnreadByte()
		}
		if err := d.keep(c); err != nil {
			return err
		}
	}
}

// stringReader reads the content of a JSON string up to its closing quote. The only escapes it accepts are those
// that base64 may contain: of slashes and line ends.
type stringReader struct {
	r    *bufio.Reader
	done bool
	err  error // the error that ended it early
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
			err = errNotBase64 // JSON requires control characters to be escaped
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

// base64Reader decodes base64 in the standard or the URL alphabet, with or without padding and line ends. It
// skips the prefix of a data: URL.
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

// alphabet converts base64url to base64 and removes padding and line ends.
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
			return len(kept), errNotBase64 // something after the padding
		}
		kept = append(kept, c)
	}
	return len(kept), err
}

// strictBase64 converts the decoder's errors to errNotBase64.
type strictBase64 struct{ r io.Reader }

func (s *strictBase64) Read(b []byte) (int, error) {
	n, err := s.r.Read(b)
	if _, corrupt := errors.AsType[base64.CorruptInputError](err); corrupt {
		err = errNotBase64
	}
	return n, err
}
