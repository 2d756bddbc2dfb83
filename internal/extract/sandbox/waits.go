package sandbox

import (
	"sync"
	"time"
)

// waits measures how much time a process had for a job, without the time in which it waited for a processor, so that a
// busy machine is not taken for a bad file. Asking the kernel takes as long as reading a small file. The figures may
// therefore be up to a tenth of the time limit old when a job begins.
type waits struct {
	pid int

	mu     sync.Mutex // a child's time may end as its job begins
	before threadTimes
	asked  time.Time
	began  time.Time
}

// threadTimes are sums over the threads of a process, or zero where the system does not tell.
type threadTimes struct {
	ran    time.Duration
	waited time.Duration // ready to run, for a processor
}

// begin notes that a job with this time limit begins.
func (w *waits) begin(limit time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.began = time.Now()
	if w.asked.IsZero() || time.Since(w.asked) > limit/10 {
		w.before, w.asked = timesOf(w.pid), w.began
	}
}

// used returns how much time the process had since the job began.
func (w *waits) used() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := timesOf(w.pid)
	return usedOf(time.Since(w.began), now.ran-w.before.ran, now.waited-w.before.waited)
}

// usedOf returns how much of its time a job has used: the elapsed time without the waits. The waits of threads add up even
// when they overlap, so that may be too little. The result is at least the time that the threads ran, divided by the number of
// the worker's processors.
func usedOf(elapsed, ran, waited time.Duration) time.Duration {
	return max(elapsed-max(waited, 0), ran/workerProcs)
}

// patience is the multiple of its time limit that a job may take on a busy machine.
const patience = 20

// end calls f once: when a job has used its time or, with busy, when it has not but has taken patience times as long.
// After stop it does not start to call f.
func (w *waits) end(limit time.Duration, f func(busy bool)) (stop func()) {
	var mu sync.Mutex
	var timer *time.Timer
	began, over := time.Now(), false
	mu.Lock()
	defer mu.Unlock()
	timer = time.AfterFunc(limit, func() {
		left := limit - w.used()
		busy := time.Since(began) >= patience*limit
		mu.Lock()
		switch {
		case over:
			mu.Unlock()
		case left > 0 && !busy:
			timer.Reset(max(left, limit/20))
			mu.Unlock()
		default:
			over = true
			mu.Unlock()
			f(left > 0)
		}
	})
	return func() {
		mu.Lock()
		defer mu.Unlock()
		over = true
		timer.Stop()
	}
}
