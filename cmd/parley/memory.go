package main

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// limitMemory tells the collector of the memory limit of the process's control group, less a
// tenth for what Go does not count, so that a container is not killed while there is garbage.
// GOMEMLIMIT wins; without a control group's limit the runtime's default stays.
func limitMemory(lookupEnv func(string) (string, bool)) {
	if _, set := lookupEnv("GOMEMLIMIT"); set {
		return
	}
	groups, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return // not Linux
	}
	if limit := groupLimit("/sys/fs/cgroup", string(groups)); limit > 0 {
		debug.SetMemoryLimit(limit / 10 * 9)
	}
}

// groupLimit returns the least memory limit in bytes on the way from the group that groups (the
// text of /proc/self/cgroup) names up to the root, 0 when there is none. It knows version 2
// ("0::/path", memory.max) and version 1 ("5:memory:/path", memory.limit_in_bytes).
func groupLimit(root, groups string) int64 {
	var least int64
	for line := range strings.Lines(groups) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		dir, file := root, "memory.max"
		if parts[1] == "memory" {
			dir, file = filepath.Join(root, "memory"), "memory.limit_in_bytes"
		} else if parts[1] != "" {
			continue
		}
		for path := filepath.Clean("/" + parts[2]); ; path = filepath.Dir(path) {
			if n := readLimit(filepath.Join(dir, path, file)); n > 0 && (least == 0 || n < least) {
				least = n
			}
			if path == "/" {
				break
			}
		}
	}
	return least
}

// readLimit returns 0 for a missing file, for "max", and for version 1's word for no limit,
// which is close to the largest integer.
func readLimit(path string) int64 {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil || n > 1<<60 {
		return 0
	}
	return n
}

// smallHeap is the size up to which the heap may grow without being collected, in bytes. The collector by
// itself would let it grow to twice what is in use; that is 7 MiB in a server with a few documents, which
// it would collect sixty times for a thousand answers. What is in use above half of it is collected as ever.
const smallHeap = 16 << 20

// largeHeap is how much may be in use, in bytes, before less garbage is let pile up than is in use, as a
// crowd of streams or a large corpus makes it: largeHeap of it, but no less than leastGrowth has it, since
// collecting costs the more the less garbage there is between two times. That of a stream comes slowly.
const largeHeap = 32 << 20

// paceCollector has the collector wait for smallHeap while the process is at work, and be stricter with a large
// heap, for as long as the process lives. GOGC wins.
func paceCollector(lookupEnv func(string) (string, bool), atWork *atomic.Bool) {
	if _, set := lookupEnv("GOGC"); set {
		return
	}
	type sentinel struct{ percent int }
	var collected func(*sentinel)
	collected = func(s *sentinel) { // at each collection, since nothing refers to s
		percent := growthOf(liveHeap())
		if !atWork.Load() {
			percent = min(percent, usualGrowth)
		}
		if percent != s.percent {
			s.percent = percent
			debug.SetGCPercent(percent)
		}
		runtime.SetFinalizer(s, collected)
	}
	collected(&sentinel{percent: usualGrowth})
}

// How much a heap grows until it is collected, in percent of what is in use: usually, and at the least.
const (
	usualGrowth = 100
	leastGrowth = 40
)

// growthOf returns the growth for a heap of which live bytes are in use. It is in steps, because to set it
// stops the process for a moment.
func growthOf(live uint64) int {
	const step, smallStep = 50, 10
	switch {
	case live > largeHeap:
		return max(leastGrowth, int(usualGrowth*largeHeap/live)/smallStep*smallStep)
	case live == 0 || live >= smallHeap/2:
		return usualGrowth
	}
	return max(usualGrowth, int((smallHeap-live)*100/max(live, 1<<20))/step*step)
}

// liveHeap returns how many bytes the last collection has found in use, 0 before the first one.
func liveHeap() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// restInterval is how often a server looks whether it is at rest.
const restInterval = 10 * time.Second

// releaseAtRest gives the memory that a busy time has left back to the system once it is over,
// until ctx ends. The runtime by itself keeps about as much as it uses, and the database all that
// it has cached.
func (s *serving) releaseAtRest(ctx context.Context) {
	tick := time.NewTicker(restInterval)
	defer tick.Stop()
	var work workload
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		now := allocated()
		s.atWork.Store(now-work.last >= restBytes)
		if !work.over(now) {
			continue
		}
		if err := s.db.Shrink(ctx); err != nil && ctx.Err() == nil {
			s.log.Warn("shrink the database's caches", "error", err)
		}
		debug.FreeOSMemory()
	}
}

// allocated returns how many bytes the process has allocated since its start.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// Of what is allocated in an interval, restBytes is no work, and workBytes in all leave enough
// behind to collect it.
const (
	restBytes = 1 << 20
	workBytes = 4 << 20
)

// workload follows how much a process allocates. The zero value has seen nothing.
type workload struct {
	last, released uint64
}

// over reports whether work has been done since it last returned true and there is a rest now.
func (w *workload) over(allocated uint64) bool {
	rest := allocated-w.last < restBytes
	w.last = allocated
	if !rest || allocated-w.released < workBytes {
		return false
	}
	w.released = allocated
	return true
}
