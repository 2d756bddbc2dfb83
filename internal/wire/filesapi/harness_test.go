package filesapi_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"parley/internal/access"
	"parley/internal/documents"
	"parley/internal/library/librarytest"
	"parley/internal/wire"
	"parley/internal/wire/filesapi"
	"parley/internal/wire/wiretest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// site is a Handler with a data folder. Only Settle runs its jobs.
type site struct {
	*librarytest.Site
	protocol wire.Protocol
	http     http.Handler
}

func newSite(t *testing.T, quota documents.Quota) *site {
	t.Helper()
	s := &site{Site: librarytest.New(t, quota, wiretest.IDs())}
	s.protocol = filesapi.New(filesapi.Config{
		Library: s.Library, Search: s.Searcher().Search, Corpus: s.DB.Corpus(), MaxUpload: 1 << 16,
		Namespaces: func(context.Context, access.Principal) ([]string, error) { return []string{"default", "hr"}, nil },
	}).Protocol()
	s.http = wiretest.Mount(s.protocol, slog.New(slog.DiscardHandler))
	return s
}

// send makes a request and returns the reply. A body of JSON gets the content type of JSON.
func (s *site) send(method, target, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	if strings.HasPrefix(body, "{") {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	s.http.ServeHTTP(w, r)
	return w
}
