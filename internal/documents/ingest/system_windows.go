package ingest

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// nonblock is not needed: Windows has no pipes in folders.
const nonblock = 0

// lockOffset is after the process id in the lock file, which others must be able to read.
const lockOffset = 1 << 20

// tryLock takes a lock that lasts until f is closed. It returns false if another process has it.
func tryLock(f *os.File) (bool, error) {
	err := windows.LockFileEx(windows.Handle(f.Fd()),
		windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0,
		&windows.Overlapped{Offset: lockOffset})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return false, nil
	}
	return err == nil, err
}

// isNameTooLong reports whether an error means that no file can have the name.
func isNameTooLong(err error) bool { return errors.Is(err, windows.ERROR_FILENAME_EXCED_RANGE) }
