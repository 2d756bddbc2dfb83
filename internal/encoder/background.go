package encoder

import (
	"context"
	"sync/atomic"
	"time"
)

// patience is how long a run in the background waits before each layer while others are at work. It bounds the wait on a server
// that never rests: a text still gets its vector within seconds.
const patience = 100 * time.Millisecond

// pause is how long all others must have rested before a run in the background continues. An answer takes several runs with
// short gaps between them.
const pause = 30 * time.Millisecond

type backgroundKey struct{}

// InBackground returns a context whose runs give way to all other runs of this process: before each layer they wait until no
// other run has been at work for a moment, but at most for patience. Of those whose patience has ended, one runs at a time.
func InBackground(ctx context.Context) context.Context {
	return context.WithValue(ctx, backgroundKey{}, true)
}

// The runs of all models that are not in the background.
var (
	running atomic.Int64
	rested  atomic.Int64 // when the last one ended, in nanoseconds since start
	start   = time.Now()
)

// impatient holds the run in the background that works beside others.
var impatient = make(chan struct{}, 1)

// place is what a run knows of its place among others.
type place struct{ behind, impatient bool }

// enter begins a run, which must call leave.
func enter(ctx context.Context) *place {
	if ctx.Value(backgroundKey{}) != nil {
		return &place{behind: true}
	}
	running.Add(1)
	return &place{}
}

func (p *place) leave() {
	if p.behind {
		p.relax()
		return
	}
	rested.Store(int64(time.Since(start)))
	running.Add(-1)
}

// giveWay is called before each layer. In the background it waits for its turn, or until ctx has ended.
func (p *place) giveWay(ctx context.Context) {
	if !p.behind {
		return
	}
	p.relax()
	for end := time.Since(start) + patience; ; {
		now := time.Since(start)
		left := time.Duration(rested.Load()) + pause - now
		if running.Load() > 0 {
			left = pause
		}
		switch {
		case left <= 0:
			return
		case now >= end:
			p.hurry(ctx)
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(min(left, end-now)):
		}
	}
}

// hurry waits until no other run in the background works beside others.
func (p *place) hurry(ctx context.Context) {
	select {
	case <-ctx.Done():
	case impatient <- struct{}{}:
		p.impatient = true
	}
}

func (p *place) relax() {
	if p.impatient {
		p.impatient = false
		<-impatient
	}
}
