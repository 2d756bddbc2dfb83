//go:build !linux

package sandbox

import (
	"os"
	"syscall"
)

// timesOf is not known here.
func timesOf(int) threadTimes { return threadTimes{} }

func workerExecutable() (string, error) { return os.Executable() }

func workerAttributes() *syscall.SysProcAttr { return nil }
