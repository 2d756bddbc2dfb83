package openai

import (
	"errors"
	"fmt"
	"net/http"

	"parley/internal/chat"
	"parley/internal/wire"
)

// What the member "code" of an error says of a parameter; the values are OpenAI's.
const (
	missing          = "missing_required_parameter"
	invalid          = "invalid_value"
	unsupported      = "unsupported_parameter"
	unsupportedValue = "unsupported_value"
)

// paramError is a refusal that names the parameter which it is about.
type paramError struct {
	param string // path of a member, for example messages[0].content
	code  string
	err   *chat.Error
}

func (e *paramError) Error() string { return e.err.Error() }

func (e *paramError) Unwrap() error { return e.err }

func refusef(param, code, format string, args ...any) error {
	return &paramError{param: param, code: code, err: &chat.Error{Kind: chat.Invalid, Msg: fmt.Sprintf(format, args...)}}
}

// WriteFailure answers with a failure in the API's shape. It is for what the server refuses
// before a request reaches the Handler.
func WriteFailure(w http.ResponseWriter, f wire.Failure) {
	f = f.OpenAI()
	f.SetHeaders(w.Header())
	// A client that is gone is the only reason for an error here, and nobody is left to tell.
	_ = wire.WriteJSON(w, f.Status, appendFailure(nil, f, "", f.Code))
}

func writeError(w http.ResponseWriter, err error) {
	f := wire.FailureOf(err).OpenAI()
	f.SetHeaders(w.Header())
	_ = wire.WriteJSON(w, f.Status, appendError(nil, err)) // as above
}

// appendError appends the error object, which is a whole reply, or the last event of a stream:
// the official clients throw when an event has a member "error".
func appendError(dst []byte, err error) []byte {
	f := wire.FailureOf(err).OpenAI()
	if e, ok := errors.AsType[*paramError](err); ok {
		return appendFailure(dst, f, e.param, e.code)
	}
	return appendFailure(dst, f, "", f.Code)
}

func appendFailure(dst []byte, f wire.Failure, param, code string) []byte {
	dst = wire.AppendString(append(dst, `{"error":{"message":`...), f.Text)
	dst = wire.AppendString(append(dst, `,"type":`...), typeOf(f.Status))
	dst = appendOrNull(append(dst, `,"param":`...), param)
	dst = appendOrNull(append(dst, `,"code":`...), code)
	return append(dst, `}}`...)
}

func appendOrNull(dst []byte, s string) []byte {
	if s == "" {
		return append(dst, `null`...)
	}
	return wire.AppendString(dst, s)
}

// typeOf returns the type of error for a status. Those of OpenAI's own API are server_error and
// invalid_request_error for almost everything else.
func typeOf(status int) string {
	switch {
	case status >= http.StatusInternalServerError:
		return "server_error"
	case status == http.StatusTooManyRequests:
		return "rate_limit_error"
	case status == http.StatusUnauthorized:
		return "authentication_error"
	case status == http.StatusForbidden:
		return "permission_error"
	}
	return "invalid_request_error"
}
