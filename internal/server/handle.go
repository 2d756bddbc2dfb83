package server

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"parley/internal/wire"
	"parley/internal/wire/openai"
)

// strayBodyTimeout is how long a body may take that no handler has asked for yet. Handlers that
// read one go by wire.ReadBody, which sets its own pace; net/http reads the others to their end
// before it answers.
const strayBodyTimeout = 5 * time.Second

// handle takes a request through the guards to the handler of its route.
func (s *Server) handle(x *exchange, r *http.Request) {
	if r.ContentLength != 0 {
		// A writer without deadlines, as in tests, is left without.
		_ = x.rc.SetReadDeadline(time.Now().Add(strayBodyTimeout))
	}
	full := crowded(r.Context())
	if full || oddFraming(r) {
		x.Header().Set("Connection", "close")
	}
	if !s.trust.host(r.Host, s.loopback.Load()) {
		plainErrors(x, unknownHost)
		return
	}
	rt, found := s.routeOf(r)
	if found {
		x.route, x.shape = rt, rt.errors
	}
	trusted := s.trust.cors(x.Header(), r)
	if !found {
		// Also where the mux would redirect to a cleaner path, which loses a POST.
		if strings.HasPrefix(r.URL.Path, openAIPath) {
			openai.WriteFailure(x, unknownOpenAI(r.URL.Path))
			return
		}
		plainErrors(x, unknownPath)
		return
	}
	if full && !rt.quiet {
		rt.errors(x, errCrowded)
		return
	}
	if r.Method == http.MethodOptions {
		answerOptions(x, r, rt, trusted)
		return
	}
	if !trusted && s.trust.sameOrigin.Check(r) != nil {
		rt.errors(x, unknownOrigin)
		return
	}
	rt.setPathValues(r)
	answer, ok := rt.methods[r.Method]
	if !ok {
		x.Header().Set("Allow", rt.allow)
		rt.errors(x, wrongMethod)
		return
	}
	if err := answer(x, r); err != nil {
		s.refuse(x, r, err)
	}
}

// oddFraming reports whether others on the way may see the end of a request elsewhere than net/http
// does, so that what follows on the connection must not be taken for a request (RFC 9112 sections 6.1
// and 6.3). net/http drops a Content-Length beside Transfer-Encoding, and Transfer-Encoding in
// HTTP/1.0, without telling; so every request with the one, and every request of the other, is the last
// of its connection.
func oddFraming(r *http.Request) bool {
	return len(r.TransferEncoding) > 0 || !r.ProtoAtLeast(1, 1)
}

// refuse answers with what went wrong before a handler had sent anything.
func (s *Server) refuse(x *exchange, r *http.Request, err error) {
	f := wire.FailureOf(err)
	if known, ok := errors.AsType[*refusalError](err); ok {
		f = known.Failure
	}
	if f.Status >= http.StatusInternalServerError && r.Context().Err() == nil {
		s.log.ErrorContext(r.Context(), "request failed",
			"request_id", x.id, "route", x.route.path, "error", err)
	}
	if !x.started() {
		x.shape(x, f)
	}
}
