//go:build unix

package main

import (
	"syscall"
	"time"
)

// spent returns the processor time of this process.
func spent() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// settle waits until all writes are on the disk.
func settle() { syscall.Sync() }
