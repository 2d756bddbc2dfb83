package turn

import (
	"context"
	"sync"
)

// conversationKey identifies a conversation for the locks. It includes the scope, so that nobody can
// block another owner's conversation by using its id.
type conversationKey struct {
	scope Scope
	id    string
}

// locks is a set of locks, one for each conversation; the zero value is ready for use. Waiters get a
// lock in the order of their arrival, and may stop waiting.
type locks struct {
	mu   sync.Mutex
	held map[conversationKey]*conversationLock
}

type conversationLock struct {
	slot  chan struct{} // of capacity 1; full while the lock is held
	users int           // holders and waiters
}

// lock waits for the conversation until ctx ends. The caller must call unlock once.
func (l *locks) lock(ctx context.Context, key conversationKey) (unlock func(), err error) {
	c := l.join(key)
	select {
	case c.slot <- struct{}{}:
		return func() {
			<-c.slot
			l.part(key, c)
		}, nil
	case <-ctx.Done():
		l.part(key, c)
		return nil, context.Cause(ctx)
	}
}

func (l *locks) join(key conversationKey) *conversationLock {
	l.mu.Lock()
	defer l.mu.Unlock()
	c, ok := l.held[key]
	if !ok {
		if l.held == nil {
			l.held = map[conversationKey]*conversationLock{}
		}
		c = &conversationLock{slot: make(chan struct{}, 1)}
		l.held[key] = c
	}
	c.users++
	return c
}

func (l *locks) part(key conversationKey, c *conversationLock) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.users--; c.users == 0 {
		delete(l.held, key)
	}
}
