package server

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"parley/internal/access"
	"parley/internal/ident"
	"parley/internal/trace"
	"parley/internal/turn"
	"parley/internal/wire"
)

// exchange is one request with its response.
type exchange struct {
	*recorder
	id       string        // X-Request-Id
	route    string        // the path pattern, for log and metrics
	quiet    bool          // the route is a probe
	admitted bool          // the caller has the right that the route needs
	req      *wire.Request // its Fail is PlainError until the route is known
	start    time.Time
	span     *trace.Span
}

// serveHTTP handles a request. It counts and logs every request, even one that panics.
func (s *Server) serveHTTP(w http.ResponseWriter, r *http.Request) {
	x := s.begin(w, r)
	r = r.WithContext(turn.WithNamed(access.WithStart(r.Context(), x.start), x.named))
	x.req.Request = r
	// These run in reverse order, so that the log line has the outcome of a panic.
	defer s.end(x, r)
	defer s.recoverPanic(x)
	s.handle(x, r)
}

func (s *Server) begin(w http.ResponseWriter, r *http.Request) *exchange {
	x := &exchange{id: ident.New(), route: unknownPath, req: &wire.Request{Request: r, Fail: wire.PlainError}, start: time.Now()}
	x.recorder = newRecorder(w, s.cfg.WriteTimeout, s.metrics.activeStreams)
	x.conn = connOf(r.Context())
	h := w.Header()
	h.Set("X-Request-Id", x.id)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("Cache-Control", "no-store")
	return x
}

func (s *Server) end(x *exchange, r *http.Request) {
	x.end()
	took, status := time.Since(x.start), x.outcome(r)
	s.metrics.observeRequest(x.route, status, took)
	x.span.EndRequest(status)
	// The log has only the pattern of the path, because paths and queries can contain names of documents.
	attrs := []slog.Attr{
		slog.String("request_id", x.id),
		slog.String("method", methodLabel(r.Method)),
		slog.String("route", x.route),
		slog.Int("status", status),
		slog.Int64("bytes", x.bytes),
		slog.Duration("duration", took),
	}
	turnID := x.turnID()
	if turnID != "" {
		attrs = append(attrs, slog.String("turn_id", turnID))
	}
	// The runner logs an Info line for each turn, with more details. Only refusals are logged here at
	// Info.
	level := slog.LevelDebug
	if turnID == "" && status >= http.StatusBadRequest && !x.quiet {
		level = slog.LevelInfo
	}
	s.log.LogAttrs(x.req.Context(), level, "request served", attrs...)
}

// statusClientLeft replaces, in log and metrics, the status of an error after the client has left, as in
// nginx: that is not an error of the server.
const statusClientLeft = 499

// outcome returns the status for log and metrics. A stopping server cancels requests with another cause.
func (x *exchange) outcome(r *http.Request) int {
	left := errors.Is(context.Cause(r.Context()), context.Canceled)
	if left && x.status >= http.StatusInternalServerError {
		return statusClientLeft
	}
	return x.status
}

// recoverPanic turns a panic into the route's 500. If the response has begun, it closes the connection,
// so that no client mistakes half an answer for a complete one. Only the log gets the stack.
func (s *Server) recoverPanic(x *exchange) {
	v := recover()
	if v == nil {
		return
	}
	if err, ok := v.(error); !ok || !errors.Is(err, http.ErrAbortHandler) {
		s.log.LogAttrs(x.req.Context(), slog.LevelError, "request panicked",
			slog.String("request_id", x.id),
			slog.String("route", x.route),
			slog.Any("panic", v),
			slog.String("stack", string(debug.Stack())))
		if !x.started() {
			x.refuse(errPanicked)
			return
		}
	}
	panic(http.ErrAbortHandler)
}

// errPanicked has no kind, so that clients get the fixed sentence of a 500.
var errPanicked = errors.New("panicked")

// methodLabel returns the method, or "other" for unknown methods, for the log.
func methodLabel(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
		http.MethodDelete, http.MethodOptions, http.MethodConnect, http.MethodTrace:
		return method
	}
	return "other"
}
