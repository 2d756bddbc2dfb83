package texttest

import (
	"runtime"
	"testing"
	"time"
)

// What Linear compares, and what it lets pass: four times the text may take eight times as long, which
// leaves room for caches and for n·log n, but not for squares. Work shorter than tooShort says nothing.
// A first measurement of at most fineTimes needs no second one.
const (
	factor    = 4
	mostTimes = 8
	fineTimes = 5
	tooShort  = 3 * time.Millisecond
)

// Linear fails the test when the processor time of f grows faster than the text of a shape: f gets texts
// of a length in bytes, and of four times that length. It must do all its work in the calling goroutine.
func Linear(t testing.TB, s Shape, bytes int, f func(text string)) {
	t.Helper()
	small, large := s.Text(bytes), s.Text(factor*bytes)
	onSmall, onLarge := func() { f(small) }, func() { f(large) }
	// The clock on the wall is quick to read, and right unless the machine is busy.
	start := time.Now()
	onLarge()
	first := time.Since(start)
	if first < tooShort || first <= fineTimes*min(once(onSmall), once(onSmall)) {
		return
	}
	one, four := least(onSmall), least(onLarge)
	for try := 0; four >= tooShort && four > mostTimes*one; try++ {
		if try == 3 {
			t.Errorf("%s: %d bytes take %v, %d bytes %v: that is more than linear", s.Name, len(small), one, len(large), four)
			return
		}
		one, four = cost(onSmall), cost(onLarge)
	}
}

func once(f func()) time.Duration {
	start := time.Now()
	f()
	return time.Since(start)
}

// slow is how long a run takes that is not repeated.
const slow = 100 * time.Millisecond

// least returns the shortest time in which f ran, of a few times.
func least(f func()) time.Duration {
	best := time.Duration(0)
	for i := range 3 {
		if took := once(f); i == 0 || took < best {
			best = took
		}
		if i > 0 && best > slow { // the first time fills caches
			break
		}
	}
	return best
}

// cost returns the processor time that f takes on average, over as many runs as it takes for the system's
// count, which may go by hundredths of a second, to say something. Where the system does not count by
// thread, it is the time that passes.
func cost(f func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	start := threadTime()
	for n := 1; ; n++ {
		f()
		if took := threadTime() - start; took > slow {
			return took / time.Duration(n)
		}
	}
}
