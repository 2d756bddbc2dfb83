package extract

import "syscall"

// workerExecutable is the running program even when its file has been replaced since it started.
func workerExecutable() (string, error) { return "/proc/self/exe", nil }

// workerAttributes have the system kill the worker when the server dies in any way.
func workerAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
