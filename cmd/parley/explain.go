package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"syscall"

	"parley/internal/llm"
	"parley/internal/store"
)

// explain returns one sentence that says what went wrong and, if known, what to do.
func explain(err error) string {
	if saysWhatToDo(err) {
		return err.Error()
	}
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return err.Error() + ": make room on the disk that holds the data folder"
	case errors.Is(err, fs.ErrPermission):
		return err.Error() + ": give this user permission, or choose another place"
	}
	return err.Error()
}

func saysWhatToDo(err error) bool {
	_, folder := errors.AsType[*store.FolderError](err)
	_, listen := errors.AsType[*listenError](err)
	_, server := errors.AsType[*store.ServerError](err)
	_, copying := errors.AsType[*store.CopyingError](err)
	_, occupied := errors.AsType[*store.OccupiedError](err)
	return folder || server || copying || occupied || listen || isUsage(err)
}

// modelRemedy returns advice for a failed call as the end of a sentence, or "".
func modelRemedy(e *llm.Error, model string) string {
	provider, _, _ := strings.Cut(model, ":")
	switch {
	case e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden:
		return fmt.Sprintf(": check the API key of %s; parley config shows where it is set", provider)
	case e.Status == http.StatusNotFound:
		return fmt.Sprintf(": check the model's name, which parley models lists, and the address of %s, which parley config shows", provider)
	case e.Status == http.StatusTooManyRequests:
		return fmt.Sprintf(": %s limits the number of requests; try again later", provider)
	case e.Status == 0 && e.Retryable: // no answer, or an incomplete one
		return fmt.Sprintf(": check that %s runs, and its address, which parley config shows", provider)
	}
	return ""
}

// listenError says why the server cannot listen on an address, and what to do.
type listenError struct {
	addr string
	err  error
}

func (e *listenError) Error() string {
	cause, remedy := e.err, "choose another with --addr"
	if number, ok := errors.AsType[syscall.Errno](e.err); ok {
		cause = number // the surrounding error repeats the address
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
