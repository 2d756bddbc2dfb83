package turn

import (
	"context"
	"sync"
)

// conversationKey names a conversation for the locks. It has the scope in it, so that nobody
// can hold up somebody else's conversation by naming its id.
type conversationKey struct {
	scope Scope
	id    string
}

// locks is a set of locks by conversation; the zero value is ready. Who waits gets in first come,
// first served, and may stop waiting.
type locks struct {
	mu   sync.Mutex
	held map[conversationKey]*conversationLock
}

type conversationLock struct {
	slot  chan struct{} // of capacity 1; full while the lock is held
	users int           // who holds it or waits for it
}

// lock waits for the conversation until ctx ends. The caller calls unlock once.
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
