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
// What only shows that the upstream is at work makes the wait longer, up to a limit of its own.
// That something came is noted for every event of a stream, so it moves no timer: the timer, when it
// fires, looks how long it is ago.
type watchdog struct {
	cancel  func(cause error)
	start   time.Time
	overall time.Duration
	heard   atomic.Int64 // when something came last, in ns after start
	pinged  atomic.Int64 // when the upstream showed last that it is at work, in ns after start

	mu       sync.Mutex
	patience time.Duration // how long nothing may come
	thinking time.Duration // how long nothing may come while the upstream shows that it is at work
	timer    *time.Timer
	stopped  bool
}

// newWatchdog returns a watchdog that calls cancel unless something comes in time. The caller stops it.
func newWatchdog(cancel func(cause error), patience, overall time.Duration) *watchdog {
	d := &watchdog{cancel: cancel, start: time.Now(), overall: overall, patience: patience, thinking: patience}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.timer = time.AfterFunc(min(patience, overall), d.look)
	return d
}

// hear notes that something has come.
func (d *watchdog) hear() { d.heard.Store(int64(time.Since(d.start))) }

// ping notes that the upstream shows that it is at work.
func (d *watchdog) ping() { d.pinged.Store(int64(time.Since(d.start))) }

// wait begins to wait for the next thing, with a patience of its own from now on.
func (d *watchdog) wait(patience time.Duration) { d.think(patience, patience) }

// think is wait with a longer patience for an upstream that shows that it is at work.
func (d *watchdog) think(patience, thinking time.Duration) {
	d.hear()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.patience, d.thinking = patience, thinking
	d.timer.Reset(d.due() - time.Since(d.start))
}

// due returns when the next thing is due at the latest, after start. The caller holds d.mu.
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
