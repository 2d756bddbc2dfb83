package turn

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"parley/internal/chat"
	"parley/internal/ident"
)

// Policy says what becomes of a turn whose client leaves. The zero value is Finish in a conversation,
// whose history the answer belongs to, and Cancel for a stateless turn.
type Policy string

// The policies.
const (
	Cancel Policy = "cancel" // it is cancelled
	Finish Policy = "finish" // it goes on to its end
)

type policyKey struct{}

// WithPolicy returns a context in which turns have a policy. It is in the context because the
// protocol adapters between a request and its turn know nothing of it.
func WithPolicy(ctx context.Context, p Policy) context.Context {
	return context.WithValue(ctx, policyKey{}, p)
}

func policyOf(ctx context.Context, req chat.Request) Policy {
	p, _ := ctx.Value(policyKey{}).(Policy)
	switch {
	case p != "":
		return p
	case req.ConversationID != "":
		return Finish
	}
	return Cancel
}

// keepTime bounds a turn that goes on without its client.
const keepTime = 10 * time.Minute

var (
	errTookTooLong = &chat.Error{Kind: chat.Unavailable, Msg: "The answer took too long."}
	errClosed      = &chat.Error{Kind: chat.Unavailable, Msg: "The server is stopping. Please ask again in a moment."}
	errPanicked    = &chat.Error{Kind: chat.Internal}
)

// Keeper runs turns in goroutines of its own where they are to finish although their clients leave.
// The others run in the goroutine of whoever ranges over them, as ever. It is made by NewKeeper, and
// who has made it calls Drain at the end.
type Keeper struct {
	next Engine
	log  *slog.Logger

	mu     sync.Mutex
	closed bool
	turns  sync.WaitGroup
	base   context.Context // ends all turns
	cancel context.CancelCauseFunc
}

// NewKeeper returns a keeper of the turns of next, which end in a Runner. A nil log discards.
func NewKeeper(next Engine, log *slog.Logger) *Keeper {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	base, cancel := context.WithCancelCause(context.Background())
	return &Keeper{next: next, log: log, base: base, cancel: cancel}
}

// Run runs one turn as Runner.Run does. With the policy Finish, whoever breaks out of the range or
// cancels ctx leaves it running.
func (k *Keeper) Run(ctx context.Context, req chat.Request) iter.Seq2[chat.Event, error] {
	c := claimOf(ctx)
	if policyOf(ctx, req) != Finish || c != nil && c.again {
		return k.next.Run(ctx, req)
	}
	return k.follow(ctx, req, c)
}

// follow starts a turn that is to finish, and says what it says.
func (k *Keeper) follow(ctx context.Context, req chat.Request, c *claim) iter.Seq2[chat.Event, error] {
	return func(yield func(chat.Event, error) bool) {
		if req.TurnID == "" {
			req.TurnID = ident.At(time.Now())
		}
		l := newLog(req.TurnID, Scope{})
		if !k.start(ctx, req, l, c) {
			yield(nil, errClosed)
			return
		}
		for n, err := range l.Follow(ctx, 0, 0) {
			if !yield(n.Event, err) {
				return
			}
		}
	}
}

// start starts a turn, unless the keeper is closed.
func (k *Keeper) start(ctx context.Context, req chat.Request, l *Log, c *claim) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return false
	}
	if c != nil {
		c.users.Add(1)
	}
	k.turns.Go(func() {
		if c != nil {
			defer c.release()
		}
		k.finish(ctx, req, l)
	})
	return true
}

// finish runs a turn to its end. Its context is detached from the client's, which may leave.
func (k *Keeper) finish(ctx context.Context, req chat.Request, l *Log) {
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), keepTime, errTookTooLong)
	defer cancel()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer context.AfterFunc(k.base, func() { stop(context.Cause(k.base)) })()
	defer func() {
		if v := recover(); v != nil {
			k.log.ErrorContext(ctx, "turn panicked", "turn_id", req.TurnID, "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
			l.end(errPanicked)
		}
	}()
	for _, err := range k.next.Run(context.WithValue(ctx, logKey{}, l), req) {
		if err != nil {
			l.end(err)
		}
	}
	l.end(errUnfinished) // which it has by now, if it was a turn
}

// Drain waits until all turns have ended. Those that run when ctx ends are cancelled with a cause,
// which their clients are told. No turn can be started any more that is to be kept.
func (k *Keeper) Drain(ctx context.Context, cause error) {
	k.mu.Lock()
	k.closed = true
	k.mu.Unlock()
	defer context.AfterFunc(ctx, func() { k.cancel(cause) })()
	k.turns.Wait()
}

type logKey struct{}

// logOf returns the log that somebody follows the turn in already, or a new one.
func logOf(ctx context.Context, turnID string) *Log {
	if l, ok := ctx.Value(logKey{}).(*Log); ok && l.id == turnID {
		return l
	}
	return newLog(turnID, Scope{})
}
