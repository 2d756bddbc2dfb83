package chat

import (
	"errors"
	"time"
)

// Kind classifies an error, so that an adapter can choose a status.
type Kind uint8

// The kinds of error. Internal is the zero value, for errors without another kind.
const (
	Internal Kind = iota
	Invalid
	Unauthorized
	Forbidden
	NotFound
	Conflict
	TooLarge
	Filtered    // a content filter refused the question or the answer
	RateLimited // by this server; for limits of a provider see ModelLimited
	Unavailable // a part of the server, or a model, failed and may work again soon
	Full        // the server's disk is full, so nothing more can be stored

	// Errors of a model's provider. Kinds are stored as numbers: append new ones at the end.

	KeyRefused       // the provider does not accept the server's key
	ModelLimited     // the provider rejects further requests for now
	NoCredit         // the server's account with the provider has no credit left
	PromptTooLong    // the prompt does not fit into the model's window
	ModelMissing     // the provider has no model with the configured name
	ModelUnreachable // no connection to the provider could be made
	ModelSlow        // the provider did not answer in time

	KindCount = iota
)

// Error is an error with a kind and a sentence that may be shown to clients.
type Error struct {
	Kind       Kind
	Msg        string        // for clients, but not for Internal and Filtered; "" means the default of package wire for the kind
	Err        error         // for logs; may be nil
	RetryAfter time.Duration // how long to wait before repeating the request; 0 when unknown
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

// KindOf returns the kind of the *Error that err is or wraps, or Internal if there is none.
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return Internal
}
