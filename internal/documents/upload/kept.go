package upload

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	"parley/internal/durable"
)

// Kept files are not ingested: they are stored as they are, under an id, until they are dropped.

func keptFolder(owner string) string { return path.Join(kept, ownerFolder(owner)) }

func keptName(owner, id string) string {
	return path.Join(keptFolder(owner), plain(strings.ToLower(id)))
}

// partSuffix is the end of the name of a kept file that Confirm has not confirmed.
const partSuffix = ".part"

// Keep writes a file and returns its size. The file exists for readers only after Confirm. After an
// error nothing of it is left.
func (s *Store) Keep(ctx context.Context, owner, id string, r io.Reader) (size int64, err error) {
	if size, err = s.files.Write(ctx, keptName(owner, id)+partSuffix, r, time.Time{}); err != nil {
		return size, fmt.Errorf("keep a file: %w", err)
	}
	return size, nil
}

// Confirm makes a file that Keep wrote durable.
func (s *Store) Confirm(owner, id string) error {
	name := keptName(owner, id)
	err := s.files.Rename(name+partSuffix, name)
	if err == nil {
		err = s.files.Sync(keptFolder(owner), kept, Top)
	}
	if err != nil {
		return fmt.Errorf("keep a file: %w", err)
	}
	return nil
}

// Kept opens a kept file. The error is fs.ErrNotExist if there is none.
func (s *Store) Kept(owner, id string) (io.ReadSeekCloser, error) {
	return s.files.Open(keptName(owner, id))
}

// Drop removes a kept file, confirmed or not. It does nothing if there is none.
func (s *Store) Drop(owner, id string) error {
	name := keptName(owner, id)
	err := errors.Join(durable.IgnoreMissing(s.files.Remove(name+partSuffix)), durable.IgnoreMissing(s.files.Remove(name)))
	if err == nil {
		err = durable.IgnoreMissing(s.files.Sync(keptFolder(owner)))
	}
	if err != nil {
		return fmt.Errorf("drop a kept file: %w", err)
	}
	return nil
}

// sweepKept removes files that were written before a time and never confirmed, for example because of a
// crash.
func (s *Store) sweepKept(before time.Time) error {
	owners, err := s.files.Folders(kept)
	for _, owner := range owners {
		var files []File
		if files, err = s.files.List(path.Join(kept, owner.Name)); err != nil {
			break
		}
		for _, f := range files {
			if strings.HasSuffix(f.Name, partSuffix) && f.Modified.Before(before) {
				_ = s.files.Remove(path.Join(kept, owner.Name, f.Name)) // the next sweep tries again
			}
		}
	}
	return err
}
