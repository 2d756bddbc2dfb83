package azurechat

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strconv"

	"parley/internal/chat"
	"parley/internal/wire"
)

// refuse answers a request that never became a turn.
func (h *Handler) refuse(w http.ResponseWriter, r *http.Request, x *exchange, err error) {
	h.log(r, x, err)
	h.writeError(w, x, err)
}

func (h *Handler) writeError(w http.ResponseWriter, x *exchange, err error) {
	f := wire.FailureOf(err)
	f.SetHeaders(w.Header())
	// A client that is gone is the only reason for an error here, and nobody is left to tell.
	_ = wire.WriteJSON(w, f.Status, x.appendError(nil, err))
}

// appendError appends the error object in the shape that the exchange's client reads.
func (x *exchange) appendError(dst []byte, err error) []byte {
	f := wire.FailureOf(err)
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

// log records an error where it ends. What the client did, leaving included, is no fault of the
// server's.
func (h *Handler) log(r *http.Request, x *exchange, err error) {
	h.cfg.Logger.Log(r.Context(), levelOf(r.Context(), err), "chat request ended with an error",
		"turn_id", x.req.TurnID, "conversation_id", x.req.ConversationID,
		"namespace", x.req.Namespace, "error", err)
}

func levelOf(ctx context.Context, err error) slog.Level {
	switch kind := chat.KindOf(err); {
	case errors.Is(err, wire.ErrClientGone), errors.Is(ctx.Err(), context.Canceled):
		return slog.LevelDebug
	case kind == chat.Internal:
		return slog.LevelError
	case kind == chat.Unavailable, kind == chat.RateLimited:
		return slog.LevelWarn
	}
	return slog.LevelDebug
}
