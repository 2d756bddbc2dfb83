package wire

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// leastCompressed is the size in bytes of the smallest body that is worth compressing.
const leastCompressed = 1 << 10

var compressors = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}

// WriteCompressed is like WriteJSON with status 200, but uses gzip if the client accepts it (RFC 9110 section 12.5.3). Do not
// use it for a body that contains both text from the request and secrets: its length would reveal whether they match.
func WriteCompressed(w http.ResponseWriter, r *Request, body []byte) error {
	h := w.Header()
	h.Add("Vary", "Accept-Encoding")
	if len(body) < leastCompressed || !acceptsGzip(r.Header) {
		return WriteJSON(w, http.StatusOK, body)
	}
	var b bytes.Buffer
	z := compressors.Get().(*gzip.Writer)
	defer compressors.Put(z)
	z.Reset(&b)
	_, _ = z.Write(body) // writing to a buffer does not fail
	_, _ = z.Write([]byte{'\n'})
	_ = z.Close()
	h.Set("Content-Encoding", "gzip")
	if tag := h.Get("ETag"); strings.HasPrefix(tag, `"`) {
		h.Set("ETag", "W/"+tag) // weak, because the bytes depend on the encoding
	}
	return writeBody(w, http.StatusOK, b.Bytes())
}

// acceptsGzip reports whether Accept-Encoding names gzip with a weight over 0.
func acceptsGzip(h http.Header) bool {
	for _, value := range h.Values("Accept-Encoding") {
		for one := range strings.SplitSeq(value, ",") {
			name, parameters, _ := strings.Cut(one, ";")
			if !strings.EqualFold(strings.TrimSpace(name), "gzip") {
				continue
			}
			weight, weighted := strings.CutPrefix(strings.ReplaceAll(parameters, " ", ""), "q=")
			q, err := strconv.ParseFloat(weight, 64)
			return !weighted || err == nil && q > 0
		}
	}
	return false
}
