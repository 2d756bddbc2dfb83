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
// ReadBody, it limits the size and requires a minimum rate. Its errors are *chat.Error of the kinds TooLarge
// and Invalid; after one, the connection is not reused. It is not safe for concurrent use.
type Paced struct {
	w     http.ResponseWriter
	r     *http.Request
	rc    *http.ResponseController
	limit int64
	read  int64
	start time.Time
	err   error // the first error, or io.EOF at the end of the body
}

// NewPaced returns a reader of the body of r, up to limit bytes.
func NewPaced(w http.ResponseWriter, r *http.Request, limit int64) *Paced {
	return &Paced{w: w, r: r, rc: http.NewResponseController(w), limit: limit, start: time.Now()}
}

// Read implements io.Reader. Errors are final.
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

// Err returns the first error of Read other than io.EOF, or nil.
func (p *Paced) Err() error {
	if errors.Is(p.err, io.EOF) {
		return nil
	}
	return p.err
}

// Drain discards the rest of a body that was not read to its end, up to drainLimit, so that the client reads the
// response. It does nothing after the end of the body or an error. Defer it in handlers.
func (p *Paced) Drain() {
	if p.err != nil {
		return
	}
	p.err = io.EOF
	p.w.Header().Set("Connection", "close")
	_ = p.rc.SetReadDeadline(time.Now().Add(drainTime))
	_, _ = io.CopyN(io.Discard, p.r.Body, drainLimit)
}
