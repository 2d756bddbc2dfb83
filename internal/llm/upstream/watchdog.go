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

// watchdog ends a call that has been silent for too long, or that has taken too long overall. Pings
// extend the wait, up to a limit of their own. Events only record their time instead of resetting the
// timer, because there are many; when the timer fires, it checks how long ago the last one was.
type watchdog struct {
	cancel  func(cause error)
	start   time.Time
	overall time.Duration
	heard   atomic.Int64 // time of the last output, in ns after start
	pinged  atomic.Int64 // time of the last ping, in ns after start

	mu       sync.Mutex
	patience time.Duration // longest silence
	thinking time.Duration // longest silence while pings arrive
	timer    *time.Timer
	stopped  bool
}

// newWatchdog returns a watchdog that calls cancel when a limit has passed. The caller stops it.
func newWatchdog(cancel func(cause error), patience, overall time.Duration) *watchdog {
	d := &watchdog{cancel: cancel, start: time.Now(), overall: overall, patience: patience, thinking: patience}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.timer = time.AfterFunc(min(patience, overall), d.look)
	return d
}

// hear records output.
func (d *watchdog) hear() { d.heard.Store(int64(time.Since(d.start))) }

// ping records a sign that the upstream is working.
func (d *watchdog) ping() { d.pinged.Store(int64(time.Since(d.start))) }

// wait starts a new wait with the given patience.
func (d *watchdog) wait(patience time.Duration) { d.think(patience, patience) }

// think is like wait, with a longer patience for an upstream that sends pings.
func (d *watchdog) think(patience, thinking time.Duration) {
	d.hear()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.patience, d.thinking = patience, thinking
	d.timer.Reset(d.due() - time.Since(d.start))
}

// due returns the latest time for the next event, relative to start. The caller holds d.mu.
func (d *watchdog) due() time.Duration {
	heard, pinged := time.Duration(d.heard.Load()), time.Duration(d.pinged.Load())
	due := heard + d.patience
	if pinged > heard {
		due = max(due, min(pinged+d.patience, heard+d.thinking))
	}
	return min(due, d.overall)
}

// look ends the call if it is due by now.
func (d *watchdog) look() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stopped {
		return
	}
	took, due := time.Since(d.start), d.due()
	switch {
	case took >= d.overall:
		d.cancel(errOverall)
	case took >= due:
		d.cancel(errSilent)
	default:
		d.timer.Reset(due - took)
	}
}

func (d *watchdog) stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stopped = true
	d.timer.Stop()
}
