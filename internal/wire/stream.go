package wire

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// ErrClientGone says that a line could not be written: the client left, or takes nothing.
var ErrClientGone = errors.New("the client is gone")

// maxKept is the size up to which a stream keeps its buffer for the next line. The first line, which
// holds the context, is ten times as long as the others, and a server has many streams.
const maxKept = 4 << 10

// Stream writes lines or events to one client, each flushed by itself, from the goroutine that
// serves the request: a slow client slows its own turn and nothing else. It is not safe for
// concurrent use. Its first error is final; it wraps ErrClientGone unless the program is at fault.
type Stream struct {
	w           http.ResponseWriter
	rc          *http.ResponseController
	contentType string
	prefix      string // before each line
	suffix      string // after each line
	buf         []byte
	begun       bool
	timeout     time.Duration // for one write
	renewed     time.Time     // when the write deadline was last moved on
	err         error
}

// NDJSON returns a stream of JSON objects, one a line, "\n" after every one.
func NDJSON(w http.ResponseWriter, contentType string) *Stream {
	return newStream(w, contentType, "", "\n")
}

// SSE returns a stream of unnamed server-sent events (HTML standard, section 9.2), one data
// line each.
func SSE(w http.ResponseWriter) *Stream {
	return newStream(w, "text/event-stream", "data: ", "\n\n")
}

func newStream(w http.ResponseWriter, contentType, prefix, suffix string) *Stream {
	return &Stream{
		w: w, rc: http.NewResponseController(w), contentType: contentType,
		prefix: prefix, suffix: suffix, timeout: writeTimeout,
	}
}

// Line returns the stream's buffer to append one JSON text to and to hand back to Send. The
// buffer is used again for the next line.
func (s *Stream) Line() []byte { return append(s.buf[:0], s.prefix...) }

// Send writes and flushes a line that was begun with Line. The first one commits the status 200
// and the headers.
func (s *Stream) Send(line []byte) error {
	if bytes.IndexByte(line, '\n') >= 0 {
		return s.fail(errors.New("a line holds a newline"))
	}
	return s.write(append(line, s.suffix...))
}

// SendNumbered is Send for an event with an id, which a client that comes back for the rest names in
// the header Last-Event-ID (HTML standard, section 9.2.6).
func (s *Stream) SendNumbered(id int, line []byte) error {
	if bytes.IndexByte(line, '\n') >= 0 {
		return s.fail(errors.New("a line holds a newline"))
	}
	line = append(line, "\nid: "...)
	return s.write(append(strconv.AppendInt(line, int64(id), 10), s.suffix...))
}

// Comment writes an SSE comment, which keeps proxies from closing an idle connection and which
// clients skip. NDJSON has no comments.
func (s *Stream) Comment(text string) error {
	return s.write(append(append(append(s.buf[:0], ": "...), text...), "\n\n"...))
}

// Begun reports whether the status is committed, so that an error can only be one more line.
func (s *Stream) Begun() bool { return s.begun }

func (s *Stream) write(b []byte) error {
	if s.err != nil {
		return s.err
	}
	if s.buf = b; cap(b) > maxKept {
		s.buf = nil
	}
	s.renewDeadline()
	s.begin()
	if _, err := s.w.Write(b); err != nil {
		return s.fail(fmt.Errorf("%w: %w", ErrClientGone, err))
	}
	err := s.rc.Flush()
	if errors.Is(err, http.ErrNotSupported) {
		return s.fail(fmt.Errorf("a wrapped http.ResponseWriter hides its Flush: %w", err))
	}
	if err != nil {
		return s.fail(fmt.Errorf("%w: %w", ErrClientGone, err))
	}
	return nil
}

func (s *Stream) begin() {
	if s.begun {
		return
	}
	s.begun = true
	h := s.w.Header()
	h.Set("Content-Type", s.contentType)
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Del("Content-Length")
	s.w.WriteHeader(http.StatusOK)
}

// renewDeadline lets the client take timeout for what is written next. A writer without
// deadlines, such as a recorder in a test, does without.
func (s *Stream) renewDeadline() {
	now := time.Now()
	if now.Sub(s.renewed) < renewEvery {
		return
	}
	s.renewed = now
	_ = s.rc.SetWriteDeadline(now.Add(s.timeout))
}

func (s *Stream) fail(err error) error {
	s.err = fmt.Errorf("write a line: %w", err)
	return s.err
}
