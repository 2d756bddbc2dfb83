package upstream

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// errSilent is the cause of a context that ended because the upstream sent nothing for too long.
var errSilent = errors.New("nothing came from the upstream in time")

// errOverall is the cause of a context that ended because the call took too long.
var errOverall = errors.New("the call took longer than allowed")

// watchdog ends a call from which nothing has come for too long, or that has taken too long in all.
// That something came is noted for every event of a stream, so it moves no timer: the timer, when it
// fires, looks how long it is ago.
type watchdog struct {
	cancel  func(cause error)
	start   time.Time
	overall time.Duration
	heard   atomic.Int64 // when something came last, in ns after start

	mu       sync.Mutex
	patience time.Duration // how long nothing may come
	timer    *time.Timer
	stopped  bool
}

// newWatchdog returns a watchdog that calls cancel unless something comes in time. The caller stops it.
func newWatchdog(cancel func(cause error), patience, overall time.Duration) *watchdog {
	d := &watchdog{cancel: cancel, start: time.Now(), overall: overall, patience: patience}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.timer = time.AfterFunc(min(patience, overall), d.look)
	return d
}

// hear notes that something has come.
func (d *watchdog) hear() { d.heard.Store(int64(time.Since(d.start))) }

// wait begins to wait for the next thing, with a patience of its own from now on.
func (d *watchdog) wait(patience time.Duration) {
	d.hear()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.patience = patience
	d.set()
}

// set sets the timer to when the next thing is due at the latest. The caller holds d.mu.
func (d *watchdog) set() {
	due := min(time.Duration(d.heard.Load())+d.patience, d.overall)
	d.timer.Reset(due - time.Since(d.start))
}

// look ends the call if it is due by now.
func (d *watchdog) look() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stopped {
		return
	}
	switch took := time.Since(d.start); {
	case took >= d.overall:
		d.cancel(errOverall)
	case took >= time.Duration(d.heard.Load())+d.patience:
		d.cancel(errSilent)
	default:
		d.set()
	}
}

func (d *watchdog) stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stopped = true
	d.timer.Stop()
}
