package chatui

import (
	"net/http"

	"parley/internal/wire"
)

// fail responds with an error in the form of a message.
func (h *Handler) fail(w http.ResponseWriter, r *wire.Request, err error) {
	(&exchange{}).fail(h, nil)(w, r, err)
}

// failTurn responds to a request for a turn with an error from before its handler ran. If the body has been read,
// the message has the id of a new conversation.
func (h *Handler) failTurn(w http.ResponseWriter, r *wire.Request, err error) {
	x := &exchange{}
	if r.Body != nil {
		x.conversation = h.cfg.NewID()
	}
	x.fail(h, nil)(w, r, err)
}

// fail returns a function that responds with an error of the exchange. A message that has begun keeps
// its id and its text.
func (x *exchange) fail(h *Handler, begun *entry) wire.Fail {
	return func(w http.ResponseWriter, _ *wire.Request, err error) {
		f := wire.FailureOf(err)
		m := h.failedMessage(x, f)
		if begun != nil {
			m = begun.message(x, h.cfg.Now())
			m.status, m.failure = failed, &f
		}
		f.SetHeaders(w.Header())
		// The newest client reads "message" at the top level.
		body := wire.AppendString(append(m.appendWide(nil), `,"message":`...), f.Text)
		// Writing fails only if the client is gone.
		_ = wire.WriteJSON(w, f.Status, append(body, '}'))
	}
}

// failedMessage returns a message that contains only a failure.
func (h *Handler) failedMessage(x *exchange, f wire.Failure) message {
	return message{
		id: h.cfg.NewID(), conversation: x.conversation, status: failed, content: []byte(`""`),
		failure: &f, at: h.cfg.Now(),
	}
}
