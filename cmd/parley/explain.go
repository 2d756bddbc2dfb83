package main

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"parley/internal/store"
)

// explain returns one sentence that says what went wrong and, where it is known, what to do.
func explain(err error) string {
	if saysWhatToDo(err) {
		return err.Error()
	}
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return err.Error() + ": make room on the disk that holds the data folder"
	case errors.Is(err, fs.ErrPermission):
		return err.Error() + ": give this user the right to it, or choose another place"
	}
	return err.Error()
}

func saysWhatToDo(err error) bool {
	_, folder := errors.AsType[*store.FolderError](err)
	_, listen := errors.AsType[*listenError](err)
	return folder || listen || isUsage(err)
}

// listenError says why nobody can listen on an address, and what to do.
type listenError struct {
	addr string
	err  error
}

func (e *listenError) Error() string {
	cause, remedy := e.err, "choose another with --addr"
	if number, ok := errors.AsType[syscall.Errno](e.err); ok {
		cause = number // what stands around it names the address again
	}
	switch {
	case errors.Is(cause, syscall.EADDRINUSE):
		remedy = "stop the program that uses the port, or choose another with --addr"
	case errors.Is(cause, syscall.EADDRNOTAVAIL):
		remedy = "this machine has no such address; choose another with --addr"
	case errors.Is(cause, syscall.EACCES):
		remedy = "this user may not use that port; choose one above 1023 with --addr"
	}
	return fmt.Sprintf("listen on %s: %v: %s", e.addr, cause, remedy)
}

func (e *listenError) Unwrap() error { return e.err }
