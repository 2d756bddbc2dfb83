package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// timesOf asks the system for the times of a process (proc(5), schedstat).
func timesOf(pid int) (total threadTimes) {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil {
		return threadTimes{}
	}
	for _, name := range files {
		var ran, waited int64
		data, err := os.ReadFile(name)
		if err != nil {
			continue // the thread has ended
		}
		if _, err := fmt.Sscan(string(data), &ran, &waited); err == nil {
			total.ran += time.Duration(ran)
			total.waited += time.Duration(waited)
		}
	}
	return total
}

// workerExecutable returns the running program, even if its file has been replaced since the start.
func workerExecutable() (string, error) { return "/proc/self/exe", nil }

// workerAttributes make the kernel kill the worker when the server dies in any way, and give it its own empty network
// where that is possible.
func workerAttributes() *syscall.SysProcAttr {
	if isolated() {
		return ownNetwork()
	}
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}

// giveWay lowers the priority of the process, so that the server's requests go first. On Linux each thread has its own
// priority, which threads that it starts inherit (setpriority(2), "C library/kernel differences"). The loop runs again
// for threads that were started meanwhile.
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
