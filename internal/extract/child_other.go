//go:build !linux

package extract

import (
	"os"
	"syscall"
	"time"
)

// runDelay is not known here.
func runDelay(int) time.Duration { return 0 }

func workerExecutable() (string, error) { return os.Executable() }

func workerAttributes() *syscall.SysProcAttr { return nil }
