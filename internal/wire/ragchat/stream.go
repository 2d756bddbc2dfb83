package ragchat

import (
	"context"
	"net/http"

	"parley/internal/chat"
	"parley/internal/wire"
)

// stream responds with server-sent events: "delta" for each piece of the answer, "reasoning" for each piece of the
// model's reasoning, and finally "final" with the whole response, or "error". Streaming is an extension of the API.
func (h *Handler) stream(w http.ResponseWriter, r *wire.Request, x *exchange) error {
	s := wire.SSE(w)
	err := h.streamTurn(r.Context(), x, s)
	if err == nil || !s.Begun() {
		return err
	}
	_, body := failureOf(x, wire.CauseOf(r.Context(), x.missing(err)))
	if line, err := wire.AppendJSON(s.Line(), struct {
		Type string `json:"type"`
		failure
	}{"error", body}); err == nil {
		// The status is committed. If Send fails, the client is gone.
		_ = s.Send(line)
	}
	return err
}

func (h *Handler) streamTurn(ctx context.Context, x *exchange, s *wire.Stream) error {
	res, err := h.run(ctx, x, func(e chat.Event) error {
		switch e := e.(type) {
		case chat.TextDelta:
			return sendText(s, "delta", e.Text)
		case chat.ReasoningDelta:
			return sendText(s, "reasoning", e.Text)
		}
		return nil
	})
	if err != nil {
		return err
	}
	x.steps.end(true, "")
	line, err := wire.AppendJSON(s.Line(), struct {
		Type string `json:"type"`
		*response
	}{"final", res})
	if err != nil {
		return err
	}
	return s.Send(line)
}

func sendText(s *wire.Stream, kind, text string) error {
	line := wire.AppendString(append(s.Line(), `{"type":`...), kind)
	line = wire.AppendString(append(line, `,"text":`...), text)
	return s.Send(append(line, '}'))
}
