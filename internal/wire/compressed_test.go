package wire

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestWriteCompressed_CompressesForThoseWhoAcceptIt(t *testing.T) {
	long := `"` + strings.Repeat("words ", 1000) + `"`
	for _, c := range []struct {
		accept, body string
		want         bool
	}{
		{"gzip, deflate, br", long, true}, {"br;q=1.0, GZIP;q=0.5", long, true}, {"gzip;q=0", long, false}, {"", long, false}, {"br", long, false},
		{"gzip;q=x", long, false}, {"gzip", `"short"`, false},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Accept-Encoding", c.accept)
		w := httptest.NewRecorder()
		w.Header().Set("ETag", `"a"`)
		if err := WriteCompressed(w, &Request{Request: r}, []byte(c.body)); err != nil {
			t.Fatal(err)
		}
		var from io.Reader = w.Body
		if got := w.Header().Get("Content-Encoding") == "gzip"; got != c.want || w.Header().Get("Vary") != "Accept-Encoding" || (w.Header().Get("ETag") == `W/"a"`) != c.want {
			t.Errorf("%q, %.10s: %v", c.accept, c.body, w.Header())
		}
		if c.want {
			z, err := gzip.NewReader(w.Body)
			if err != nil {
				t.Fatal(err)
			}
			from = z
		}
		if got, err := io.ReadAll(from); err != nil || string(got) != c.body+"\n" || w.Header().Get("Content-Type") != "application/json" {
			t.Errorf("%q: %d bytes, %v", c.accept, len(got), err)
		}
	}
}
