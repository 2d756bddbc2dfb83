// Package wiretest has what the tests of the protocols share: a Runner that plays a script,
// fixtures of requests with the exact bytes of their answers, and the tests that every protocol
// passes when its clients leave.
//
//	func TestFixtures(t *testing.T) {
//		wiretest.Play(t, func(t *testing.T, f wiretest.Fixture) map[string]string {
//			runner := &wiretest.Scripted{Steps: wiretest.Script(t, f.Text("events"))}
//			w := httptest.NewRecorder()
//			serve(handlerOf(runner)).ServeHTTP(w, wiretest.Request(t, f.Text("request")))
//			return map[string]string{"response": wiretest.Response(w, w.Body.String())}
//		})
//	}
package wiretest

import (
	"fmt"
	"net/http"

	"parley/internal/access"
	"parley/internal/chat"
	"parley/internal/wire"
)

// IDs returns a function that makes the ids 1, 2, 3… in the form of ULIDs.
func IDs() func() string {
	n := 0
	return func() string {
		n++
		return fmt.Sprintf("01J%023d", n)
	}
}

// Principal returns the caller that the header X-Test-User names, Anonymous without one. Who is
// called "nobody" may not ask.
func Principal(r *http.Request) (access.Principal, error) {
	user := r.Header.Get("X-Test-User")
	if user == "nobody" {
		return access.Anonymous, &chat.Error{Kind: chat.Unauthorized}
	}
	return access.Principal{Subject: user}, nil
}

// WithBody reads the body of a request for a handler, as internal/server does; fail answers when
// that cannot be done.
func WithBody(fail func(http.ResponseWriter, error), handle func(http.ResponseWriter, *http.Request, []byte)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := wire.ReadBody(w, r, 0)
		if err != nil {
			fail(w, err)
			return
		}
		handle(w, r, body)
	}
}

// Discard is a client that takes everything at once.
type Discard struct{ header http.Header }

// NewDiscard returns a Discard.
func NewDiscard() Discard { return Discard{http.Header{}} }

// Header returns the headers of the response.
func (d Discard) Header() http.Header { return d.header }

// Write takes b.
func (d Discard) Write(b []byte) (int, error) { return len(b), nil }

// WriteHeader does nothing.
func (d Discard) WriteHeader(int) {}

// FlushError does nothing.
func (d Discard) FlushError() error { return nil }
