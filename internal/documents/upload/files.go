package upload

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"parley/internal/durable"
	"parley/internal/interrupt"
)

// Files keeps files under names with slashes. A missing file is fs.ErrNotExist. Implementations pass
// uploadtest.Files.
type Files interface {
	// Write stores a file with the time of its last change, where zero means now, and returns its size. The error
	// is fs.ErrExist if there is one of that name. After an error nothing of the file is left. It is durable once
	// Sync has returned for its folder and those above it.
	Write(ctx context.Context, name string, r io.Reader, modified time.Time) (size int64, err error)
	// Sync makes changes of names in folders durable. Top is the folder that contains all others.
	Sync(folders ...string) error
	// Rename renames a file in one step, and replaces one of the new name.
	Rename(from, to string) error
	// Link gives a file a second name. The error is fs.ErrExist if there is a file of that name, or
	// errors.ErrUnsupported.
	Link(from, to string) error
	Remove(name string) error
	// RemoveAll removes a folder with everything below it, if it is there.
	RemoveAll(folder string) error
	// Tidy removes a folder if it is empty.
	Tidy(folder string)
	// Stat returns the size of a file and the time when it was written.
	Stat(name string) (File, error)
	// List returns the files in a folder without those below it. A missing folder has none.
	List(folder string) ([]File, error)
	// Folders returns the folders in a folder, with the times of their last changes.
	Folders(folder string) ([]File, error)
	// Open opens a file for reading.
	Open(name string) (io.ReadSeekCloser, error)
	// Local returns the path of a folder on this machine with all files that are below a folder now,
	// under the same names and with the same times.
	Local(ctx context.Context, folder string) (path string, err error)
}

// File describes an entry of a folder.
type File struct {
	Name     string // without folders
	Size     int64
	Modified time.Time
}

// Top is the name of the folder that contains all others.
const Top = "."

// Disk returns files below a folder of this machine, which is created with the first of them.
func Disk(dir string) Files { return disk{dir} }

type disk struct{ dir string }

func (d disk) path(name string) string { return filepath.Join(d.dir, filepath.FromSlash(name)) }

func (d disk) Write(ctx context.Context, name string, r io.Reader, modified time.Time) (size int64, err error) {
	path := d.path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return 0, err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return 0, err
	}
	size, err = io.Copy(f, interrupt.Reader(ctx, r))
	err = durable.Close(f, err)
	if err == nil && !modified.IsZero() {
		err = os.Chtimes(path, modified, modified)
	}
	if err != nil {
		return size, errors.Join(err, os.Remove(path))
	}
	return size, nil
}

func (d disk) Sync(folders ...string) error {
	for _, folder := range folders {
		err := durable.Folder(os.Open(d.path(folder)))
		if err == nil && folder == Top {
			err = durable.Folder(os.Open(filepath.Dir(d.dir)))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (d disk) Rename(from, to string) error {
	if err := os.MkdirAll(filepath.Dir(d.path(to)), 0o700); err != nil {
		return err
	}
	return os.Rename(d.path(from), d.path(to))
}

func (d disk) Link(from, to string) error {
	if _, err := os.Lstat(d.path(from)); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(d.path(to)), 0o700); err != nil {
		return err
	}
	err := os.Link(d.path(from), d.path(to))
	if errors.Is(err, fs.ErrPermission) { // some file systems without links return this
		err = fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
	}
	return err
}

func (d disk) Remove(name string) error { return os.Remove(d.path(name)) }

func (d disk) RemoveAll(folder string) error { return os.RemoveAll(d.path(folder)) }

func (d disk) Tidy(folder string) { _ = os.Remove(d.path(folder)) } // fails while it contains something

func (d disk) Stat(name string) (File, error) {
	st, err := os.Lstat(d.path(name))
	if err != nil {
		return File{}, err
	}
	return File{st.Name(), st.Size(), st.ModTime()}, nil
}

func (d disk) List(folder string) ([]File, error) {
	return d.entries(folder, func(m fs.FileMode) bool { return m.IsRegular() })
}

func (d disk) Folders(folder string) ([]File, error) {
	return d.entries(folder, fs.FileMode.IsDir)
}

// entries returns what is in a folder. It ignores files that disappear meanwhile.
func (d disk) entries(folder string, want func(fs.FileMode) bool) (all []File, err error) {
	entries, err := os.ReadDir(d.path(folder))
	if err := durable.IgnoreMissing(err); err != nil {
		return nil, err
	}
	for _, e := range entries {
		if !want(e.Type()) {
			continue
		}
		st, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, File{st.Name(), st.Size(), st.ModTime()})
	}
	return all, nil
}

func (d disk) Open(name string) (io.ReadSeekCloser, error) { return os.Open(d.path(name)) }

// Local creates the folder if it is missing.
func (d disk) Local(_ context.Context, folder string) (string, error) {
	path := d.path(folder)
	return path, os.MkdirAll(path, 0o700)
}
