//go:build unix

package main

import "golang.org/x/sys/unix"

// openFiles returns how many files this process may have open, 0 when that is not known. Go has raised
// the limit as far as it may.
func openFiles() uint64 {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return 0
	}
	return uint64(limit.Cur) //nolint:unconvert // it is signed on some systems
}
