package server

import (
	"io"
	"net/http"
	"strings"
	"time"

	"parley/internal/wire"
)

// noRange refuses a range that lies outside of a document.
var errNoRange = wire.Refuse(http.StatusRequestedRangeNotSatisfiable, "range_not_satisfiable",
	"The document has no such range; the header Content-Range gives its size.")

// serveRanges answers with a blob, or the ranges of it that are asked for. Other units than bytes are
// ignored (RFC 9110 section 14.2), which http.ServeContent does not do.
func serveRanges(w http.ResponseWriter, r *http.Request, blob io.ReadSeeker) {
	if asked := r.Header.Get("Range"); asked != "" && !strings.HasPrefix(asked, "bytes=") {
		r = r.Clone(r.Context())
		r.Header.Del("Range")
	}
	http.ServeContent(&rangeWriter{ResponseWriter: w}, r, "", time.Time{}, blob)
}

// rangeWriter has http.ServeContent refuse ranges in the shape of errors.
type rangeWriter struct {
	http.ResponseWriter
	refused bool
}

// WriteHeader sends the header, and with 416 the body too.
func (w *rangeWriter) WriteHeader(status int) {
	if status != http.StatusRequestedRangeNotSatisfiable {
		w.ResponseWriter.WriteHeader(status)
		return
	}
	w.refused = true
	w.Header().Del("Content-Disposition")
	wire.PlainError(w.ResponseWriter, nil, errNoRange)
}

// Write leaves out what http.ServeContent says of a range that was refused.
func (w *rangeWriter) Write(b []byte) (int, error) {
	if w.refused {
		return len(b), nil
	}
	return w.ResponseWriter.Write(b)
}
