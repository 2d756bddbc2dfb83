package chatui

import (
	"net/http"
	"slices"
	"time"

	"parley/internal/wire"
)

// reply responds with a whole reply, written from the board. After a time limit it responds even if the turn
// has not ended.
func (h *Handler) reply(w http.ResponseWriter, r *wire.Request, x *exchange) error {
	b, finish := h.run(r, x)
	defer finish()
	timer := time.NewTimer(h.cfg.pace.giveUp)
	defer timer.Stop()
	select {
	case <-b.ended:
	case <-timer.C:
	}
	if b.update(); b.panicked() {
		return nil // run's finish panics
	}
	b.end(errTooLong, h.cfg.Now())
	if err := b.failure(); err != nil {
		x.fail(h, b.lastEntry())(w, r, err)
		return err
	}
	b.arrange(h.cfg.Agents)
	return wire.WriteJSON(w, http.StatusOK, b.appendReply(nil, x, h.cfg.Now()))
}

// panicked reports whether the turn has ended with a panic.
func (b *board) panicked() bool {
	select {
	case <-b.ended:
		return b.turn.panicked != nil
	default:
		return false
	}
}

// failure returns the error of a turn without any successful message: there is none, or all have failed.
func (b *board) failure() error {
	if len(b.entries) == 0 {
		if b.err == nil {
			return wire.ErrEndedEarly
		}
		return b.err
	}
	for _, m := range b.entries {
		if m.err == nil {
			return nil
		}
	}
	if b.err == nil {
		return b.entries[0].err
	}
	return b.err
}

// lastEntry returns the message that began last, or nil.
func (b *board) lastEntry() *entry {
	if len(b.entries) == 0 {
		return nil
	}
	return b.entries[len(b.entries)-1]
}

// arrange sorts the messages by their agents, since concurrent agents may begin in any order.
func (b *board) arrange(agents []string) {
	place := func(e *entry) int {
		if i := slices.Index(agents, e.agent); i >= 0 {
			return i
		}
		return len(agents)
	}
	slices.SortStableFunc(b.entries, func(x, y *entry) int { return place(x) - place(y) })
}

// appendReply appends the reply in the format of the exchange.
func (b *board) appendReply(dst []byte, x *exchange, now time.Time) []byte {
	if !x.team && x.format == full {
		m := b.entries[0].message(x, now)
		wide := m.appendWide(nil)
		dst = append(append(dst, wide...), `,"messages":[`...)
		return append(append(dst, wide...), `}]}`...)
	}
	if x.format == messages {
		dst = append(dst, `{"messages":`...)
	}
	dst = append(dst, '[')
	for i, e := range b.entries {
		if i > 0 {
			dst = append(dst, ',')
		}
		m := e.message(x, now)
		dst = append(m.appendWide(dst), '}')
	}
	dst = append(dst, ']')
	if x.format == messages {
		dst = append(dst, '}')
	}
	return dst
}
