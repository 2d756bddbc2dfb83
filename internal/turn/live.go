package turn

import (
	"context"
	"errors"
	"sync"

	"parley/internal/chat"
)

// Errors that end a turn before the engine does. They wrap context.Canceled, and have a message for
// clients.
var (
	errStopped = &chat.Error{Kind: chat.Conflict, Msg: "The turn was stopped.", Err: context.Canceled}
	errLeft    = &chat.Error{Kind: chat.Conflict, Msg: "The turn was cancelled, because its client left.", Err: context.Canceled}
)

// IsStopped reports whether err means that a turn was stopped (Log.Stop).
func IsStopped(err error) bool { return errors.Is(err, errStopped) }

// why is like reason, but returns errLeft if the client has left, for readers of the log.
func why(ctx context.Context, err error) error {
	if err = reason(ctx, err); errors.Is(ctx.Err(), context.Canceled) && chat.KindOf(err) == chat.Internal {
		return errLeft
	}
	return err
}

// reason returns the cause of a cancellation if it is meant for clients, and otherwise err.
func reason(ctx context.Context, err error) error {
	if !errors.Is(ctx.Err(), context.Canceled) {
		return err
	}
	if cause, ok := errors.AsType[*chat.Error](context.Cause(ctx)); ok {
		return cause
	}
	return err
}

// live is the set of running turns. The zero value is empty.
type live struct {
	mu   sync.Mutex
	logs map[string]*Log
}

// enter adds a running turn. Log.Stop calls cancel. The caller must call leave when the turn has ended.
func (l *live) enter(log *Log, scope Scope, cancel context.CancelCauseFunc) (leave func()) {
	log.mu.Lock()
	log.scope, log.stop = scope, cancel
	log.mu.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.logs == nil {
		l.logs = map[string]*Log{}
	}
	l.logs[log.id] = log
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.logs, log.id)
	}
}

func (l *live) empty() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.logs) == 0
}

// find returns the log of a running turn, or nil.
func (l *live) find(id string) *Log {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.logs[id]
}
