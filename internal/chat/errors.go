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
	RateLimited // by this server; see ModelLimited
	Unavailable // a part of the server, or a model, failed and may work again soon
	Full        // nothing can be stored any more, because the server's disk is full

	// What the provider of a model did. The numbers of kinds are stored: new ones go to the end.

	KeyRefused       // it does not accept the server's key
	ModelLimited     // it takes no more requests for now
	NoCredit         // the server's account with it has no credit left
	PromptTooLong    // the prompt does not fit into the model
	ModelMissing     // it has no model of the configured name
	ModelUnreachable // no connection to it came about
	ModelSlow        // it did not answer in time

	kindCount = iota
)

// Kinds returns every kind, so that tests can ask whether a table has them all.
func Kinds() []Kind {
	kinds := make([]Kind, kindCount)
	for i := range kinds {
		kinds[i] = Kind(i)
	}
	return kinds
}

// Error is an error with a kind and a sentence that may be shown to clients.
type Error struct {
	Kind       Kind
	Msg        string        // for clients, not for Internal and Filtered; "" means what package wire has for the kind
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
