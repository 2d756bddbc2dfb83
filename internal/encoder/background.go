package encoder

import (
	"context"
	"sync"
	"time"
)

// patience is how long a run in the background waits before each layer while others run. It bounds the wait on a server that
// never rests: a text with 12 layers still gets its vector within seconds.
const patience = 100 * time.Millisecond

// pause is how long all others must have rested before a run in the background goes on. An answer takes several runs with
// short gaps between them.
const pause = 30 * time.Millisecond

type backgroundKey struct{}

// InBackground returns a context whose runs give way to all others: before each layer they wait until no other run has been at
// work for a moment, but at most for patience.
func InBackground(ctx context.Context) context.Context {
	return context.WithValue(ctx, backgroundKey{}, true)
}

// foreground counts the runs that are not in the background, of all models.
var foreground struct {
	sync.Mutex
	running int
	ended   time.Time // when the last one ended
}

// enter counts a run until the function it returns is called. A run in the background does not count: giveWay waits for the
// others, and is nil for a run that does not wait.
func enter(ctx context.Context) (leave func(), giveWay func()) {
	if ctx.Value(backgroundKey{}) != nil {
		return func() {}, func() { waitForRest(ctx) }
	}
	foreground.Lock()
	defer foreground.Unlock()
	foreground.running++
	return func() {
		foreground.Lock()
		defer foreground.Unlock()
		foreground.running--
		foreground.ended = time.Now()
	}, nil
}

// waitForRest waits until no run has been in the foreground for a pause, ctx has ended, or patience has passed.
func waitForRest(ctx context.Context) {
	for end := time.Now().Add(patience); ; {
		foreground.Lock()
		left := pause - time.Since(foreground.ended)
		if foreground.running > 0 {
			left = pause
		}
		foreground.Unlock()
		if left = min(left, time.Until(end)); left <= 0 || ctx.Err() != nil {
			return
		}
		time.Sleep(left)
	}
}
