package wiretest

import (
	"fmt"
	"strings"
	"testing"

	"parley/internal/wire/openai/openaitest"
)

// TestOpenAI compares the exchanges in a package's fixtures with OpenAI's description of its API, or skips the test without
// that. Only the requests of fixtures with examples of OpenAI's documents ("doc-…") must be valid; others may be wrong on
// purpose.
func TestOpenAI(t *testing.T) {
	described := openaitest.Read(t)
	if described == nil {
		t.Skip("PARLEY_TEST_OPENAI does not name OpenAI's description of its API")
	}
	for _, f := range Fixtures(t) {
		for _, name := range f.Names() {
			number, ok := strings.CutPrefix(name, "request")
			if !ok {
				continue
			}
			r := Request(t, f.Text(name))
			_, sent, _ := strings.Cut(f.Text(name), "\n\n")
			head, received, _ := strings.Cut(f.Text("response"+number), "\n\n")
			x := openaitest.Exchange{Method: r.Method, Path: r.URL.Path, Response: []byte(received)}
			_, _ = fmt.Sscanf(head, "%d\nContent-Type: %s", &x.Status, &x.ResponseMedia)
			if strings.HasPrefix(f.Path, "testdata/doc") {
				x.Request, x.RequestMedia = []byte(sent), r.Header.Get("Content-Type")
			}
			for _, err := range described.Judge(x) {
				t.Errorf("%s, %s: %v", f.Path, name, err)
			}
		}
	}
}
