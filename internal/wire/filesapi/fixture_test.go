package filesapi_test

import (
	"net/http"
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
	wiretest.PlayRequests(t, func(t *testing.T) func(string, *http.Request) string {
		s := newSite(t, documents.Quota{})
		return func(name string, r *http.Request) string {
			response := scores.ReplaceAllString(wiretest.Serve(s.http, r), `"score":0.5`)
			if !strings.HasSuffix(name, "-waiting") {
				s.Settle()
			}
			return response
		}
	})
}

// scores are replaced in fixtures, because the ranking of passages is not this package's.
var scores = regexp.MustCompile(`"score":[0-9.]+`)

func TestFixtures_AreDescribed(t *testing.T) {
	wiretest.TestDescribed(t, newSite(t, documents.Quota{}).protocol, "")
}

func TestFixtures_AreValidForOpenAI(t *testing.T) { wiretest.TestOpenAI(t) }
