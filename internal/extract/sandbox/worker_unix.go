//go:build unix

package sandbox

import (
	"os"
	"runtime/debug"
	"syscall"
	"time"

	"parley/internal/extract"
)

// confine limits the process, as a second line of defence behind the checks of the parsers. A limit that the system
// refuses stays as it was.
func confine(l extract.Limits) {
	debug.SetMemoryLimit((l.MemoryBytes - codeBytes) * 3 / 4) // PDFium's memory grows by a quarter at a time, into a copy
	// The address space is of no use as a bound: the runtime reserves far more than it uses.
	lower(syscall.RLIMIT_DATA, uint64(l.MemoryBytes))
	lower(syscall.RLIMIT_CORE, 0)
	lower(syscall.RLIMIT_FSIZE, 256<<20) // PDFium's compiled code is all that it writes
	giveWay()
}

// nonblock keeps the opening of a file that has become a pipe from waiting for its other end.
const nonblock = syscall.O_NONBLOCK

// niceness is the priority of a worker (setpriority(2)); requests are answered with 0.
const niceness = 10

// confineCPU gives the process so much more processor time that only a parser that has escaped the limit of real time
// uses it up. The system then ends the process.
func confineCPU(wall time.Duration) {
	var used syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &used) != nil {
		return
	}
	seconds := uint64(used.Utime.Sec) + uint64(used.Stime.Sec) + 4*uint64(wall/time.Second) + 10
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_CPU, &limit) != nil {
		return
	}
	setLimit(syscall.RLIMIT_CPU, seconds, &limit)
}

// groupAttributes make the process the leader of a process group with all that it starts.
func groupAttributes() *syscall.SysProcAttr {
	a := workerAttributes()
	if a == nil {
		a = &syscall.SysProcAttr{}
	}
	a.Setpgid = true
	return a
}

func killGroup(leader *os.Process) error { return syscall.Kill(-leader.Pid, syscall.SIGKILL) }

func lower(resource int, to uint64) {
	var limit syscall.Rlimit
	if syscall.Getrlimit(resource, &limit) != nil {
		return
	}
	setLimit(resource, to, &limit)
}
