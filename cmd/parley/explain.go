package main

import (
	"errors"
	"io/fs"
	"syscall"
)

// explain returns one sentence that says what went wrong and, where it is known, what to do.
func explain(err error) string {
	if isUsage(err) {
		return err.Error()
	}
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return err.Error() + ": stop the program that uses the port, or choose another with --addr"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return err.Error() + ": this machine has no such address; choose another with --addr"
	case errors.Is(err, syscall.ENOSPC):
		return err.Error() + ": make room on the disk that holds the data folder"
	case errors.Is(err, fs.ErrPermission):
		return err.Error() + ": give this user the right to it, or choose another place"
	}
	return err.Error()
}
