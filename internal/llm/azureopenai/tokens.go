package azureopenai

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// token is one of Entra ID. The zero value has expired.
type token struct {
	text    string
	refresh time.Time // from when on the next one is asked for
	expires time.Time
}

// margin is how long a token must be good for to be sent.
const margin = 30 * time.Second

// retryRefresh is how long a token that could not be renewed is used before the next attempt.
const retryRefresh = 30 * time.Second

// tokens keep the last token and ask for the next one before it expires. Whoever needs it first
// asks, on the time of the own call; others wait for that, or go on with the last one while it is
// good. It is safe for concurrent use.
type tokens struct {
	fetch func(context.Context) (token, error)
	now   func() time.Time
	turn  chan struct{} // holds a value while somebody asks

	mu      sync.Mutex
	current token
	asked   int   // how often somebody has asked to the end
	failed  error // how that ended
}

func newTokens(fetch func(context.Context) (token, error), now func() time.Time) *tokens {
	return &tokens{fetch: fetch, now: now, turn: make(chan struct{}, 1)}
}

// get returns a token that is good for a while. The error is that of fetch, or the context's.
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
	case ctx.Err() == nil: // else the next one in line asks for itself
		t.keep(token{}, err)
	}
	return "", err
}

func (t *tokens) state() (token, int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.current, t.asked
}

// since returns what came of asking when somebody has done so since the count was asked.
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
