package texttest

import (
	"syscall"
	"time"
)

// rusageThread is RUSAGE_THREAD of getrusage(2), which package syscall does not define.
const rusageThread = 1

// threadTime returns the processor time of the calling thread.
func threadTime() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(rusageThread, &r); err != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// ProcessTime returns the processor time of this process.
func ProcessTime() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
