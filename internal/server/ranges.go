package server

import (
	"io"
	"net/http"
	"strings"
	"time"

	"parley/internal/wire"
)

// errNoRange refuses a range outside of a document.
var errNoRange = wire.Refuse(http.StatusRequestedRangeNotSatisfiable, "range_not_satisfiable",
	"The document has no such range; the header Content-Range gives its size.")

// serveRanges responds with a blob, or the requested ranges of it. Unlike http.ServeContent, it ignores
// units other than bytes (RFC 9110 section 14.2).
func serveRanges(w http.ResponseWriter, r *http.Request, blob io.ReadSeeker) {
	if asked := r.Header.Get("Range"); asked != "" && !strings.HasPrefix(asked, "bytes=") {
		r = r.Clone(r.Context())
		r.Header.Del("Range")
	}
	http.ServeContent(&rangeWriter{ResponseWriter: w}, r, "", time.Time{}, blob)
}

// rangeWriter replaces the error body with which http.ServeContent refuses a range by Parley's own.
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

// Write discards http.ServeContent's own text for a refused range.
func (w *rangeWriter) Write(b []byte) (int, error) {
	if w.refused {
		return len(b), nil
	}
	return w.ResponseWriter.Write(b)
}
