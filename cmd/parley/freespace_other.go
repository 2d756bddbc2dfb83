//go:build !linux && !darwin

package main

// freeSpace does not know the free space of this system's disks.
func freeSpace(string) (bytes int64, ok bool) { return 0, false }
