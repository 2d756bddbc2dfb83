//go:build unix

package ingest

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// nonblock keeps an open of a pipe from waiting for its other end.
const nonblock = unix.O_NONBLOCK

// tryLock takes an advisory lock that lasts until f is closed. It returns false if another process has
// it.
func tryLock(f *os.File) (bool, error) {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	if errors.Is(err, unix.ENOLCK) { // network file systems return it
		return false, errors.ErrUnsupported
	}
	return err == nil, err
}

// isNameTooLong reports whether an error means that no file can have the name.
func isNameTooLong(err error) bool { return errors.Is(err, unix.ENAMETOOLONG) }
