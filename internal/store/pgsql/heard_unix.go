//go:build unix

package pgsql

import (
	"crypto/tls"
	"errors"
	"net"
	"syscall"
)

// heard reports whether something has arrived on a connection on which nothing was asked, such as its end.
func heard(c net.Conn) bool {
	if secure, ok := c.(*tls.Conn); ok {
		c = secure.NetConn()
	}
	socket, ok := c.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return true
	}
	silent := false
	var one [1]byte
	// Not Read, which would wait for a read of pgx that may have been begun before the connection came to rest.
	err = raw.Control(func(fd uintptr) {
		_, _, err := syscall.Recvfrom(int(fd), one[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		silent = errors.Is(err, syscall.EAGAIN)
	})
	return err != nil || !silent
}
