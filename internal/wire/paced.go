package wire

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"parley/internal/chat"
)

// Paced reads the body of a request as it arrives, for bodies that are too large for memory. Like
// ReadBody it limits size and pace: errors are *chat.Error of the kinds TooLarge and Invalid, after
// which the connection is not reused. It is not safe for concurrent use.
type Paced struct {
	w     http.ResponseWriter
	r     *http.Request
	rc    *http.ResponseController
	limit int64
	read  int64
	start time.Time
	err   error // the error that ended it
}

// NewPaced returns a reader of the body of r, up to limit bytes.
func NewPaced(w http.ResponseWriter, r *http.Request, limit int64) *Paced {
	return &Paced{w: w, r: r, rc: http.NewResponseController(w), limit: limit, start: time.Now()}
}

// Read reads from the body.
func (p *Paced) Read(b []byte) (int, error) {
	if p.err != nil {
		return 0, p.err
	}
	if p.r.ContentLength > p.limit {
		return 0, p.tooLarge()
	}
	b = b[:min(int64(len(b)), p.limit-p.read+1)]
	_ = p.rc.SetReadDeadline(p.start.Add(bodyGrace + time.Duration(p.read)*time.Second/bodyRate))
	n, err := p.r.Body.Read(b)
	p.read += int64(n)
	switch {
	case p.read > p.limit:
		return 0, p.tooLarge()
	case errors.Is(err, io.EOF):
		_ = p.rc.SetReadDeadline(time.Time{})
		p.err = io.EOF
	case err != nil:
		p.w.Header().Set("Connection", "close")
		p.err = &chat.Error{Kind: chat.Invalid, Msg: brokenBody(err), Err: fmt.Errorf("read the body: %w", err)}
	}
	return n, p.err
}

func (p *Paced) tooLarge() error {
	p.err = refuse(p.w, p.rc, p.r, p.limit)
	return p.err
}

// Err returns the error of the body, or nil if it has been read without one so far.
func (p *Paced) Err() error {
	if errors.Is(p.err, io.EOF) {
		return nil
	}
	return p.err
}

// Drain reads the rest of a refused body, up to a limit, so that the client reads the error response.
func (p *Paced) Drain() {
	if p.err != nil {
		return
	}
	p.err = io.EOF
	p.w.Header().Set("Connection", "close")
	_ = p.rc.SetReadDeadline(time.Now().Add(drainTime))
	_, _ = io.CopyN(io.Discard, p.r.Body, drainLimit)
}
