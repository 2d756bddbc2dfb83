package ragchat

import (
	"net/http"
	"strings"

	"parley/internal/chat"
	"parley/internal/wire"
)

// steps handles GET /chat/stream/stages?query_id=. It streams the processing steps of a turn as they arrive. An error
// after the first event means that the client has left, or that the server is stopping.
func (h *Handler) steps(w http.ResponseWriter, r *wire.Request) error {
	id := strings.TrimSpace(r.URL.Query().Get("query_id"))
	if id == "" || len(id) > maxQueryID {
		return &fieldError{"query_id", "a query parameter of 1 to 256 bytes"}
	}
	if !h.hub.admit() {
		return &chat.Error{Kind: chat.RateLimited, Msg: "Too many clients are watching processing steps. Please try again later."}
	}
	defer h.hub.leave()
	s := wire.SSE(w)
	if err := s.Send(appendPlain(s.Line(), "debug", "_connected", id)); err != nil {
		return err
	}
	return h.hub.watch(r.Context(), topic{r.Who.Subject, id},
		func(event []byte) error { return s.Send(append(s.Line(), event...)) },
		func() error { return s.Send(appendPlain(s.Line(), "keepalive", "", id)) })
}

// appendPlain appends an event that is not a step.
func appendPlain(dst []byte, kind, stage, id string) []byte {
	dst = wire.AppendString(append(dst, `{"type":`...), kind)
	if stage != "" {
		dst = wire.AppendString(append(dst, `,"stage":`...), stage)
	}
	dst = wire.AppendString(append(dst, `,"id":`...), id)
	return append(dst, '}')
}
