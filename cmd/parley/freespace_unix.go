//go:build linux || darwin

package main

import "golang.org/x/sys/unix"

// freeSpace returns how many bytes this user may still write on the disk that holds a folder.
func freeSpace(dir string) (bytes int64, ok bool) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, false
	}
	return int64(st.Bavail) * int64(st.Bsize), true //nolint:unconvert // the types differ between systems
}
