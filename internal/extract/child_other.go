//go:build !linux

package extract

import (
	"os"
	"syscall"
)

func workerExecutable() (string, error) { return os.Executable() }

func workerAttributes() *syscall.SysProcAttr { return nil }
