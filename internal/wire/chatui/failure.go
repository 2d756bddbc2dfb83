package chatui

import (
	"net/http"

	"parley/internal/wire"
)

// fail answers with an error in the shape of a message.
func (h *Handler) fail(w http.ResponseWriter, r *wire.Request, err error) {
	(&exchange{}).fail(h, nil)(w, r, err)
}

// failTurn answers a request for a turn whose handler has not begun. Once its body has been read, the
// message belongs to a conversation.
func (h *Handler) failTurn(w http.ResponseWriter, r *wire.Request, err error) {
	x := &exchange{}
	if r.Body != nil {
		x.conversation = h.cfg.NewID()
	}
	x.fail(h, nil)(w, r, err)
}

// fail returns what answers with an error of the exchange. A message that began keeps its id and what it
// has said.
func (x *exchange) fail(h *Handler, begun *entry) wire.Fail {
	return func(w http.ResponseWriter, _ *wire.Request, err error) {
		f := wire.FailureOf(err)
		m := h.failedMessage(x, f)
		if begun != nil {
			m = begun.message(x, h.cfg.Now())
			m.status, m.failure = failed, &f
		}
		f.SetHeaders(w.Header())
		// The newest client reads "message" at the top.
		body := wire.AppendString(append(m.appendWide(nil), `,"message":`...), f.Text)
		// Writing fails only when the client is gone, and then nobody is left to tell.
		_ = wire.WriteJSON(w, f.Status, append(body, '}'))
	}
}

// failedMessage returns a message that says nothing but why there is none.
func (h *Handler) failedMessage(x *exchange, f wire.Failure) message {
	return message{
		id: h.cfg.NewID(), conversation: x.conversation, status: failed, content: []byte(`""`),
		failure: &f, at: h.cfg.Now(),
	}
}
