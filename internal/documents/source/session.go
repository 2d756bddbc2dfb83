package source

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"parley/internal/interrupt"
)

// ErrRefused is in the errors of Open for an object that the server answers for, but does not give: it is gone, or may not
// be read.
var ErrRefused = errors.New("the server refuses it")

// line is a network connection on which one thing is asked for at a time, each with limits.
type line struct {
	net.Conn
	left  atomic.Int64          // bytes that may still arrive for what was asked for
	limit atomic.Pointer[limit] // of the request
}

var errTooMuch = errors.New("the server sends more than it was asked for")

// dialLine connects to a host. What it does until the first request has the limits of a call.
func dialLine(ctx context.Context, host, port string) (*line, error) {
	conn, err := (&net.Dialer{Timeout: dialTime}).DialContext(ctx, "tcp", net.JoinHostPort(host, port))
	if err != nil {
		return nil, err
	}
	return &line{Conn: conn}, nil
}

func (l *line) Read(p []byte) (int, error) {
	n, err := l.Conn.Read(p)
	if limit := l.limit.Load(); n > 0 && limit != nil {
		limit.alive()
	}
	if l.left.Add(-int64(n)) < 0 {
		l.Close()
		return 0, errTooMuch
	}
	return n, err
}

// request is something that was asked for on a line.
type request struct {
	*limit
	stop func() bool
}

// begin begins a request. The line is closed when it takes too long, or when the context ends.
func (l *line) begin(ctx context.Context, within time.Duration, most int64) request {
	l.left.Store(most)
	ctx, limit := newLimit(ctx, within)
	l.limit.Store(limit)
	return request{limit, context.AfterFunc(ctx, func() { l.Close() })}
}

// end ends the request, and returns its error: that it was too slow, where that is the cause.
func (r request) end(err error) error {
	if slow := r.err(); err != nil && slow != nil {
		err = slow
	}
	r.stop()
	r.limit.end()
	return err
}

// session is an account's connection to a server.
type session interface {
	comparable
	io.Closer
}

// sessions are the idle connections to a server. One that has failed is closed; the next use
// makes another.
type sessions[S session] struct {
	dial    func(ctx context.Context) (S, error) // *net.OpError: trying again may help
	refused func(err error) bool                 // the error is an answer, after which the session is as good as before
	pause   time.Duration
	mu      sync.Mutex
	idle    []S
	closed  bool
}

// use calls do with a session, and returns that: the caller gives it back with put, or closes it. After a failure of the
// connection it is called again with another.
func (p *sessions[S]) use(ctx context.Context, do func(S) error) (S, error) {
	var none S
	var failed error
	for try := range callTries {
		if try > 0 {
			if err := interrupt.Sleep(ctx, pauseBefore(try, p.pause, failed)); err != nil {
				return none, err
			}
		}
		s, err := p.take(ctx)
		if _, network := errors.AsType[*net.OpError](err); err != nil && !network {
			return none, err
		}
		if err == nil {
			if err = do(s); err == nil {
				return s, nil
			}
			if p.refused(err) {
				p.put(s)
				return none, err
			}
			s.Close()
		}
		if failed = err; ctx.Err() != nil {
			return none, ctx.Err()
		}
	}
	return none, failed
}

func (p *sessions[S]) take(ctx context.Context) (S, error) {
	p.mu.Lock()
	if n := len(p.idle); n > 0 {
		s := p.idle[n-1]
		p.idle = p.idle[:n-1]
		p.mu.Unlock()
		return s, nil
	}
	p.mu.Unlock()
	return p.dial(ctx)
}

func (p *sessions[S]) put(s S) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		s.Close()
		return
	}
	p.idle = append(p.idle, s)
}

// Close closes the idle sessions; the others are closed when they are given back.
func (p *sessions[S]) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, s := range p.idle {
		s.Close()
	}
	p.idle = nil
	return nil
}

// sessionBody is an object's content that arrives over a session.
type sessionBody[S session] struct {
	io.Reader
	of      *sessions[S]
	session S
	request request
	finish  func() error // ends what was asked for, so that the session can be asked for something else
	whole   bool         // which it can only after everything was read
	ended   bool         // everything was read
	failed  bool
}

func (b *sessionBody[S]) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	switch {
	case errors.Is(err, io.EOF):
		b.ended = true
	case err != nil:
		b.failed = true
		if slow := b.request.err(); slow != nil {
			err = slow
		}
	}
	return n, err
}

// Close gives the session back if it can be used again.
func (b *sessionBody[S]) Close() error {
	if b.failed || b.whole && !b.ended {
		_ = b.request.end(nil)
		return b.session.Close()
	}
	if err := b.request.end(b.finish()); err != nil {
		b.session.Close()
		return err
	}
	b.of.put(b.session)
	return nil
}
