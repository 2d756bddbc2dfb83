package llm

import (
	"bytes"
	"errors"
	"io"
)

// The limits of an upstream's event stream.
const (
	eventBuffer = 1 << 10 // four usual events; grows only for a longer line
	maxEvent    = 1 << 20 // bytes of one line, and of the data of one event
)

// ErrEventTooLarge means that a line or an event of a stream exceeds 1 MiB.
var ErrEventTooLarge = errors.New("event of the stream is over 1 MiB")

// EventReader reads the data of server-sent events (WHATWG HTML, section 9.2). It accepts what upstreams
// really send: any of the three line ends, comments, "data:" with and without a space, data in several
// lines, a byte order mark, and a last event without its blank line, which the standard would drop. It
// skips other fields.
type EventReader struct {
	Comment    func() // called for each comment, with which a server shows that it is still working; optional
	src        io.Reader
	buf        []byte
	start, end int  // the unread bytes are buf[start:end]
	searched   int  // number of unread bytes known to contain no line end
	skipLF     bool // the last line ended with CR at the end of the buffer
	begun      bool // the first line was read
	data       []byte
	err        error // from src; returned when the buffer is used up
}

// NewEventReader returns a reader of the events of src, which it does not close.
func NewEventReader(src io.Reader) *EventReader { return NewEventReaderSize(src, eventBuffer) }

// NewEventReaderSize is like NewEventReader, with a buffer of size bytes.
func NewEventReaderSize(src io.Reader, size int) *EventReader {
	return &EventReader{src: src, buf: make([]byte, size)}
}

// Ready reports whether the buffer contains an event, so that Next will not wait. It may return false
// although there is one.
func (r *EventReader) Ready() bool {
	event, _, whole := bytes.Cut(r.buf[r.start:r.end], []byte("\n\n"))
	return whole && (bytes.HasPrefix(event, []byte("data:")) || bytes.Contains(event, []byte("\ndata:")))
}

// Next returns the data of the next event. It is never empty, and valid until the next call. At the end
// of the stream the error is io.EOF.
func (r *EventReader) Next() ([]byte, error) {
	r.data = r.data[:0]
	seen := false
	for {
		line, err := r.line()
		if err != nil {
			if errors.Is(err, io.EOF) && len(r.data) > 0 {
				return r.data, nil
			}
			return nil, err
		}
		if len(line) == 0 {
			if len(r.data) > 0 {
				return r.data, nil
			}
			seen = false
			continue
		}
		value, ok := dataField(line)
		if !ok {
			if line[0] == ':' && r.Comment != nil {
				r.Comment()
			}
			continue
		}
		if seen {
			r.data = append(r.data, '\n')
		}
		seen = true
		if len(r.data)+len(value) > maxEvent {
			return nil, ErrEventTooLarge
		}
		r.data = append(r.data, value...)
	}
}

// dataField returns the value of a line with the field "data".
func dataField(line []byte) ([]byte, bool) {
	rest, ok := bytes.CutPrefix(line, []byte("data"))
	if !ok {
		return nil, false
	}
	if len(rest) == 0 {
		return rest, true
	}
	if rest[0] != ':' {
		return nil, false
	}
	rest = rest[1:]
	if len(rest) > 0 && rest[0] == ' ' {
		rest = rest[1:]
	}
	return rest, true
}

// line returns the next line without its end, valid until the next call. A last line without an end
// counts if the stream ended without an error.
func (r *EventReader) line() ([]byte, error) {
	for {
		if r.skipLF && r.start < r.end {
			if r.buf[r.start] == '\n' {
				r.start++
			}
			r.skipLF = false
		}
		unread := r.buf[r.start:r.end]
		i := lineEnd(unread[r.searched:])
		if r.searched+max(i, 0) > maxEvent {
			return nil, ErrEventTooLarge
		}
		if i >= 0 {
			return r.take(r.searched + i), nil
		}
		r.searched = len(unread)
		if r.err != nil {
			if errors.Is(r.err, io.EOF) && len(unread) > 0 {
				r.start, r.searched = r.end, 0
				return r.trimBOM(unread), nil
			}
			return nil, r.err
		}
		r.fill()
	}
}

// take consumes a line of n bytes and its end.
func (r *EventReader) take(n int) []byte {
	line := r.buf[r.start : r.start+n]
	r.skipLF = r.buf[r.start+n] == '\r'
	r.start += n + 1
	r.searched = 0
	return r.trimBOM(line)
}

func (r *EventReader) trimBOM(line []byte) []byte {
	if r.begun {
		return line
	}
	r.begun = true
	return bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
}

// lineEnd returns the index of the first CR or LF, or -1.
func lineEnd(b []byte) int {
	i := bytes.IndexByte(b, '\n')
	if i < 0 {
		return bytes.IndexByte(b, '\r')
	}
	if j := bytes.IndexByte(b[:i], '\r'); j >= 0 {
		return j
	}
	return i
}

// fill makes room in the buffer, and reads from the source once.
func (r *EventReader) fill() {
	if r.start > 0 {
		copy(r.buf, r.buf[r.start:r.end])
		r.end -= r.start
		r.start = 0
	}
	if r.end == len(r.buf) {
		r.buf = append(r.buf, make([]byte, len(r.buf))...)
	}
	for range 100 {
		n, err := r.src.Read(r.buf[r.end:])
		r.end += n
		r.err = err
		if n > 0 || err != nil {
			return
		}
	}
	r.err = io.ErrNoProgress
}
