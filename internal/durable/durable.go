// Package durable writes files that survive a crash of the machine.
package durable

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
)

// Close closes a file that was written, and makes its bytes durable unless writing it failed with err.
func Close(f *os.File, err error) error {
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// Folder makes the names in a folder durable: a synced file whose name is lost is lost. It takes the results of
// opening the folder, and closes it. On Windows, which cannot sync a folder and whose NTFS journals names by
// itself, that is all.
func Folder(d *os.File, err error) error {
	if err != nil {
		return err
	}
	if runtime.GOOS != "windows" {
		err = d.Sync()
	}
	return errors.Join(err, d.Close())
}

// IgnoreMissing returns nil for an error that says that a file does not exist.
func IgnoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
