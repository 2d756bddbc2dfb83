package llm

import "net/http"

// Reason says why an upstream did not answer, if somebody can do something about it.
type Reason uint8

// The reasons. Failed is the zero value: the upstream failed, or its error is unknown.
const (
	Failed      Reason = iota
	KeyRefused         // the upstream does not accept the key, or not for this request
	Limited            // the upstream accepts no more requests for now
	NoCredit           // the account has no credit left; waiting does not help
	TooLong            // the prompt does not fit into the model's context
	NoModel            // the upstream has no model of this name
	Unreachable        // no connection could be made
	TooSlow            // the upstream did not answer in time
)

// Why returns the reason of e, from the upstream's error object or else from the status.
func (e *Error) Why() Reason {
	switch {
	case e.Reason != Failed:
		return e.Reason
	case e.Silent:
		return TooSlow
	}
	return reasons[e.Status]
}

var reasons = map[int]Reason{
	http.StatusUnauthorized:          KeyRefused,
	http.StatusPaymentRequired:       NoCredit,
	http.StatusForbidden:             KeyRefused,
	http.StatusNotFound:              NoModel,
	http.StatusRequestTimeout:        TooSlow,
	http.StatusRequestEntityTooLarge: TooLong,
	http.StatusTooManyRequests:       Limited,
	http.StatusGatewayTimeout:        TooSlow,
}
