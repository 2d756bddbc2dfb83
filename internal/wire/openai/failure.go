package openai

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"parley/internal/chat"
	"parley/internal/wire"
)

// Short names for the codes below.
const (
	missing          = Missing
	invalid          = Invalid
	unsupported      = Unsupported
	unsupportedValue = UnsupportedValue
)

// Values of an error's member "code" about a parameter, as OpenAI defines them. Other packages use them too.
const (
	Missing          = "missing_required_parameter"
	Invalid          = "invalid_value"
	Unsupported      = "unsupported_parameter"
	UnsupportedValue = "unsupported_value"
)

// ParamError is an error about one parameter of a request.
type ParamError struct {
	Param string // path of a member, for example messages[0].content
	Code  string
	err   *chat.Error
}

func (e *ParamError) Error() string { return e.err.Error() }

// Unwrap returns the *chat.Error, which determines the status and the message.
func (e *ParamError) Unwrap() error { return e.err }

// Refusef returns a ParamError of the kind chat.Invalid, with a formatted sentence for the client.
func Refusef(param, code, format string, args ...any) error {
	return Refuse(chat.Invalid, param, code, fmt.Sprintf(format, args...))
}

// Refuse returns a ParamError of the given kind. text is a sentence for the client.
func Refuse(kind chat.Kind, param, code, text string) error {
	return &ParamError{Param: param, Code: code, err: &chat.Error{Kind: kind, Msg: text}}
}

// Fail answers with an error in the shape of OpenAI's API.
func Fail(w http.ResponseWriter, r *wire.Request, err error) { fail(w, r, err) }

func fail(w http.ResponseWriter, _ *wire.Request, err error) {
	f := wire.FailureOf(err).OpenAI()
	f.SetHeaders(w.Header())
	// Writing fails only when the client is gone, so the error is ignored.
	_ = wire.WriteJSON(w, f.Status, appendError(nil, err))
}

// elsewhere maps the first path segment below /v1/ of routes that OpenAI's API has and Parley lacks to a hint about what to
// use instead.
var elsewhere = map[string]string{
	"assistants": assistantsElsewhere, "threads": assistantsElsewhere,
}

const assistantsElsewhere = "Assistants and threads are not supported. " +
	"Use POST /v1/conversations to begin a conversation and POST /v1/responses to get an answer in it."

// unknown responds for a path below /v1/ that has no route.
func unknown(w http.ResponseWriter, r *wire.Request, _ error) {
	name, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/v1/"), "/")
	text := cmp.Or(elsewhere[name], "This route is not supported. Of OpenAI's API, this server supports "+
		"POST /v1/responses, /v1/conversations, POST /v1/chat/completions, POST /v1/completions, POST /v1/embeddings, /v1/files, /v1/uploads, /v1/vector_stores and GET /v1/models.")
	fail(w, r, wire.Refuse(http.StatusNotFound, "not_found", text))
}

// appendError appends the error object, which is a whole reply or the last event of a stream. The official clients throw
// when an event has a member "error".
func appendError(dst []byte, err error) []byte {
	f := wire.FailureOf(err).OpenAI()
	if e, ok := errors.AsType[*ParamError](err); ok {
		return appendFailure(dst, f, e.Param, e.Code)
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

// typeOf returns the type of error for a status. OpenAI itself uses server_error, and invalid_request_error for almost
// everything else.
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
