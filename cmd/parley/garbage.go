package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// The collector's default lets as much garbage pile up as there is in use. A heap of smallHeap or less
// is left to that. Of a larger one, as a crowd of streams or a large corpus makes it, the garbage is
// bounded by smallHeap, but to no less than leastPercent of what is in use: collecting costs the more
// the less garbage there is between two times, and the garbage of a stream comes slowly.
const (
	smallHeap      = 32 << 20
	defaultPercent = 100
	leastPercent   = 50
	percentStep    = 10 // a smaller change is not worth the pause that it takes
)

// garbagePercent returns how much garbage may pile up, in percent of what is in use.
func garbagePercent(inUse uint64) int {
	percent := defaultPercent * smallHeap / max(inUse, smallHeap)
	return int(max(percent, leastPercent))
}

// boundGarbage bounds the garbage of the process from now on. A GOGC that was set wins.
func boundGarbage(lookupEnv func(string) (string, bool)) {
	if _, set := lookupEnv("GOGC"); set {
		return
	}
	afterCollection(defaultPercent)
}

// afterCollection looks at the heap after each collection, which percent was the last setting for.
func afterCollection(percent int) {
	// The next collection finds that nobody uses this, and so calls the function.
	runtime.AddCleanup(new([64]byte), func(percent int) {
		sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(sample)
		if want := garbagePercent(sample[0].Value.Uint64()); max(want-percent, percent-want) >= percentStep {
			debug.SetGCPercent(want)
			percent = want
		}
		afterCollection(percent)
	}, percent)
}
