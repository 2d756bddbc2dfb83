package chat

import (
	"errors"
	"time"
)

// Kind says what went wrong, so that an adapter can choose a status.
type Kind uint8

// The kinds of error. Internal is the zero value: whatever has no other kind.
const (
	Internal Kind = iota
	Invalid
	Unauthorized
	Forbidden
	NotFound
	Conflict
	TooLarge
	Filtered    // a content filter refused the question or the answer
	RateLimited // here or upstream
	Unavailable // a model or another part could not be reached in time
	Full        // nothing can be stored any more, because the server's disk is full
)

// Error is an error with a kind and a sentence that may be shown to clients.
type Error struct {
	Kind       Kind
	Msg        string        // for clients; shown for every kind but Internal
	Err        error         // for logs; may be nil
	RetryAfter time.Duration // when the same request may succeed; 0 when unknown
}

func (e *Error) Error() string {
	if e.Err == nil {
		return e.Msg
	}
	if e.Msg == "" {
		return e.Err.Error()
	}
	return e.Msg + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// KindOf returns the kind of err, Internal when it has none.
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return Internal
}
