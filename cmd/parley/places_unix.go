//go:build unix

package main

import "golang.org/x/sys/unix"

// openFiles returns this process's limit of open files, 0 if unknown. Go has raised it to the
// maximum.
func openFiles() uint64 {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return 0
	}
	return uint64(limit.Cur) //nolint:unconvert // it is signed on some systems
}
