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
	f := failureFor(err)
	f.SetHeaders(w.Header())
	// A client that is gone is the only reason for an error here, and nobody is left to tell.
	_ = wire.WriteJSON(w, f.Status, x.appendError(nil, err))
}

// failureFor returns what a client of this protocol learns of err. Whatever ails the server, a
// model that is away included, both documents have one status and one sentence for it ("Error
// response": 400 or 500).
func failureFor(err error) wire.Failure {
	f := wire.FailureOf(err)
	if f.Status >= http.StatusInternalServerError {
		f.Status, f.Text = http.StatusInternalServerError, wire.InternalSentence
	}
	return f
}

// appendError appends the error object in the shape that the exchange's client reads.
func (x *exchange) appendError(dst []byte, err error) []byte {
	f := failureFor(err)
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
