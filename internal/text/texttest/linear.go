package texttest

import (
	"runtime"
	"testing"
	"time"

	"parley/test/needs"
)

// Limits of Linear. Four times the text may take eight times as long, which leaves room for caches and n·log n but not for
// squares. Times below tooShort are inconclusive. A first time of at most fineTimes is not measured again. If four times the
// text takes longer, the test fails only if sixteen times the text takes more than 8·8 times as long: on a busy machine, a text
// that no longer fits a cache can take longer at one length, but not at both.
const (
	factor    = 4
	mostTimes = 8
	fineTimes = 5
	tooShort  = 3 * time.Millisecond
)

// Linear fails the test if the processor time of f grows faster than the length of its text. f gets
// a text of that many bytes and one of four times the length, or of sixteen times if the first two
// are not enough. It must do all its work in the calling goroutine.
func Linear(t testing.TB, s Shape, bytes int, f func(text string)) {
	t.Helper()
	if needs.Race {
		f(s.Text(bytes)) // its time says nothing about the program's
		return
	}
	small, large := s.Text(bytes), s.Text(factor*bytes)
	onSmall, onLarge := func() { f(small) }, func() { f(large) }
	// Wall time is quick to read, and accurate unless the machine is busy.
	start := time.Now()
	onLarge()
	first := time.Since(start)
	if first < tooShort || first <= fineTimes*min(once(onSmall), once(onSmall)) {
		return
	}
	if four := least(onLarge); four < tooShort || four <= mostTimes*least(onSmall) {
		return
	}
	largest := s.Text(factor * factor * bytes)
	onLargest := func() { f(largest) }
	for try := 0; ; try++ {
		one, sixteen := cost(onSmall), cost(onLargest)
		if sixteen <= mostTimes*mostTimes*one {
			return
		}
		if try == 3 {
			t.Errorf("%s: %d bytes take %v, %d bytes %v: that is more than linear", s.Name, len(small), one, len(largest), sixteen)
			return
		}
	}
}

func once(f func()) time.Duration {
	start := time.Now()
	f()
	return time.Since(start)
}

// slow is the time above which a run is not repeated.
const slow = 100 * time.Millisecond

// least returns the shortest time of a few runs of f.
func least(f func()) time.Duration {
	best := time.Duration(0)
	for i := range 3 {
		if took := once(f); i == 0 || took < best {
			best = took
		}
		if i > 0 && best > slow { // the first run fills caches
			break
		}
	}
	return best
}

// cost returns the average processor time of f. It repeats f until the system's clock, whose ticks
// may be hundredths of a second, is accurate enough. Where the system does not count by thread, it
// measures wall time.
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
