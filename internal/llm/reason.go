package llm

import "net/http"

// Reason says why an upstream did not answer, as far as somebody can do something about it.
type Reason uint8

// The reasons. Failed is the zero value: the upstream broke, or said nothing that is known.
const (
	Failed      Reason = iota
	KeyRefused         // it does not accept the key, or not for this
	Limited            // it takes no more requests for now
	NoCredit           // the account has none left, which waiting does not change
	TooLong            // the prompt does not fit into the model
	NoModel            // it has no model of this name
	Unreachable        // no connection came about
	TooSlow            // it did not answer in time
)

// Why returns the reason of e: what the upstream's error object told, else what the status tells.
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
