package filesapi_test

import (
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"parley/internal/documents"
	"parley/internal/wire/wiretest"
)

// TestFixtures plays every testdata/*.txtar: prose, requests in order (request, request2…), and the
// exact bytes of the responses. After each request it runs the waiting jobs, unless the request's name
// ends in "-waiting".
func TestFixtures(t *testing.T) {
	wiretest.Play(t, func(t *testing.T, f wiretest.Fixture) map[string]string {
		s := newSite(t, documents.Quota{})
		got := map[string]string{}
		for _, name := range f.Names() {
			number, ok := strings.CutPrefix(name, "request")
			if !ok {
				continue
			}
			w := httptest.NewRecorder()
			s.http.ServeHTTP(w, wiretest.Request(t, f.Text(name)))
			got["response"+number] = scores.ReplaceAllString(wiretest.Response(w, w.Body.String()), `"score":0.5`)
			if !strings.HasSuffix(name, "-waiting") {
				s.settle()
			}
		}
		return got
	})
}

// scores are replaced in fixtures, because the ranking of passages is not this package's.
var scores = regexp.MustCompile(`"score":[0-9.]+`)

func TestFixtures_AreDescribed(t *testing.T) {
	wiretest.TestDescribed(t, newSite(t, documents.Quota{}).protocol, "")
}
