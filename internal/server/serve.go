package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"parley/internal/chat"
)

// The limits of a connection. There is no timeout for a whole response, because it would cut streams
// off: each write has its own (see recorder).
const (
	headerTimeout  = 5 * time.Second
	idleTimeout    = 120 * time.Second
	maxHeaderBytes = 64 << 10
)

// At the end of draining, streams get finalTime to write their last line. A connection that has not sent
// a request silentTime after the stop is closed once no request is running: browsers open some in advance.
const (
	finalTime  = 2 * time.Second
	silentTime = 250 * time.Millisecond
)

// errStopping is the cause with which the contexts of requests are cancelled after the drain window. Adapters
// write its text to clients as the last line of a stream.
var errStopping = &chat.Error{
	Kind: chat.Unavailable,
	Msg:  "The server is stopping. Please ask again in a moment.",
}

// Serve serves connections from ln until ctx is done, and then stops in an orderly way: /readyz reports it, new
// connections are refused, and turns in progress have Config.Drain to end, after which they are cancelled with
// a cause for their clients. It closes ln, and returns when the last response has ended: nil after a stop by
// ctx. It can be called once.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	s.loopback.Store(isLoopback(ln.Addr()))
	// The end of ctx must not cut off turns at once.
	base, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	gate := newGate(ln, s.cfg.MaxConnections, s.log)
	srv := &http.Server{
		Handler:           s.Handler(),
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		BaseContext:       func(net.Listener) context.Context { return base },
		ConnState:         gate.track,
		ConnContext:       gate.context,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(gate) }()
	select {
	case err := <-served:
		cancel(errStopping)
		s.drainTurns(base)
		return fmt.Errorf("serve on %s: %w", ln.Addr(), err)
	case <-ctx.Done():
	}
	s.draining.Store(true)
	gate.stop()
	s.drain(srv, gate, cancel)
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve on %s: %w", ln.Addr(), err)
	}
	return nil
}

// drain ends the server's connections and turns, gently at first. http.Server.Shutdown would also close connections whose clients
// have sent a request that has not been read yet, so it is called only when no connection is left or the window is over.
func (s *Server) drain(srv *http.Server, gate *gate, cancel context.CancelCauseFunc) {
	window, end := context.WithTimeout(context.Background(), s.cfg.Drain)
	defer end()
	defer s.drainTurns(window)
	for _, p := range s.protocols {
		if p.Drain != nil {
			p.Drain()
		}
	}
	srv.SetKeepAlivesEnabled(false) // each response is the last one of its connection
	hangUp := time.AfterFunc(silentTime, gate.hangUp)
	defer hangUp.Stop()
	if gate.wait(window) != nil {
		cancel(errStopping)
	}
	if shutdown(srv, finalTime) == nil {
		return
	}
	s.log.Warn("requests were cut at the stop", "duration", s.cfg.Drain+finalTime)
	// Close returns an error of the listener, which Shutdown has already closed.
	_ = srv.Close()
}

// drainTurns waits for the turns of hijacked connections, and for turns that continue without clients. It cancels
// them when ctx ends.
func (s *Server) drainTurns(ctx context.Context) {
	for _, p := range s.protocols {
		if p.Wait != nil {
			p.Wait(ctx, errStopping)
		}
	}
	if s.deps.Drain != nil {
		s.deps.Drain(ctx, errStopping)
	}
}

func shutdown(srv *http.Server, window time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), window)
	defer cancel()
	return srv.Shutdown(ctx)
}

func isLoopback(addr net.Addr) bool {
	tcp, ok := addr.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}
