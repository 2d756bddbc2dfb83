package extract

import (
	"sync"
	"time"
)

// waits tells how long a process waited for a processor during a job. Asking the system takes as long as
// reading a small file, so that what is said of a job may begin up to a tenth of its time earlier.
type waits struct {
	pid int

	mu     sync.Mutex // a child's time may end as its job begins
	before time.Duration
	asked  time.Time
}

// begin notes that a job begins, which has so much time.
func (w *waits) begin(limit time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.asked.IsZero() || time.Since(w.asked) > limit/10 {
		w.before, w.asked = runDelay(w.pid), time.Now()
	}
}

// ofJob returns how long the process has waited since the job began, 0 where that is not known.
func (w *waits) ofJob() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return max(0, runDelay(w.pid)-w.before)
}
