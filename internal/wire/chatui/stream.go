package chatui

import (
	"context"
	"net/http"
	"time"

	"parley/internal/chat"
	"parley/internal/wire"
)

var errTooLong = &chat.Error{Kind: chat.Unavailable, Msg: "The answer took too long."}

// run starts the turn of an exchange. The caller must call finish at the end. finish cancels the turn if
// it is still running, and waits for its end; if the turn panicked, finish panics in the goroutine of
// the request, where the server expects it.
func (h *Handler) run(r *wire.Request, x *exchange) (b *board, finish func()) {
	ctx, cancel := context.WithTimeoutCause(r.Context(), h.cfg.pace.answer, errTooLong)
	b = start(ctx, h.cfg.Now, h.cfg.Runner, &x.req)
	return b, func() {
		cancel()
		<-b.ended
		if b.turn.panicked != nil {
			panic(b.turn.panicked)
		}
	}
}

// session is the streamed reply of one exchange. It is used by one goroutine.
type session struct {
	h      *Handler
	x      *exchange
	board  *board
	stream *wire.Stream
	timer  *time.Timer
	last   time.Time     // when something was last sent, or the session began
	quiet  time.Duration // time that must pass after last before the next event; 0 before the first
	turn   int           // index of the open message that was shown last

	changed <-chan struct{} // closed when the board has more to read; nil if it is complete
}

func (h *Handler) stream(w http.ResponseWriter, r *wire.Request, x *exchange) error {
	b, finish := h.run(r, x)
	defer finish()
	s := &session{
		h: h, x: x, board: b, stream: wire.SSE(w), timer: time.NewTimer(h.cfg.pace.giveUp), last: h.cfg.Now(),
	}
	defer s.timer.Stop()
	if err := s.run(s.last.Add(h.cfg.pace.giveUp)); err != nil {
		return err // the client is gone
	}
	switch err := b.failure(); {
	case b.panicked(): // run's finish panics
	case !s.stream.Begun():
		x.fail(h, b.lastEntry())(w, r, err)
		return err
	case len(b.entries) == 0: // only a comment was sent, but that committed the status
		m := h.failedMessage(x, wire.FailureOf(err))
		// If this fails, the client is gone too.
		_ = s.stream.Send(append(m.appendWide(s.stream.Line()), '}'))
	}
	return b.err
}

// run sends events when they are due until all are sent. An error means that the client is gone.
func (s *session) run(giveUp time.Time) error {
	for {
		now := s.h.cfg.Now()
		if !now.Before(giveUp) {
			s.board.end(errTooLong, now)
		}
		line, due, more := s.next(now)
		switch {
		case line != nil:
			if err := s.stream.Send(line); err != nil {
				return err
			}
			s.last = s.h.cfg.Now()
		case !due.IsZero():
			s.sleep(due.Sub(now))
		case !more:
			return nil
		default:
			if err := s.wait(now, giveUp); err != nil {
				return err
			}
		}
	}
}

// next returns the next event if it may be sent now, otherwise the time when it may. If there is
// no event yet, more reports whether one may follow.
func (s *session) next(now time.Time) (line []byte, due time.Time, more bool) {
	s.changed = s.board.update()
	if s.board.over && !s.stream.Begun() && s.board.failure() != nil {
		return nil, time.Time{}, false // the failure gets its own status
	}
	m, terminal := s.choose()
	if m == nil {
		return nil, time.Time{}, !s.board.over
	}
	if due := s.due(terminal); due.After(now) {
		return nil, due, true
	}
	out := m.message(s.x, now)
	m.shown = len(m.content)
	if !terminal {
		out.status, out.sources, out.failure, out.at = processing, nil, nil, now
		s.quiet = s.h.cfg.pace.event
		return append(out.appendNarrow(s.stream.Line()), '}'), time.Time{}, true
	}
	m.closed = true
	s.quiet = s.h.cfg.pace.settle
	return append(out.appendWide(s.stream.Line()), '}'), time.Time{}, true
}

// due returns when the next event may be sent, since clients lose events that arrive together.
func (s *session) due(terminal bool) time.Time {
	if s.quiet == 0 {
		return time.Time{}
	}
	if terminal {
		return s.last.Add(max(s.quiet, s.h.cfg.pace.settle))
	}
	return s.last.Add(s.quiet)
}

// choose returns the message to send next, and whether to send its terminal event. Messages that have
// ended come first, in their order, so that a client that lists them as they end shows them in the order
// in which they began. Open messages take turns.
func (s *session) choose() (m *entry, terminal bool) {
	entries := s.board.entries
	for at, m := range entries {
		if m.ended == nil || m.closed {
			continue
		}
		if s.unseen(m) { // the whole text is shown before the terminal event
			return m, false
		}
		if s.board.mayClose(at) {
			return m, true
		}
	}
	for i := range entries {
		at := (s.turn + 1 + i) % len(entries)
		if m := entries[at]; m.ended == nil && s.unseen(m) {
			s.turn = at
			return m, false
		}
	}
	return nil, false
}

// unseen reports whether a message has text that must be sent in a processing event.
func (s *session) unseen(m *entry) bool {
	return s.x.partials && len(m.content) > max(m.shown, 1)
}

// mayClose reports whether the terminal event of an ended message may be sent. The last message waits
// for the end of the turn, since another message may still replace it.
func (b *board) mayClose(at int) bool {
	if b.over || at < len(b.entries)-1 {
		return true
	}
	for _, m := range b.entries {
		if m.ended == nil {
			return true
		}
	}
	return false
}

// wait waits until the board may have more to send. It sends a comment if that takes long.
func (s *session) wait(now, giveUp time.Time) error {
	idle := s.last.Add(s.h.cfg.pace.idle)
	if idle.After(giveUp) {
		idle = giveUp
	}
	s.timer.Reset(idle.Sub(now))
	select {
	case <-s.changed:
		return nil
	case <-s.board.ended:
		return nil
	case <-s.timer.C:
	}
	if s.last = s.h.cfg.Now(); !s.last.Before(giveUp) {
		return nil
	}
	return s.stream.Comment("keep-alive")
}

func (s *session) sleep(d time.Duration) {
	s.timer.Reset(d)
	<-s.timer.C
}
