//go:build unix && !linux

package sandbox

import "syscall"

// giveWay lowers the priority of the process: the server's requests go first.
func giveWay() { _ = syscall.Setpriority(syscall.PRIO_PROCESS, 0, niceness) }
