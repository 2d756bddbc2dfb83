package responses

import (
	"errors"
	"net/http"

	"parley/internal/wire"
	"parley/internal/wire/openai"
)

// problem is an error in the form of the API.
type problem struct {
	Type    string  `json:"type"`
	Code    *string `json:"code"`
	Message string  `json:"message"`
	Param   *string `json:"param"`
}

// cause is the error inside a response object, which has fewer members.
type cause struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// problemOf returns an error in the form for clients, and its HTTP status.
func problemOf(err error) (p problem, status int) {
	f := wire.FailureOf(err).OpenAI()
	p = problem{Type: typeOf(f.Status), Message: f.Text}
	code := f.Code
	if e, ok := errors.AsType[*openai.ParamError](err); ok {
		p.Param, code = &e.Param, e.Code
	}
	if code != "" {
		p.Code = &code
	}
	return p, f.Status
}

// cause returns the problem in the form for a response object, where every error has a code.
func (p problem) cause() *cause {
	if p.Code != nil {
		return &cause{Code: *p.Code, Message: p.Message}
	}
	return &cause{Code: p.Type, Message: p.Message}
}

// typeOf returns the error type for a status: one of Open Responses ("Error Types") or, for the statuses
// that it does not cover, of OpenAI.
func typeOf(status int) string {
	switch {
	case status >= http.StatusInternalServerError:
		return "server_error"
	case status == http.StatusNotFound:
		return "not_found"
	case status == http.StatusTooManyRequests:
		return "too_many_requests"
	case status == http.StatusUnauthorized:
		return "authentication_error"
	case status == http.StatusForbidden:
		return "permission_error"
	}
	return "invalid_request"
}

// fail responds with an error in the form of the API.
func fail(w http.ResponseWriter, _ *wire.Request, err error) {
	p, status := problemOf(err)
	wire.FailureOf(err).OpenAI().SetHeaders(w.Header())
	// Writing fails only if the client is gone.
	_ = wire.Reply(w, status, struct {
		Error problem `json:"error"`
	}{p})
}
