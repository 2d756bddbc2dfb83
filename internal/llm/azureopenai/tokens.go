package azureopenai

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// token is a token of Entra ID. The zero value has expired.
type token struct {
	text    string
	refresh time.Time // time from which on the next token is requested
	expires time.Time
}

// margin is the minimum remaining lifetime of a token that is still used.
const margin = 30 * time.Second

// retryRefresh is the time between two attempts to renew a token that is still valid.
const retryRefresh = 30 * time.Second

// tokens caches the last token and requests the next one before it expires. The first caller that needs
// it makes the request; concurrent callers wait for it, or use the last token while that is valid. It is
// safe for concurrent use.
type tokens struct {
	fetch func(context.Context) (token, error)
	now   func() time.Time
	turn  chan struct{} // holds a value while a request is in progress

	mu      sync.Mutex
	current token
	asked   int   // number of completed requests
	failed  error // the error of the last one
}

func newTokens(fetch func(context.Context) (token, error), now func() time.Time) *tokens {
	return &tokens{fetch: fetch, now: now, turn: make(chan struct{}, 1)}
}

// get returns a token that is valid for a while. The error comes from fetch or the context.
func (t *tokens) get(ctx context.Context) (string, error) {
	current, asked := t.state()
	now := t.now()
	if now.Before(current.refresh) {
		return current.text, nil
	}
	good := now.Add(margin).Before(current.expires)
	select {
	case t.turn <- struct{}{}:
	default:
		if good {
			return current.text, nil
		}
		select {
		case t.turn <- struct{}{}:
		case <-ctx.Done():
			return "", fmt.Errorf("wait for a token of Entra ID: %w", ctx.Err())
		}
	}
	defer func() { <-t.turn }()
	if text, done, err := t.since(asked); done {
		return text, err
	}
	next, err := t.fetch(ctx)
	switch {
	case err == nil:
		t.keep(next, nil)
		return next.text, nil
	case good:
		current.refresh = now.Add(retryRefresh)
		t.keep(current, nil)
		return current.text, nil
	case ctx.Err() == nil: // otherwise the next waiter makes its own request
		t.keep(token{}, err)
	}
	return "", err
}

func (t *tokens) state() (token, int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.current, t.asked
}

// since returns the result of a request if one was completed since the count was asked.
func (t *tokens) since(asked int) (text string, done bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.current.text, t.asked != asked, t.failed
}

func (t *tokens) keep(next token, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.current, t.failed = next, err
	t.asked++
}
