package server

import (
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// rearmAfter is the age at which a write renews the write deadline. With a short timeout that happens earlier; see
// rearm.
const rearmAfter = time.Second

// recorder records the status and size of a response, sets a deadline for every write and counts
// streams. A response counts as a stream from its first Flush on.
type recorder struct {
	http.ResponseWriter
	rc      *http.ResponseController
	conn    *wholeConn    // nil in tests without a connection
	timeout time.Duration // for the client to accept one write
	armed   time.Time     // when the write deadline was last set
	streams prometheus.Gauge

	status    int // 0 until the header is sent
	bytes     int64
	streaming bool

	turn atomic.Pointer[string] // id of the first turn that answers the request; nil for none
}

// turnHeader is the header of an answer that names its turn.
const turnHeader = "X-Turn-Id"

// named records the first turn that answers the request. Some protocols run it in another goroutine.
func (w *recorder) named(turnID string) { w.turn.CompareAndSwap(nil, &turnID) }

// turnID returns the id of the turn that answers the request, or "".
func (w *recorder) turnID() string {
	if id := w.turn.Load(); id != nil {
		return *id
	}
	return ""
}

// begin records the status of a response whose header is about to be sent.
func (w *recorder) begin(status int) {
	if w.started() {
		return
	}
	w.status = status
	if id := w.turnID(); id != "" {
		w.Header().Set(turnHeader, id)
	}
}

func newRecorder(w http.ResponseWriter, timeout time.Duration, streams prometheus.Gauge) *recorder {
	return &recorder{
		ResponseWriter: w, rc: http.NewResponseController(w), timeout: timeout, streams: streams,
	}
}

// Unwrap lets http.ResponseController reach the connection.
func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// SetWriteDeadline sets a handler's own deadline, or the server's if that is earlier.
func (w *recorder) SetWriteDeadline(t time.Time) error {
	if limit := time.Now().Add(w.timeout); t.After(limit) {
		t = limit
	}
	return w.rc.SetWriteDeadline(t)
}

func (w *recorder) started() bool { return w.status != 0 }

// WriteHeader sends the header. Informational responses (1xx) are not recorded.
func (w *recorder) WriteHeader(status int) {
	if status >= 200 {
		w.begin(status)
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write sends b within the write timeout.
func (w *recorder) Write(b []byte) (int, error) {
	w.rearm()
	w.begin(http.StatusOK)
	if w.conn != nil {
		w.conn.hold()
	}
	n, err := w.ResponseWriter.Write(b)
	w.bytes += int64(n)
	return n, err
}

// FlushError sends buffered data; http.ResponseController.Flush calls it.
func (w *recorder) FlushError() error {
	w.rearm()
	w.begin(http.StatusOK)
	if !w.streaming {
		w.streaming = true
		w.streams.Inc()
	}
	err := w.rc.Flush()
	if w.conn != nil {
		err = errors.Join(err, w.conn.release())
	}
	return err
}

// rearm extends the write deadline, at most about once a second. net/http clears it between requests. The error
// of a writer without deadlines, as in tests, is ignored.
func (w *recorder) rearm() {
	now := time.Now()
	if now.Sub(w.armed) < min(rearmAfter, w.timeout/4) {
		return
	}
	w.armed = now
	_ = w.rc.SetWriteDeadline(now.Add(w.timeout))
}

// end completes the record. If the handler sent nothing, the status is 200, as in net/http.
func (w *recorder) end() {
	if w.streaming {
		w.streams.Dec()
	}
	if w.conn != nil {
		_ = w.conn.release() // net/http notices an error at its last write
	}
	w.begin(http.StatusOK)
}
