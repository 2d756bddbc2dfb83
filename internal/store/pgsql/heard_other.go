//go:build !unix

package pgsql

import "net"

// heard returns false: a connection that the server has ended is found when it is used.
func heard(net.Conn) bool { return false }
