package upstream

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"parley/internal/llm"
)

// maxLine bounds one line of a stream of lines, like an event of the other framing.
const maxLine = 1 << 20

// events iterates over the events of a stream. Next returns io.EOF at its end.
type events interface {
	Next() ([]byte, error)
	Ready() bool // reports whether the next event has arrived; a false no is allowed
}

// reader returns the events of a body. It calls alive for comments and blank lines, which only keep
// the connection open.
func (c *Call) reader(body io.Reader, alive func()) events {
	if c.Framing == Lines {
		return &lines{src: bufio.NewReader(body), blank: alive}
	}
	r := llm.NewEventReader(body)
	if c.Whole {
		r = llm.NewEventReaderSize(body, wholeBuffer)
	}
	r.Comment = alive
	return r
}

func (f Framing) accept() string {
	switch f {
	case Lines:
		return "application/x-ndjson"
	case Document:
		return "application/json"
	}
	return "text/event-stream"
}

// is reports whether a body with this media type can be an answer in this framing.
func (f Framing) is(kind string) bool {
	return kind == f.accept() || kind == "" || kind == "application/octet-stream"
}

// lines reads the lines of a stream and skips blank ones. The last line needs no line end; a line
// that a read error cuts is dropped.
type lines struct {
	src   *bufio.Reader
	line  []byte
	blank func() // called for each blank line
}

// Next returns the next line, which is valid until the next call.
func (l *lines) Next() ([]byte, error) {
	for {
		err := l.read()
		line := bytes.TrimSpace(l.line)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		if len(line) > 0 {
			return line, nil
		}
		if err != nil {
			return nil, err
		}
		l.blank()
	}
}

// Ready implements events.
func (l *lines) Ready() bool {
	come, _ := l.src.Peek(l.src.Buffered()) // it is there
	return bytes.IndexByte(bytes.TrimLeft(come, "\r\n"), '\n') >= 0
}

func (l *lines) read() error {
	l.line = l.line[:0]
	for {
		part, err := l.src.ReadSlice('\n')
		if len(l.line)+len(part) > maxLine {
			return llm.ErrEventTooLarge
		}
		l.line = append(l.line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}
