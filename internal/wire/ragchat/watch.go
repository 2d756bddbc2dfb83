package ragchat

import (
	"net/http"
	"strings"

	"parley/internal/chat"
	"parley/internal/wire"
)

// Steps answers GET /chat/stream/stages?query_id=: the processing steps of a turn, as they come.
func (h *Handler) Steps(w http.ResponseWriter, r *http.Request) {
	who, err := h.cfg.Principal(r)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	id := strings.TrimSpace(r.URL.Query().Get("query_id"))
	if id == "" || len(id) > maxQueryID {
		h.fail(w, r, &fieldError{"query_id", "a query parameter of 1 to 256 bytes"})
		return
	}
	if !h.hub.admit() {
		h.fail(w, r, &chat.Error{Kind: chat.RateLimited, Msg: "Too many clients watch processing steps. Please try again later."})
		return
	}
	defer h.hub.leave()
	s := wire.SSE(w)
	alive := func() error { return s.Send(appendPlain(s.Line(), "keepalive", "", id)) }
	err = s.Send(appendPlain(s.Line(), "debug", "_connected", id))
	if err == nil {
		err = h.hub.watch(r.Context(), topic{who.Subject, id}, func(event []byte) error {
			return s.Send(append(s.Line(), event...))
		}, alive)
	}
	if err != nil {
		// Whoever watched has left, or the server stops: either way there is nobody to tell.
		h.cfg.Logger.Log(r.Context(), wire.LevelOf(r.Context(), err), "processing steps ended early", "error", err)
	}
}

// appendPlain appends an event that is no step.
func appendPlain(dst []byte, kind, stage, id string) []byte {
	dst = wire.AppendString(append(dst, `{"type":`...), kind)
	if stage != "" {
		dst = wire.AppendString(append(dst, `,"stage":`...), stage)
	}
	dst = wire.AppendString(append(dst, `,"id":`...), id)
	return append(dst, '}')
}
