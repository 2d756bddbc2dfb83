package server

import (
	"net/http"
	"strings"
	"time"
)

// strayBodyTimeout is how long a body may take that no handler has asked for yet. Handlers that
// read one go by wire.ReadBody, which sets its own pace; net/http reads the others to their end
// before it answers.
const strayBodyTimeout = 5 * time.Second

// handle takes a request through the guards to its endpoint.
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
		x.refuse(errUnknownHost)
		return
	}
	e, handler := s.find(r)
	if e != nil {
		x.route, x.quiet, x.req.Fail = e.path, e.quiet, e.fail
	}
	trusted := s.trust.cors(x.Header(), r)
	switch {
	case e == nil:
		s.unknown(x)
	case full && !e.quiet:
		x.refuse(errCrowded)
	case r.Method == http.MethodOptions:
		answerOptions(x, r, e, trusted)
	case !trusted && s.trust.sameOrigin.Check(r) != nil:
		x.refuse(errUnknownOrigin)
	default:
		handler.ServeHTTP(x, r)
	}
}

// unknown answers for a path that is none, in the shape of the protocol that it may belong to.
func (s *Server) unknown(x *exchange) {
	for _, p := range s.protocols {
		if p.Unknown != nil && strings.HasPrefix(x.req.URL.Path, p.Root) {
			x.req.Fail = p.Unknown
		}
	}
	x.refuse(errUnknownPath)
}

// oddFraming reports whether others on the way may see the end of a request elsewhere than net/http
// does, so that what follows on the connection must not be taken for a request (RFC 9112 sections 6.1
// and 6.3). net/http drops a Content-Length beside Transfer-Encoding, and Transfer-Encoding in
// HTTP/1.0, without telling; so every request with the one, and every request of the other, is the last
// of its connection.
func oddFraming(r *http.Request) bool {
	return len(r.TransferEncoding) > 0 || !r.ProtoAtLeast(1, 1)
}
