package wire

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"parley/internal/chat"
)

// The sentences of the AI Chat Protocol (both versions, "Error response"). Every protocol uses
// them, so that no internal text reaches a client.
const (
	InternalSentence = "The app encountered an error processing your request.\n" +
		"If you are an administrator of the app, view the full error in the logs."
	filteredSentence = "Your message contains content that was flagged by the OpenAI content filter."
)

// Failure is what a client may learn of an error. Each protocol gives it its own shape.
type Failure struct {
	Status     int    // HTTP status
	Code       string // for programs, e.g. "not_found"
	Text       string // one sentence for people
	RetryAfter time.Duration
}

// failures is the one table from kinds to statuses.
var failures = map[chat.Kind]Failure{
	chat.Internal:     {Status: http.StatusInternalServerError, Code: "internal_error", Text: InternalSentence},
	chat.Invalid:      {Status: http.StatusBadRequest, Code: "invalid_request", Text: "The request is not valid."},
	chat.Unauthorized: {Status: http.StatusUnauthorized, Code: "unauthorized", Text: "Sign-in is required."},
	chat.Forbidden:    {Status: http.StatusForbidden, Code: "forbidden", Text: "This is not allowed."},
	chat.NotFound:     {Status: http.StatusNotFound, Code: "not_found", Text: "Not found."},
	chat.Conflict:     {Status: http.StatusConflict, Code: "conflict", Text: "The request conflicts with another one."},
	chat.TooLarge:     {Status: http.StatusRequestEntityTooLarge, Code: "too_large", Text: "The request is too large."},
	chat.Filtered:     {Status: http.StatusBadRequest, Code: "content_filter", Text: filteredSentence},
	chat.RateLimited: {
		Status: http.StatusTooManyRequests, Code: "rate_limited",
		Text: "Too many requests. Please try again later.", RetryAfter: time.Second,
	},
	chat.Unavailable: {Status: http.StatusServiceUnavailable, Code: "unavailable", Text: InternalSentence, RetryAfter: time.Second},
	chat.Full: {
		Status: http.StatusInsufficientStorage, Code: "insufficient_storage",
		Text: "There is no room left on the server's disk. Nothing was stored.",
	},
}

// RefusalError is an error with a Failure of its own, for statuses that no kind of package chat has.
type RefusalError struct {
	Failure
	Err error // for logs; may be nil
}

func (e *RefusalError) Error() string {
	if e.Err == nil {
		return e.Text
	}
	return e.Text + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *RefusalError) Unwrap() error { return e.Err }

// FailureOf returns what to tell a client about err: the sentence of a *chat.Error, except for
// the kinds Internal and Filtered, whose sentences the protocol's documents fix; or what a *RefusalError says.
func FailureOf(err error) Failure {
	if r, ok := errors.AsType[*RefusalError](err); ok {
		return r.Failure
	}
	kind := chat.KindOf(err)
	f, ok := failures[kind]
	if !ok {
		return failures[chat.Internal]
	}
	e, ok := errors.AsType[*chat.Error](err)
	if !ok {
		return f
	}
	if e.Msg != "" && kind != chat.Internal && kind != chat.Filtered {
		f.Text = e.Msg
	}
	if e.RetryAfter > 0 {
		f.RetryAfter = e.RetryAfter
	}
	return f
}

// CauseOf returns the reason for which ctx was cancelled when that is what ended a turn and the
// reason is meant for clients, for example that the server stops; else err itself.
func CauseOf(ctx context.Context, err error) error {
	if !errors.Is(err, context.Canceled) {
		return err
	}
	if cause, ok := errors.AsType[*chat.Error](context.Cause(ctx)); ok {
		return cause
	}
	return err
}

// SetHeaders sets the headers that belong to the failure: Retry-After in whole seconds.
func (f Failure) SetHeaders(h http.Header) {
	if f.RetryAfter > 0 {
		h.Set("Retry-After", strconv.FormatInt(int64((f.RetryAfter+time.Second-1)/time.Second), 10))
	}
}

// WriteError answers with {"error": sentence}: the shape of the AI Chat Protocol, and of a
// request that belongs to no protocol.
func WriteError(w http.ResponseWriter, err error) {
	f := FailureOf(err)
	f.SetHeaders(w.Header())
	body := append(AppendString([]byte(`{"error":`), f.Text), '}')
	// A client that is gone is the only reason for an error here, and nobody is left to tell.
	_ = WriteJSON(w, f.Status, body)
}

// WriteJSON answers with a JSON text, to which it adds a newline. The error is that of writing.
func WriteJSON(w http.ResponseWriter, status int, body []byte) error {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout))
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Length", strconv.Itoa(len(body)+1))
	w.WriteHeader(status)
	_, err := w.Write(append(body, '\n'))
	return err
}
