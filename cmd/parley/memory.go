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

// limitMemory sets the collector's memory limit to the limit of the process's control group less a
// tenth for memory that Go does not count, so that garbage does not get a container killed.
// GOMEMLIMIT wins. Without a control group's limit the runtime's default stays.
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

// indexMemory returns the setting index.memory in bytes; 0, for no bound, where the memory of the machine is not known.
func (c Config) indexMemory() int64 {
	if c.IndexMemory > 0 {
		return int64(c.IndexMemory)
	}
	return machineMemory() / 2
}

// machineMemory returns the memory of the control group or else of the machine in bytes, 0 if neither is known.
func machineMemory() int64 {
	groups, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return 0 // not Linux
	}
	if limit := groupLimit("/sys/fs/cgroup", string(groups)); limit > 0 {
		return limit
	}
	about, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(about)) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "MemTotal:" {
			kibibytes, _ := strconv.ParseInt(fields[1], 10, 64)
			return kibibytes << 10
		}
	}
	return 0
}

// groupLimit returns the smallest memory limit in bytes between the process's control group and the
// root, 0 if there is none. groups is the text of /proc/self/cgroup. It knows version 2
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

// readLimit returns 0 for a missing file, for "max", and for version 1's value for no limit, which
// is close to the largest integer.
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

// smallHeap is the size in bytes up to which the heap grows without collection. By default the
// collector would let it grow to twice the live heap. A server with a few documents has 7 MiB, and
// would collect sixty times during a thousand answers. A live heap over half of smallHeap is
// collected as usual.
const smallHeap = 16 << 20

// largeHeap is the live heap in bytes above which the allowed garbage stays at largeHeap instead of
// growing with the live heap, as with many streams or a large corpus. It is at least leastGrowth
// percent, because collections cost more the less garbage lies between them.
const largeHeap = 32 << 20

// paceCollector lets garbage grow to smallHeap while the process is at work, and collects a large
// heap more often. It works for the life of the process. GOGC wins.
func paceCollector(lookupEnv func(string) (string, bool), atWork *atomic.Bool) {
	if _, set := lookupEnv("GOGC"); set {
		return
	}
	type sentinel struct{ percent int }
	var collected func(*sentinel)
	collected = func(s *sentinel) { // runs at each collection, because nothing refers to s
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

// Growth of the heap before a collection, in percent of the live heap: the usual value and the
// minimum.
const (
	usualGrowth = 100
	leastGrowth = 40
)

// growthOf returns the growth for a live heap. It has steps, because setting it stops the process
// for a moment.
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

// liveHeap returns the live bytes of the last collection, 0 before the first one.
func liveHeap() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// restInterval is the time between two checks whether the server is at rest.
const restInterval = 10 * time.Second

// releaseAtRest returns memory to the system after each busy period, until ctx ends. By default the
// runtime keeps about as much as it uses, and the database keeps its whole cache.
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

// An interval with fewer than restBytes allocated is a rest. A collection is worthwhile after
// workBytes in all.
const (
	restBytes = 1 << 20
	workBytes = 4 << 20
)

// workload tracks how much a process allocates. The zero value is ready to use.
type workload struct {
	last, released uint64
}

// over reports whether the process has worked since over last returned true, and is at rest.
func (w *workload) over(allocated uint64) bool {
	rest := allocated-w.last < restBytes
	w.last = allocated
	if !rest || allocated-w.released < workBytes {
		return false
	}
	w.released = allocated
	return true
}
