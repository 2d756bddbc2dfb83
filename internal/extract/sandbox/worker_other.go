//go:build !unix

package sandbox

import (
	"os"
	"runtime/debug"
	"syscall"
	"time"

	"parley/internal/extract"
)

// nonblock is not needed: there are no pipes in folders.
const nonblock = 0

// confine lowers what the process may use as far as the runtime can.
func confine(l extract.Limits) { debug.SetMemoryLimit((l.MemoryBytes - codeBytes) * 3 / 4) }

func confineCPU(time.Duration) {}

func groupAttributes() *syscall.SysProcAttr { return workerAttributes() }

func killGroup(leader *os.Process) error { return leader.Kill() }
