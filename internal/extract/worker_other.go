//go:build !unix

package extract

import (
	"runtime/debug"
	"time"
)

// confine lowers what the process may use as far as the runtime can.
func confine(l Limits) { debug.SetMemoryLimit((l.MemoryBytes - codeBytes) * 9 / 10) }

func confineCPU(time.Duration) {}
