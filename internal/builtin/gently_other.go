//go:build !linux

package builtin

// gently runs f. Only Linux has threads of different priority in one process.
func gently(f func()) { f() }
