package turn

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"parley/internal/chat"
)

// keepTime limits a turn that continues without its client.
const keepTime = 10 * time.Minute

var (
	errTookTooLong = &chat.Error{Kind: chat.Unavailable, Msg: "The answer took too long."}
	errClosed      = &chat.Error{Kind: chat.Unavailable, Msg: "The server is stopping. Please ask again in a moment."}
	errPanicked    = &chat.Error{Kind: chat.Internal}
)

// keeper runs turns that continue when their clients leave.
type keeper struct {
	mu     sync.Mutex
	closed bool
	turns  sync.WaitGroup
	base   context.Context // cancelling it ends all turns
	cancel context.CancelCauseFunc
}

func newKeeper() *keeper {
	k := &keeper{}
	k.base, k.cancel = context.WithCancelCause(context.Background())
	return k
}

// start runs a turn in a new goroutine. It returns false when the keeper is closed. The context of the
// turn is detached from the client's, so that the client may leave.
func (k *keeper) start(ctx context.Context, run func(context.Context)) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return false
	}
	k.turns.Go(func() {
		ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), keepTime, errTookTooLong)
		defer cancel()
		ctx, stop := context.WithCancelCause(ctx)
		defer stop(nil)
		defer context.AfterFunc(k.base, func() { stop(context.Cause(k.base)) })()
		run(ctx)
	})
	return true
}

// Drain waits until all kept turns (Options.Keep) have ended, and prevents new ones. When ctx ends, it cancels
// those that are still running, with a cause that is shown to their clients.
func (r *Runner) Drain(ctx context.Context, cause error) {
	k := r.keeper
	k.mu.Lock()
	k.closed = true
	k.mu.Unlock()
	defer context.AfterFunc(ctx, func() { k.cancel(cause) })()
	k.turns.Wait()
}

// follow starts a turn that continues when its client leaves, and yields the events of its log.
func (r *Runner) follow(ctx context.Context, req *chat.Request, c *Claim, l *Log, yield func(chat.Event, error) bool) {
	if c != nil {
		c.users.Add(1)
	}
	if !r.keeper.start(ctx, func(ctx context.Context) { r.finish(ctx, req, c, l) }) {
		if c != nil {
			c.Release()
		}
		l.End(errClosed)
		yield(nil, errClosed)
		return
	}
	for n, err := range l.Follow(ctx, 0, 0) {
		if !yield(n.Event, err) {
			return
		}
	}
}

// finish runs a turn to its end.
func (r *Runner) finish(ctx context.Context, req *chat.Request, c *Claim, l *Log) {
	defer func() {
		if v := recover(); v != nil {
			r.opts.Log.ErrorContext(ctx, "turn panicked", "turn_id", req.TurnID, "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
			l.End(errPanicked)
		}
		if c != nil {
			c.Release()
		}
	}()
	r.admit(ctx, req, c, l, func(_ chat.Event, err error) bool {
		if err != nil {
			l.End(err)
		}
		return true
	})
	l.End(errUnfinished) // no effect on a turn that has run: its log has ended by now
}
