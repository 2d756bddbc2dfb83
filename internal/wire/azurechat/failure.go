package azurechat

import (
	"errors"
	"net/http"
	"strconv"

	"parley/internal/wire"
)

// fail is the wire.Fail of the form's routes. It reports errors that occur before the handler runs, so the
// body may be missing or invalid.
func (f Form) fail(w http.ResponseWriter, r *wire.Request, err error) {
	x := &exchange{form: f, objectErrors: f.SDK || r.IsForm}
	if object, err := r.Object(); err == nil && f.Version == V0128 {
		context, _ := object.Get("context")
		_, _, _ = settingsOf(x, context) // recognises the web component
	}
	x.fail(w, r, err)
}

func (x *exchange) fail(w http.ResponseWriter, _ *wire.Request, err error) {
	f := failureOf(err)
	f.Write(w, x.appendFailure(nil, f))
}

// failureOf returns the part of an error that a client of this protocol may see. Both documents have a single
// status and sentence for all failures of the server, including an unavailable model ("Error
// response": 400 or 500). A wire.RefusalError keeps its status.
func failureOf(err error) wire.Failure {
	f := wire.FailureOf(err)
	if _, refused := errors.AsType[*wire.RefusalError](err); !refused && f.Status >= http.StatusInternalServerError {
		f.Status, f.Text = http.StatusInternalServerError, wire.InternalSentence
	}
	return f
}

// appendError appends the error object in the shape that the exchange's client reads.
func (x *exchange) appendError(dst []byte, err error) []byte {
	return x.appendFailure(dst, failureOf(err))
}

func (x *exchange) appendFailure(dst []byte, f wire.Failure) []byte {
	if x.objectErrors {
		dst = wire.AppendString(append(dst, `{"error":{"code":`...), f.Code)
		dst = wire.AppendString(append(dst, `,"message":`...), f.Text)
		return append(dst, `}}`...)
	}
	dst = wire.AppendString(append(dst, `{"error":`...), f.Text)
	if x.webComponent {
		dst = strconv.AppendInt(append(dst, `,"statusCode":`...), int64(f.Status), 10)
		dst = wire.AppendString(append(dst, `,"message":`...), f.Text)
	}
	return append(dst, '}')
}
