package aisdk

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"parley/internal/chat"
	"parley/internal/turn"
	"parley/internal/wire"
)

const keepAliveInterval = 12 * time.Second

// running returns the log of the turn that is in progress in the chat of a request. The log is nil if there is
// none, if the chat belongs to another caller, or if the caller may no longer use its namespace.
func (h *Handler) running(r *wire.Request) (*turn.Log, answering, error) {
	a, ok, err := h.answered(r.Context(), chatKey{r.Who.Subject, r.PathValue("id")})
	if !ok {
		return nil, a, err
	}
	l, err := h.cfg.Turns.Log(r.Context(), r.Who.Subject, a.Turn)
	if errors.Is(err, turn.ErrNotFound) {
		return nil, a, nil
	}
	if err != nil {
		return nil, a, fmt.Errorf("look for turn %s: %w", a.Turn, err)
	}
	allowed, err := h.catalog.Has(r.Context(), r.Who, l.Scope().Namespace)
	if err != nil || !allowed || l.Ended() {
		return nil, a, err
	}
	return l, a, nil
}

// resume handles GET {api}/{id}/stream. It responds with all chunks of the answer in progress, from its beginning,
// or with 204 if there is none.
func (h *Handler) resume(w http.ResponseWriter, r *wire.Request) error {
	l, a, err := h.running(r)
	if err != nil {
		return err
	}
	if l == nil {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	turn.Named(r.Context(), a.Turn)
	s := h.session(w, a.Message, wire.BaseURL(r.Request, h.cfg.PublicURL, false), l.Scope().Namespace)
	return s.run(r.Context(), func(yield func(chat.Event, error) bool) {
		for n, err := range l.Follow(r.Context(), 0, keepAliveInterval) {
			if !yield(n.Event, err) {
				return
			}
		}
	})
}

// stop handles DELETE {api}/{id}/stream. It stops the turn in progress, which may go on without its client. That
// there is none is not an error, since the client wants it to have ended.
func (h *Handler) stop(w http.ResponseWriter, r *wire.Request) error {
	l, _, err := h.running(r)
	if err != nil {
		return err
	}
	if l != nil {
		l.Stop()
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
