package wire

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"strconv"
	"sync"
	"time"
)

// ErrClientGone means that a response could not be written: the client has disconnected, or stopped reading.
var ErrClientGone = errors.New("the client is gone")

// maxKept is the capacity of the largest buffer that a stream keeps for the next line. The first line, which
// contains the context, is about ten times as long as the others, and a server has many streams.
const maxKept = 4 << 10

// A line that may wait (SendSoon) is flushed immediately if there is credit for a flush. Credit grows by one
// flush every flushEvery, up to flushCredit. So the first tokens never wait, nor do tokens that arrive at
// reading speed; the lines of a burst share flushes, each of which is a system call.
const (
	flushEvery  = time.Millisecond
	flushCredit = 4
)

// Stream writes lines or events to one client from the goroutine that serves the request, so a slow
// client delays only its own turn. It is not safe for concurrent use. Its first error is final; it wraps
// ErrClientGone unless the program is at fault.
type Stream struct {
	mu          sync.Mutex // for late flushes and SendAside, which run in other goroutines
	w           http.ResponseWriter
	rc          *http.ResponseController
	contentType string
	prefix      string // before each line
	suffix      string // after each line
	buf         []byte
	head        int // length of the line before its JSON
	begun       bool
	timeout     time.Duration // for one write
	renewed     time.Time     // when the write deadline was last extended
	err         error

	credit  int         // flushes that may be made immediately
	earned  time.Time   // when the credit was last updated
	late    *time.Timer // runs flushLate; nil until a line waits
	waiting bool        // a line was written but not flushed
	held    bool        // all waiting lines are from SendWithNext
}

// NDJSON returns a stream of JSON objects, each followed by "\n".
func NDJSON(w http.ResponseWriter, contentType string) *Stream {
	return newStream(w, contentType, "", "\n")
}

// SSE returns a stream of server-sent events (HTML standard, section 9.2) with one data line each. An event
// has a name only if it was begun with Event.
func SSE(w http.ResponseWriter) *Stream {
	return newStream(w, "text/event-stream", "data: ", "\n\n")
}

func newStream(w http.ResponseWriter, contentType, prefix, suffix string) *Stream {
	return &Stream{
		w: w, rc: http.NewResponseController(w), contentType: contentType,
		prefix: prefix, suffix: suffix, timeout: writeTimeout,
	}
}

// Line returns the stream's buffer with the beginning of a line. Append one JSON text to it and pass it to Send.
// The buffer is reused for the next line.
func (s *Stream) Line() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.line()
}

func (s *Stream) line() []byte {
	line := append(s.buf[:0], s.prefix...)
	s.head = len(line)
	return line
}

// And ends a line that was begun with Line and begins another in the same buffer. Pass the result to Send; the two lines cost
// one write.
func (s *Stream) And(line []byte) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if bytes.IndexByte(line[s.head:], '\n') >= 0 {
		_ = s.fail(errTwoLines) // the next Send returns it
	}
	line = append(append(line, s.suffix...), s.prefix...)
	s.head = len(line)
	return line
}

// Event is like Line, for a server-sent event with a name, which is not escaped.
func (s *Stream) Event(name string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	line := append(append(append(append(s.buf[:0], "event: "...), name...), '\n'), s.prefix...)
	s.head = len(line)
	return line
}

// Send writes and flushes a line that was begun with Line. The first line commits the status 200 and the
// headers.
func (s *Stream) Send(line []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.writeLine(line); err != nil {
		return err
	}
	return s.flush()
}

// SendAside calls render with an empty line and sends the line it returns, in another goroutine while the caller
// continues. The next call of any method waits for it. Its error, or a panic of render, becomes the error of the
// stream. render must not call methods of the stream. The caller must call Close at the end.
func (s *Stream) SendAside(render func(line []byte) ([]byte, error)) {
	s.mu.Lock()
	go func() {
		defer s.mu.Unlock()
		defer func() {
			if p := recover(); p != nil {
				_ = s.fail(fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
			}
		}()
		line, err := render(s.line())
		if err == nil {
			err = s.writeLine(line)
		}
		if err == nil {
			err = s.flush()
		}
		if s.err == nil && err != nil {
			_ = s.fail(err)
		}
	}()
}

// Wait waits for the line of SendAside, as every other method does.
func (s *Stream) Wait() { _ = s.Begun() }

// SendWithNext is like Send, but flushes the line together with the next one, or after flushEvery if none
// follows. The caller must call Close at the end.
func (s *Stream) SendWithNext(line []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.writeLine(line); err != nil || s.waiting {
		return err
	}
	s.waiting, s.held = true, true
	s.flushLater()
	return nil
}

// SendSoon is like Send, but may flush the line up to flushEvery later, so that several lines share a
// flush. The caller must call Close at the end.
func (s *Stream) SendSoon(line []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.writeLine(line); err != nil || s.waiting && !s.held {
		return err
	}
	s.held = false
	now := time.Now()
	if earned := int(now.Sub(s.earned) / flushEvery); earned > 0 {
		s.credit, s.earned = min(s.credit+earned, flushCredit), now
	}
	if s.credit > 0 {
		s.credit--
		return s.flush()
	}
	s.waiting = true
	s.flushLater()
	return nil
}

func (s *Stream) flushLater() {
	if s.late == nil {
		s.late = time.AfterFunc(flushEvery, s.flushLate)
	} else {
		s.late.Reset(flushEvery)
	}
}

// Close flushes waiting lines, and returns the error of the stream, if any. The stream must not be used afterwards.
func (s *Stream) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.late != nil {
		s.late.Stop()
	}
	if !s.waiting {
		return s.err
	}
	return s.flush()
}

// flushLate flushes waiting lines, if any. The next call of a Send method returns its error.
func (s *Stream) flushLate() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting && s.err == nil {
		_ = s.flush()
	}
}

// SendNumbered is like Send, for a server-sent event with an id. A client that reconnects sends the last id in
// the header Last-Event-ID (HTML standard, section 9.2.6).
func (s *Stream) SendNumbered(id int, line []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if bytes.IndexByte(line, '\n') >= 0 {
		return s.fail(errTwoLines)
	}
	line = append(line, "\nid: "...)
	if err := s.write(append(strconv.AppendInt(line, int64(id), 10), s.suffix...)); err != nil {
		return err
	}
	return s.flush()
}

// Comment sends an SSE comment, which clients ignore, to keep proxies from closing an idle connection.
// Do not use it with NDJSON, which has no comments.
func (s *Stream) Comment(text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.write(append(append(append(s.buf[:0], ": "...), text...), "\n\n"...)); err != nil {
		return err
	}
	return s.flush()
}

// Begun reports whether the status has been sent, so that an error can only be sent as another line.
func (s *Stream) Begun() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.begun
}

var errTwoLines = errors.New("a line holds a newline")

func (s *Stream) writeLine(line []byte) error {
	if bytes.IndexByte(line[s.head:], '\n') >= 0 {
		return s.fail(errTwoLines)
	}
	return s.write(append(line, s.suffix...))
}

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
	return nil
}

func (s *Stream) flush() error {
	s.waiting, s.held = false, false
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

// renewDeadline extends the write deadline by s.timeout, at most once every renewEvery. It also works with a
// ResponseWriter without deadlines, such as a recorder in a test.
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
