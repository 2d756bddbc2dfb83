package azurechat

import (
	"net/http"
	"strconv"

	"parley/internal/wire"
)

// refuse answers a request that never became a turn.
func (h *Handler) refuse(w http.ResponseWriter, r *http.Request, x *exchange, err error) {
	h.log(r, x, err)
	h.writeError(w, x, err)
}

func (h *Handler) writeError(w http.ResponseWriter, x *exchange, err error) {
	x.writeFailure(w, wire.FailureOf(err))
}

// Failures returns what answers with a failure in the shape that the client reads who sent a body to
// a form, for what is refused before the request reaches a Handler. The body is nil where it is not
// known; it may be one that no Handler would take.
func Failures(form Form, body []byte) func(http.ResponseWriter, wire.Failure) {
	return func(w http.ResponseWriter, f wire.Failure) {
		x := &exchange{form: form, objectErrors: form.SDK}
		if object, err := wire.ParseObject(body); err == nil && form.Version == V0128 {
			context, _ := object.Get("context")
			_, _, _ = settingsOf(x, context) // recognises the web component
		}
		x.writeFailure(w, f)
	}
}

func (x *exchange) writeFailure(w http.ResponseWriter, f wire.Failure) {
	f = failureFor(f)
	f.SetHeaders(w.Header())
	w.Header().Set("Cache-Control", "no-store")
	// A client that is gone is the only reason for an error here, and nobody is left to tell.
	_ = wire.WriteJSON(w, f.Status, x.appendFailure(nil, f))
}

// failureFor returns what a client of this protocol learns of a failure. Whatever ails the server, a
// model that is away included, both documents have one status and one sentence for it ("Error
// response": 400 or 500).
func failureFor(f wire.Failure) wire.Failure {
	if f.Status >= http.StatusInternalServerError {
		f.Status, f.Text = http.StatusInternalServerError, wire.InternalSentence
	}
	return f
}

// appendError appends the error object in the shape that the exchange's client reads.
func (x *exchange) appendError(dst []byte, err error) []byte {
	return x.appendFailure(dst, failureFor(wire.FailureOf(err)))
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

// log records an error where it ends.
func (h *Handler) log(r *http.Request, x *exchange, err error) {
	h.cfg.Logger.Log(r.Context(), wire.LevelOf(r.Context(), err), "chat request ended with an error",
		"turn_id", x.req.TurnID, "conversation_id", x.req.ConversationID,
		"namespace", x.req.Namespace, "error", err)
}
