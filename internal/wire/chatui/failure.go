package chatui

import (
	"net/http"
	"time"

	"parley/internal/ident"
	"parley/internal/wire"
)

// WriteFailure answers with a failure in the shape of a message. It is for what the server refuses
// before a request reaches the Handler.
func WriteFailure(w http.ResponseWriter, f wire.Failure) {
	m := message{id: ident.New(), status: failed, content: []byte(`""`), failure: &f, at: time.Now()}
	writeMessage(w, f, &m)
}

// writeError answers with an error. A message that began keeps its id and what it has said.
func (h *Handler) writeError(w http.ResponseWriter, x *exchange, begun *entry, err error) {
	f := wire.FailureOf(err)
	m := h.failedMessage(x, f)
	if begun != nil {
		m = begun.message(x, h.cfg.Now())
		m.status, m.failure = failed, &f
	}
	writeMessage(w, f, &m)
}

// failedMessage returns a message that says nothing but why there is none.
func (h *Handler) failedMessage(x *exchange, f wire.Failure) message {
	return message{
		id: h.cfg.NewID(), conversation: x.conversation, status: failed, content: []byte(`""`),
		failure: &f, at: h.cfg.Now(),
	}
}

// writeMessage answers with a failed message. The newest client reads "message" at the top.
func writeMessage(w http.ResponseWriter, f wire.Failure, m *message) {
	f.SetHeaders(w.Header())
	body := wire.AppendString(append(m.appendWide(nil), `,"message":`...), f.Text)
	// A client that is gone is the only reason for an error here, and nobody is left to tell.
	_ = wire.WriteJSON(w, f.Status, append(body, '}'))
}
