package server

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"parley/internal/trace"
	"parley/internal/wire"
)

// strayBodyTimeout is the time limit for a body that no handler has begun to read. Handlers use
// wire.ReadBody, which sets its own limits; net/http reads other bodies to their end before it responds.
const strayBodyTimeout = 5 * time.Second

// handle passes a request through the guards to its endpoint.
func (s *Server) handle(x *exchange, r *http.Request) {
	if r.ContentLength != 0 {
		// An error means that the writer has no deadlines, as in tests.
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
	r, e, handler := s.aliased(r)
	if e != nil {
		x.route, x.quiet, x.req.Fail = e.path, e.quiet, e.fail
		if !e.quiet {
			r, x.span = trace.Request(r, e.path)
		}
	}
	trusted := s.trustOf(e).cors(x.Header(), r)
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

// trustOf returns the trust for calls of an endpoint. The origins that may show the embedded chat may call only embedPath.
func (s *Server) trustOf(e *endpoint) *trust {
	if e != nil && e.path == embedPath {
		return &s.embedding
	}
	return &s.trust
}

// unknown responds to an unknown path, in the form of the protocol to which the path may belong.
func (s *Server) unknown(x *exchange) {
	for _, p := range s.protocols {
		if p.Unknown != nil && isBelow(x.req.URL.Path, p) {
			x.req.Fail = p.Unknown
		}
	}
	x.refuse(errUnknownPath)
}

// isBelow reports whether a path is below the root of a protocol, or below an alias of it.
func isBelow(path string, p wire.Protocol) bool {
	return strings.HasPrefix(path, p.Root) || slices.ContainsFunc(p.Aliases, func(a wire.Alias) bool {
		return strings.HasPrefix(a.Path(path), p.Root)
	})
}

// oddFraming reports whether other software on the way may see the end of the request elsewhere than
// net/http does, so that later bytes on the connection must not be read as a request (RFC 9112 sections 6.1
// and 6.3). net/http silently drops a Content-Length beside Transfer-Encoding, and Transfer-Encoding in
// HTTP/1.0. So every request with Transfer-Encoding, and every HTTP/1.0 request, is the last of its
// connection.
func oddFraming(r *http.Request) bool {
	return len(r.TransferEncoding) > 0 || !r.ProtoAtLeast(1, 1)
}
