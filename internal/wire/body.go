package wire

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"time"

	"parley/internal/chat"
)

// ReadBody reads the body of r to its end, which net/http needs to notice a client that leaves later
// (HTTP/1.1). A body over limit bytes is a *chat.Error of kind TooLarge; a body that is cut short or
// arrives too slowly is of kind Invalid. After either error the connection is not reused. A limit of 0 or less
// means DefaultBodyLimit.
func ReadBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	if limit <= 0 {
		limit = DefaultBodyLimit
	}
	rc := http.NewResponseController(w)
	if r.ContentLength > limit {
		return nil, refuse(w, rc, r, limit)
	}
	body, err := readPaced(rc, r.Body, limit, r.ContentLength)
	if err != nil {
		w.Header().Set("Connection", "close")
		return nil, &chat.Error{Kind: chat.Invalid, Msg: brokenBody(err), Err: fmt.Errorf("read the body: %w", err)}
	}
	if int64(len(body)) > limit {
		return nil, refuse(w, rc, r, limit)
	}
	// Not deferred: after an error the expired deadline keeps net/http from waiting for the rest of the body.
	_ = rc.SetReadDeadline(time.Time{})
	return body, nil
}

// readPaced reads at most limit+1 bytes into a growing buffer, and extends the read deadline as data
// arrives. It also works with a ResponseWriter without deadlines, such as a recorder in a test.
func readPaced(rc *http.ResponseController, body io.Reader, limit, length int64) ([]byte, error) {
	buf := make([]byte, 0, min(max(length, 0), limit, firstRead)+512)
	start := time.Now()
	for {
		if len(buf) == cap(buf) {
			buf = slices.Grow(buf, len(buf)) // doubles the capacity
		}
		allowed := bodyGrace + time.Duration(len(buf))*time.Second/bodyRate
		_ = rc.SetReadDeadline(start.Add(allowed))
		room := min(int64(cap(buf)), limit+1)
		n, err := body.Read(buf[len(buf):room])
		buf = buf[:len(buf)+n]
		if err == io.EOF || int64(len(buf)) > limit {
			return buf, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// refuse returns the TooLarge error for a body. First it discards the rest of the body, up to drainLimit, because many
// clients read the response only when they have sent everything.
func refuse(w http.ResponseWriter, rc *http.ResponseController, r *http.Request, limit int64) error {
	w.Header().Set("Connection", "close")
	// With Expect: 100-continue, reading would make net/http ask the client for the refused body.
	if r.Header.Get("Expect") == "" {
		_ = rc.SetReadDeadline(time.Now().Add(drainTime))
		_, _ = io.CopyN(io.Discard, r.Body, drainLimit)
	}
	return &chat.Error{Kind: chat.TooLarge, Msg: fmt.Sprintf("the request body is over the limit of %d bytes", limit)}
}

func brokenBody(err error) string {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return "the request body arrived too slowly"
	}
	return "the request body could not be read to its end"
}
