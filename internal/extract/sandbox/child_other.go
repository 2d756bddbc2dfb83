//go:build !linux

package sandbox

import (
	"os"
	"syscall"
)

// timesOf knows nothing on this system.
func timesOf(int) threadTimes { return threadTimes{} }

func workerExecutable() (string, error) { return os.Executable() }

func workerAttributes() *syscall.SysProcAttr { return nil }
