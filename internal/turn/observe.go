package turn

import (
	"context"
	"errors"

	"parley/internal/chat"
)

// Observer watches one turn, for metrics. Only one goroutine calls its methods at a time.
type Observer interface {
	Event(e chat.Event)
	End(status chat.Status) // called once, last
}

// Refused is the status that an Observer gets for a turn that ended with an error before any event.
const Refused chat.Status = "refused"

// watched combines the consumer of a turn with its observer.
type watched struct {
	ctx      context.Context
	yield    func(chat.Event, error) bool
	observer Observer // nil for none
	begun    bool
	status   chat.Status // of the turn; StatusCancelled until another one is known
}

// pass passes an event on, and reports whether the consumer wants more.
func (w *watched) pass(e chat.Event) bool {
	w.begun = true
	if w.observer != nil {
		w.observer.Event(e)
	}
	more := w.yield(e, nil)
	if _, last := e.(chat.TurnFinished); last {
		w.status = chat.StatusCompleted
	}
	return more
}

// fail passes on the error that ends the turn.
func (w *watched) fail(err error) {
	switch {
	case w.ctx.Err() != nil:
	case !w.begun:
		w.status = Refused
	case !errors.Is(err, context.Canceled): // a cancelled turn was stopped
		w.status = chat.StatusFailed
	}
	w.yield(nil, err)
}
