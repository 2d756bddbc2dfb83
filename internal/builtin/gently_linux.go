package builtin

import (
	"runtime"
	"syscall"
)

// niceness is the priority of work that nobody waits for (setpriority(2)); requests are answered with 0.
const niceness = 10

// gently runs f on a thread of its own that gives way to others, and waits for it.
func gently(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never unlocked, so that the thread ends with the goroutine
		_ = syscall.Setpriority(syscall.PRIO_PROCESS, 0, niceness)
		f()
	}()
	<-done
}
