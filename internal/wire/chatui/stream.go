package chatui

import (
	"context"
	"net/http"
	"time"

	"parley/internal/chat"
	"parley/internal/wire"
)

var errTooLong = &chat.Error{Kind: chat.Unavailable, Msg: "The answer took too long."}

// run starts the turn of an exchange. The caller calls finish at the end. It cancels the turn if it still
// runs and returns when the turn has ended; if the turn panicked, it panics too, where the server expects
// it.
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

// session is the streamed answer to one exchange. It is used by one goroutine.
type session struct {
	h      *Handler
	x      *exchange
	board  *board
	stream *wire.Stream
	timer  *time.Timer
	last   time.Time     // when something was sent last, or the session began
	quiet  time.Duration // what has to pass after that before the next event; 0 before the first
	turn   int           // index of the open message that was shown last

	changed <-chan struct{} // closed when the board has more to read; nil when it has not
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
	case b.panicked(): // see run
	case !s.stream.Begun():
		x.fail(h, b.lastEntry())(w, r, err)
		return err
	case len(b.entries) == 0: // only a comment was sent, but so was the status
		m := h.failedMessage(x, wire.FailureOf(err))
		// If the client is gone too, this fails, and nobody is left to tell.
		_ = s.stream.Send(append(m.appendWide(s.stream.Line()), '}'))
	}
	return b.err
}

// run sends what is due until everything is sent. Its error says that the client is gone.
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

// next returns the next event when it may be sent, else when it may be. With neither it says
// whether there will be one.
func (s *session) next(now time.Time) (line []byte, due time.Time, more bool) {
	s.changed = s.board.update()
	if s.board.over && !s.stream.Begun() && s.board.failure() != nil {
		return nil, time.Time{}, false // it gets a status of its own
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

// due returns when the next event may be sent: clients lose events that arrive together.
func (s *session) due(terminal bool) time.Time {
	if s.quiet == 0 {
		return time.Time{}
	}
	if terminal {
		return s.last.Add(max(s.quiet, s.h.cfg.pace.settle))
	}
	return s.last.Add(s.quiet)
}

// choose returns the message to send next, and whether its terminal event is. Messages that have
// ended come first, in their order, so that a client which lists them as they end has them in the
// order in which they began; those that are open take turns.
func (s *session) choose() (m *entry, terminal bool) {
	entries := s.board.entries
	for at, m := range entries {
		if m.ended == nil || m.closed {
			continue
		}
		if s.unseen(m) { // all that a message says is shown before its end
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

// unseen reports whether a message has text that no event has shown yet.
func (s *session) unseen(m *entry) bool {
	return s.x.partials && len(m.content) > max(m.shown, 1)
}

// mayClose reports whether the terminal event of an ended message may be sent. What may be the last message
// waits for the end of the turn, since until then another one may replace it.
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

// wait waits until something is new on the board, and sends a comment when that takes long.
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
