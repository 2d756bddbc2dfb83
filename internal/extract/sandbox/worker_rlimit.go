//go:build unix && !freebsd && !dragonfly

package sandbox

import "syscall"

// setLimit sets the soft limit and leaves the hard one, because the soft limit is raised again from file to file.
func setLimit(resource int, to uint64, limit *syscall.Rlimit) {
	limit.Cur = min(to, limit.Max)
	_ = syscall.Setrlimit(resource, limit) // refused: the other bounds remain
}
