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

// running returns the log of a chat's turn that is under way, with what the chat is answering; nil when there
// is none, as for the chats of other callers.
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

// resume answers GET {api}/{id}/stream with all chunks of the answer that is being written, from its
// beginning; 204 when none is.
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

// stop answers DELETE {api}/{id}/stream, for turns that go on without their clients. A turn that has ended
// already is not an error: the client gets what it asks for.
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
