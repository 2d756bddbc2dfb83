package extract

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// runDelay is how long the threads of a process have been ready and waited for a processor, 0 when
// the system does not tell (proc(5), schedstat).
func runDelay(pid int) time.Duration {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil {
		return 0
	}
	total := int64(0)
	for _, name := range files {
		var ran, waited int64
		data, err := os.ReadFile(name)
		if err != nil {
			continue // the thread has ended
		}
		if _, err := fmt.Sscan(string(data), &ran, &waited); err == nil {
			total += waited
		}
	}
	return time.Duration(total)
}

// workerExecutable is the running program even when its file has been replaced since it started.
func workerExecutable() (string, error) { return "/proc/self/exe", nil }

// workerAttributes have the system kill the worker when the server dies in any way.
func workerAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}

// giveWay lowers the priority of the process: the server's requests go first. On Linux each thread
// has a priority of its own, which those that it starts inherit (setpriority(2), "C library/kernel
// differences"). One that has been started meanwhile is seen by the next look.
func giveWay() {
	lowered := map[int]bool{}
	for more := true; more; {
		more = false
		tasks, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return
		}
		for _, task := range tasks {
			id, err := strconv.Atoi(task.Name())
			if err != nil || lowered[id] {
				continue
			}
			lowered[id], more = true, true
			_ = syscall.Setpriority(syscall.PRIO_PROCESS, id, niceness) // refused, or gone
		}
	}
}
