package pgsql

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"parley/internal/interrupt"
	"parley/internal/lazyregexp"
)

// Codes of errors with which a server ends a connection, or accepts none for now, besides all of class 08: see appendix
// A of PostgreSQL's manual.
const (
	codeShutdown   = "57P01"
	codeCrash      = "57P02"
	codeStarting   = "57P03"
	codeNoMore     = "53300" // connections
	codeIdle       = "57P05" // idle_session_timeout
	codeIdleInside = "25P03" // idle_in_transaction_session_timeout
	codeLong       = "25P04" // transaction_timeout
	codeConnection = "08"
)

// Lost reports whether an error says that the connection to the server broke, or that the server accepts none for now.
// It is false for errors of the caller's context.
func Lost(err error) bool {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch e.Code {
		case codeShutdown, codeCrash, codeStarting, codeNoMore, codeIdle, codeIdleInside, codeLong:
			return true
		}
		return strings.HasPrefix(e.Code, codeConnection)
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return true
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	return errors.Is(err, driver.ErrBadConn) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, net.ErrClosed) || pgconn.SafeToRetry(err)
}

// Refused reports whether an error of Lost says that the server did not carry out what was asked: the request was
// not sent, or the server said that it ends the connection instead. A commit that fails so has not taken place.
func Refused(err error) bool {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch e.Code {
		case codeShutdown, codeStarting, codeNoMore, codeIdle, codeIdleInside, codeLong:
			return true
		}
		return false
	}
	return errors.Is(err, driver.ErrBadConn) || pgconn.SafeToRetry(err)
}

// The limits of attempts to connect to a server that was reached before. A server that restarts, or a standby that takes
// over, needs some seconds.
const (
	patience = 20 * time.Second
	pause    = 100 * time.Millisecond // between two attempts
)

// Server is the state that connectors to one server share. Its zero value is a server that has not been reached yet.
type Server struct {
	mu          sync.Mutex
	reached     bool      // there has been a connection
	since, last time.Time // the first and the last attempt to connect that failed since a connection worked
}

// answered notes that a connection works.
func (s *Server) answered() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reached, s.since, s.last = true, time.Time{}, time.Time{}
}

// failed notes an attempt to connect that failed, and reports whether to make another one. There is none if the server
// has never been reached, so that a wrong address is reported at once. There is none either if no connection has worked
// for longer than patience, so that a request which needs several does not wait for each. If nobody has tried for that
// long, the outage that was noted may be over, and this attempt begins a new one.
func (s *Server) failed() (again bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if now.Sub(s.last) > patience {
		s.since = now
	}
	s.last = now
	return s.reached && now.Sub(s.since) <= patience
}

// Connect implements driver.Connector. It tries for as long as a restart takes.
func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	for deadline := time.Now().Add(patience); ; {
		conn, err := c.connect(ctx)
		if err == nil {
			c.server.answered()
			return conn, nil
		}
		if !Lost(err) || !c.server.failed() || time.Now().After(deadline) {
			return nil, err
		}
		if interrupt.Sleep(ctx, pause) != nil {
			return nil, err
		}
	}
}

// again returns driver.ErrBadConn for an error that says that the connection was lost: database/sql
// then repeats the operation with another connection. It must have no effect when it is repeated, and
// not be part of a transaction.
func again(err error) error {
	if Lost(err) {
		return driver.ErrBadConn
	}
	return err
}

// reads reports whether a statement changes nothing.
func reads(query string) bool {
	query = strings.TrimSpace(query)
	return strings.HasPrefix(query, "SELECT") || strings.HasPrefix(query, "WITH") && !changing.MatchString(query)
}

var changing = lazyregexp.New(`\b(INSERT|UPDATE|DELETE)\b`)
