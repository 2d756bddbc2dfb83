// Package wiretest has the helpers that the tests of the protocols share: a Runner that plays a script,
// fixtures of requests with the exact bytes of their replies, and tests of what every protocol does when
// its clients disconnect.
//
//	func TestFixtures(t *testing.T) {
//		wiretest.PlayTurns(t, func(t *testing.T, f wiretest.Fixture, r chat.Runner) http.Handler {
//			return wiretest.Handler(handlerOf(r).Protocol())
//		})
//	}
package wiretest

import (
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"

	"parley/internal/access"
	"parley/internal/chat"
	"parley/internal/turn"
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

// Principal returns the caller named in the header X-Test-User, or access.Anonymous if there is none. For a caller
// named "nobody" it returns an Unauthorized error.
func Principal(r *http.Request) (access.Principal, error) {
	user := r.Header.Get("X-Test-User")
	if user == "nobody" {
		return access.Anonymous, &chat.Error{Kind: chat.Unauthorized}
	}
	return access.Principal{Subject: user}, nil
}

// Handler serves the routes of a protocol as internal/server does, without its guards and its log.
func Handler(p wire.Protocol) http.Handler { return Mount(p, slog.New(slog.DiscardHandler)) }

// Mount serves the routes of a protocol as internal/server does, without its guards. The callers are
// those of Principal, and errors are logged. On a path with two routes, the second one serves bodies
// that have "stream", as with the versions of the AI Chat Protocol.
func Mount(p wire.Protocol, log *slog.Logger) http.Handler {
	return MountFor(p, log, func(r *http.Request, _ wire.Right) (access.Principal, error) { return Principal(r) })
}

// MountFor is like Mount, but admit identifies the callers.
func MountFor(p wire.Protocol, log *slog.Logger, admit func(*http.Request, wire.Right) (access.Principal, error)) http.Handler {
	shared, mux := map[string][]wire.Route{}, http.NewServeMux()
	for _, rt := range p.Routes {
		if shared[rt.Pattern] = append(shared[rt.Pattern], rt); len(shared[rt.Pattern]) > 1 {
			continue
		}
		mux.HandleFunc(rt.Pattern, func(w http.ResponseWriter, hr *http.Request) {
			out := &noting{ResponseWriter: w}
			hr = hr.WithContext(turn.WithNamed(hr.Context(), out.named))
			r := &wire.Request{Request: hr, Fail: rt.Fail}
			err := rt.ReadBody(out, r, wire.DefaultBodyLimit)
			rt := choose(shared[rt.Pattern], r)
			if r.Fail = rt.Fail; err == nil {
				r.Who, err = admit(hr, rt.Right)
			}
			if err == nil {
				err = rt.Handle(out, r)
			}
			if err == nil {
				return
			}
			log.Log(hr.Context(), wire.LevelOf(hr.Context(), err), "request ended with an error", "error", err)
			if !out.begun {
				r.Fail(out, r, wire.CauseOf(hr.Context(), err))
			}
		})
	}
	return mux
}

func choose(among []wire.Route, r *wire.Request) wire.Route {
	if probe, err := r.Probe(); err == nil && probe.HasStream && len(among) > 1 {
		return among[1]
	}
	return among[0]
}

// noting records whether a response has begun, and sets its header X-Turn-Id.
type noting struct {
	http.ResponseWriter
	begun bool
	turn  atomic.Pointer[string]
}

func (n *noting) named(turnID string) { n.turn.CompareAndSwap(nil, &turnID) }

func (n *noting) begin() {
	if id := n.turn.Load(); id != nil && !n.begun {
		n.Header().Set("X-Turn-Id", *id)
	}
	n.begun = true
}

func (n *noting) Unwrap() http.ResponseWriter { return n.ResponseWriter }

func (n *noting) WriteHeader(status int) {
	n.begin()
	n.ResponseWriter.WriteHeader(status)
}

func (n *noting) Write(b []byte) (int, error) {
	n.begin()
	return n.ResponseWriter.Write(b)
}

// Discard is an http.ResponseWriter that discards the response.
type Discard struct{ header http.Header }

// NewDiscard returns a Discard.
func NewDiscard() Discard { return Discard{http.Header{}} }

// Header returns the headers of the response.
func (d Discard) Header() http.Header { return d.header }

// Write discards b.
func (d Discard) Write(b []byte) (int, error) { return len(b), nil }

// WriteHeader does nothing.
func (d Discard) WriteHeader(int) {}

// FlushError does nothing.
func (d Discard) FlushError() error { return nil }
