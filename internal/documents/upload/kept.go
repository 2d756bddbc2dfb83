package upload

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Kept files are not ingested: they are stored as they are, under an id, until they are dropped.

func (s *Store) keptFolder(owner string) string {
	return filepath.Join(s.dir, "kept", ownerFolder(owner))
}

func (s *Store) kept(owner, id string) string {
	return filepath.Join(s.keptFolder(owner), plain(strings.ToLower(id)))
}

// partSuffix is the end of a kept file that Confirm has not confirmed.
const partSuffix = ".part"

// Keep writes a file and returns its size. The file exists for readers only after Confirm. After an
// error nothing of it is left.
func (s *Store) Keep(ctx context.Context, owner, id string, r io.Reader) (size int64, err error) {
	if err := os.MkdirAll(s.keptFolder(owner), 0o700); err != nil {
		return 0, fmt.Errorf("make the folder of kept files: %w", err)
	}
	path := s.kept(owner, id) + partSuffix
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return 0, fmt.Errorf("keep a file: %w", err)
	}
	size, err = io.Copy(f, &contextReader{ctx, r})
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return size, errors.Join(fmt.Errorf("keep a file: %w", err), os.Remove(path))
	}
	return size, nil
}

// Confirm makes a file that Keep wrote durable.
func (s *Store) Confirm(owner, id string) error {
	path := s.kept(owner, id)
	err := os.Rename(path+partSuffix, path)
	for _, dir := range []string{s.keptFolder(owner), filepath.Join(s.dir, "kept"), s.dir, filepath.Dir(s.dir)} {
		if err == nil {
			err = syncDir(dir)
		}
	}
	if err != nil {
		return fmt.Errorf("keep a file: %w", err)
	}
	return nil
}

// Kept opens a kept file. The error is fs.ErrNotExist if there is none.
func (s *Store) Kept(owner, id string) (*os.File, error) { return os.Open(s.kept(owner, id)) }

// Drop removes a kept file, confirmed or not. It does nothing if there is none.
func (s *Store) Drop(owner, id string) error {
	path := s.kept(owner, id)
	err := errors.Join(ignoreMissing(os.Remove(path+partSuffix)), ignoreMissing(os.Remove(path)))
	if err == nil {
		err = ignoreMissing(syncDir(filepath.Dir(path)))
	}
	if err != nil {
		return fmt.Errorf("drop a kept file: %w", err)
	}
	return nil
}

// sweepKept removes files that were written before a time and never confirmed, for example because of a
// crash.
func (s *Store) sweepKept(before time.Time) error {
	return eachFolder(filepath.Join(s.dir, "kept"), func(owner string) error {
		dir := filepath.Join(s.dir, "kept", owner)
		entries, err := os.ReadDir(dir)
		for _, e := range entries {
			if info, err := e.Info(); err == nil && strings.HasSuffix(e.Name(), partSuffix) && info.ModTime().Before(before) {
				_ = os.Remove(filepath.Join(dir, e.Name())) // the next sweep tries again
			}
		}
		return ignoreMissing(err)
	})
}
