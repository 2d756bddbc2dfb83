package server

import (
	"context"
	"net"
)

// wholeConn merges the writes of a handler between two flushes, which net/http would split into the first 4 KiB,
// the rest and the end of the chunk. Some clients assume that each read returns a whole event. Only the goroutine
// of the handler calls hold and release.
type wholeConn struct {
	net.Conn
	holds bool
	held  []byte
}

// mostHeld is the maximum number of bytes held back; a buffer of up to keepHeld bytes is reused.
const (
	mostHeld = 64 << 10
	keepHeld = 4 << 10
)

func (c *wholeConn) Write(b []byte) (int, error) {
	if !c.holds {
		return c.Conn.Write(b)
	}
	if len(c.held)+len(b) > mostHeld {
		if err := c.send(); err != nil {
			return 0, err
		}
	}
	if len(b) > mostHeld {
		return c.Conn.Write(b)
	}
	c.held = append(c.held, b...)
	return len(b), nil
}

// CloseWrite lets net/http close its side of the connection first.
func (c *wholeConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// hold holds back all writes until release.
func (c *wholeConn) hold() { c.holds = true }

// release writes what was held back, and lets later writes through.
func (c *wholeConn) release() error {
	c.holds = false
	return c.send()
}

func (c *wholeConn) send() error {
	if len(c.held) == 0 {
		return nil
	}
	_, err := c.Conn.Write(c.held)
	if c.held = c.held[:0]; cap(c.held) > keepHeld {
		c.held = nil
	}
	return err
}

// connOf returns the connection of a request, or nil in tests without one.
func connOf(ctx context.Context) *wholeConn {
	a, ok := ctx.Value(placeKey{}).(admission)
	if !ok {
		return nil
	}
	return a.whole
}
