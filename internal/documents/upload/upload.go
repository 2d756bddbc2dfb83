// Package upload keeps uploaded files: a folder for each namespace and owner, which is ingested like any other
// folder, and a folder for each job with the staged files that the job has not reached yet.
//
//	DIR/files/NAMESPACE/OWNER/report.pdf
//	DIR/staged/JOB/report.pdf
//
// A staged file is written and synced, and then published by a rename: a reader of the folder sees the old file
// or the new one, never a part of it. File names come from Clean only.
package upload

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"parley/internal/durable"
	"parley/internal/lazyregexp"
)

// Store keeps uploaded files. It is safe for concurrent use.
type Store struct{ files Files }

// New returns a store of uploads in files.
func New(files Files) *Store { return &Store{files: files} }

// Scope names a folder of uploads.
type Scope struct {
	Namespace string
	Owner     string // "" for files that everybody shares
}

// The folders of a store.
const (
	published = "files"
	staged    = "staged"
	kept      = "kept"
)

// Folder returns the name of the folder of a scope's published files, which may not exist yet.
func Folder(at Scope) string {
	return path.Join(published, plain(at.Namespace), ownerFolder(at.Owner))
}

// Local returns the path of a folder on this machine with the scope's published files.
func (s *Store) Local(ctx context.Context, at Scope) (string, error) {
	path, err := s.files.Local(ctx, Folder(at))
	if err != nil {
		return "", fmt.Errorf("make the folder of uploads: %w", err)
	}
	return path, nil
}

func ownerFolder(owner string) string {
	if owner == "" {
		return "shared"
	}
	return "user-" + plain(owner)
}

// stagedFolder returns the folder of a job.
func stagedFolder(job string) string { return path.Join(staged, plain(strings.ToLower(job))) }

func stagedName(job, name string) string { return path.Join(stagedFolder(job), name) }

// plainName matches folder names that work unchanged on every system.
var plainName = lazyregexp.New(`^[a-z0-9][a-z0-9_-]{0,63}$`)

// plain returns a folder name for a text. Different texts get different names.
func plain(text string) string {
	if plainName.MatchString(text) && !strings.HasPrefix(text, "x-") && !deviceName(text) {
		return text
	}
	sum := sha256.Sum256([]byte(text))
	return "x-" + hex.EncodeToString(sum[:20])
}

// Stage writes a file for a job and returns its size. The file is durable once Seal has returned. After an error
// nothing of it is left.
func (s *Store) Stage(ctx context.Context, job, name string, r io.Reader) (size int64, err error) {
	if err := check(name); err != nil {
		return 0, err
	}
	if size, err = s.files.Write(ctx, stagedName(job, name), r, time.Time{}); err != nil {
		return size, fmt.Errorf("write an uploaded file: %w", err)
	}
	return size, nil
}

// Seal makes the staged files of a job durable.
func (s *Store) Seal(job string) error {
	if err := s.files.Sync(stagedFolder(job), staged, Top); err != nil {
		return fmt.Errorf("sync the folder of an upload: %w", err)
	}
	return nil
}

// Discard removes the staged files of a job.
func (s *Store) Discard(job string) error {
	if err := s.files.RemoveAll(stagedFolder(job)); err != nil {
		return fmt.Errorf("remove an upload: %w", err)
	}
	return nil
}

// Staged returns the path on this machine of a staged file of a job.
func (s *Store) Staged(ctx context.Context, job, name string) (string, error) {
	dir, err := s.files.Local(ctx, stagedFolder(job))
	if err != nil {
		return "", fmt.Errorf("open the folder of an upload: %w", err)
	}
	return filepath.Join(dir, name), nil
}

// Publish moves a staged file and its sidecar into the scope's folder, and reports whether the file is
// there now: it may have been published before, or removed. The file that it replaces is kept for
// Withdraw until Accept.
func (s *Store) Publish(at Scope, job, name string) (bool, error) {
	if err := check(name); err != nil {
		return false, err
	}
	file := path.Join(Folder(at), name)
	if _, err := s.files.Stat(stagedName(job, name)); err != nil {
		if err := durable.IgnoreMissing(err); err != nil {
			return false, fmt.Errorf("publish an uploaded file: %w", err)
		}
		_, err := s.files.Stat(file)
		return err == nil, durable.IgnoreMissing(err)
	}
	err := s.keepReplaced(file, job, name)
	if err != nil {
		return false, fmt.Errorf("keep the file that an upload replaces: %w", err)
	}
	// The sidecar comes first: without it the file might be read differently.
	err = s.files.Rename(stagedName(job, name+aboutSuffix), file+aboutSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		err = durable.IgnoreMissing(s.files.Remove(file + aboutSuffix))
	}
	if err == nil {
		err = s.files.Rename(stagedName(job, name), file)
	}
	if err == nil {
		err = s.files.Sync(Folder(at))
	}
	s.files.Tidy(stagedFolder(job))
	if err != nil {
		return false, fmt.Errorf("publish an uploaded file: %w", err)
	}
	return true, nil
}

// replacedFolder returns the folder of the files that a job's files have replaced. No staged file has its
// name.
func replacedFolder(job string) string { return path.Join(stagedFolder(job), ".replaced") }

// keepReplaced gives a published file and its sidecar second names until Accept.
func (s *Store) keepReplaced(file, job, name string) error {
	if _, err := s.files.Stat(file); err != nil {
		return durable.IgnoreMissing(err)
	}
	for _, suffix := range []string{aboutSuffix, ""} {
		err := s.files.Link(file+suffix, path.Join(replacedFolder(job), name+suffix))
		switch {
		case errors.Is(err, fs.ErrExist), errors.Is(err, fs.ErrNotExist): // kept before a crash; or there is no sidecar
		case errors.Is(err, errors.ErrUnsupported):
			if suffix == "" {
				return s.files.RemoveAll(replacedFolder(job))
			}
		case err != nil:
			return err
		}
	}
	return nil
}

// Accept deletes the files that a job's published files have replaced. Withdraw can no longer restore
// them.
func (s *Store) Accept(job string) error {
	err := s.files.RemoveAll(replacedFolder(job))
	s.files.Tidy(stagedFolder(job))
	if err != nil {
		return fmt.Errorf("remove files that an upload has replaced: %w", err)
	}
	return nil
}

// Withdraw moves a published file back to the staged files of a job, and restores the file that it replaced.
func (s *Store) Withdraw(at Scope, job, name string) error {
	if err := check(name); err != nil {
		return err
	}
	file := path.Join(Folder(at), name)
	err := durable.IgnoreMissing(s.files.Rename(file, stagedName(job, name)))
	if err == nil {
		err = durable.IgnoreMissing(s.files.Rename(file+aboutSuffix, stagedName(job, name+aboutSuffix)))
	}
	for _, suffix := range []string{aboutSuffix, ""} {
		if err == nil {
			err = durable.IgnoreMissing(s.files.Rename(path.Join(replacedFolder(job), name+suffix), file+suffix))
		}
	}
	if err != nil {
		return fmt.Errorf("take back an uploaded file: %w", err)
	}
	return nil
}

// aboutSuffix is the suffix of a sidecar; package ingest reads it.
const aboutSuffix = ".parley.yaml"

// Describe stages a sidecar for a staged file.
func (s *Store) Describe(job, name string, yaml []byte) error {
	if err := check(name); err != nil {
		return err
	}
	about := stagedName(job, name+aboutSuffix)
	err := durable.IgnoreMissing(s.files.Remove(about))
	if err == nil {
		_, err = s.files.Write(context.Background(), about, bytes.NewReader(yaml), time.Time{})
	}
	if err != nil {
		return fmt.Errorf("write about an uploaded file: %w", err)
	}
	return nil
}

// List returns the names of the scope's published files, sorted.
func (s *Store) List(at Scope) ([]string, error) {
	files, err := s.files.List(Folder(at))
	if err != nil {
		return nil, fmt.Errorf("list the uploaded files: %w", err)
	}
	names := []string{}
	for _, f := range files {
		if check(f.Name) == nil {
			names = append(names, f.Name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// Remove removes a published file, and reports whether there was one.
func (s *Store) Remove(at Scope, name string) (bool, error) {
	if !valid(name) {
		return false, nil
	}
	return s.removeFile(Folder(at), name)
}

// Unstage removes a staged file of a job, and reports whether there was one.
func (s *Store) Unstage(job, name string) (bool, error) {
	if !valid(name) {
		return false, nil
	}
	if _, err := s.removeFile(replacedFolder(job), name); err != nil {
		return false, err
	}
	return s.removeFile(stagedFolder(job), name)
}

func (s *Store) removeFile(folder, name string) (bool, error) {
	file := path.Join(folder, name)
	err := s.files.Remove(file)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err == nil {
		err = durable.IgnoreMissing(s.files.Remove(file + aboutSuffix))
	}
	if err == nil {
		err = s.files.Sync(folder)
	}
	if err != nil {
		return false, fmt.Errorf("remove an uploaded file: %w", err)
	}
	return true, nil
}

// Sweep removes the staged files of all jobs except those to keep. It skips a job with a file that was
// written after since: that may be an upload in progress, here or in another process.
func (s *Store) Sweep(keep []string, since time.Time) error {
	jobs, err := s.files.Folders(staged)
	if err != nil {
		return fmt.Errorf("list the staged uploads: %w", err)
	}
	wanted := map[string]bool{}
	for _, job := range keep {
		wanted[stagedFolder(job)] = true
	}
	failed := s.sweepKept(since)
	for _, job := range jobs {
		if folder := path.Join(staged, job.Name); !wanted[folder] && job.Modified.Before(since) {
			failed = errors.Join(failed, s.files.RemoveAll(folder))
		}
	}
	return failed
}

// Rename renames a staged file.
func (s *Store) Rename(job, from, to string) error {
	if err := errors.Join(check(from), check(to)); err != nil {
		return err
	}
	if err := s.files.Rename(stagedName(job, from), stagedName(job, to)); err != nil {
		return fmt.Errorf("rename an uploaded file: %w", err)
	}
	return nil
}

// foldersOf returns the folders of the published and kept files of an owner, in all namespaces. Some may not exist.
func (s *Store) foldersOf(owner string) ([]string, error) {
	folders := []string{keptFolder(owner)}
	namespaces, err := s.files.Folders(published)
	for _, namespace := range namespaces {
		folders = append(folders, path.Join(published, namespace.Name, ownerFolder(owner)))
	}
	return folders, err
}

// RemoveOwner removes all published and kept files of an owner, in all namespaces.
func (s *Store) RemoveOwner(owner string) error {
	folders, err := s.foldersOf(owner)
	for _, folder := range folders {
		err = errors.Join(err, s.files.RemoveAll(folder))
	}
	if err != nil {
		return fmt.Errorf("remove the files of a user: %w", err)
	}
	return nil
}

// EachFile calls visit with all published and kept files of an owner, and returns its first error. A kept file has its id as
// its name. A file that is deleted meanwhile is left out.
func (s *Store) EachFile(owner string, visit func(name string, r io.ReadSeeker) error) error {
	folders, err := s.foldersOf(owner)
	if err != nil {
		return err
	}
	for _, folder := range folders {
		files, err := s.files.List(folder)
		if err != nil {
			return err
		}
		for _, f := range files {
			if strings.HasSuffix(f.Name, partSuffix) {
				continue
			}
			r, err := s.files.Open(path.Join(folder, f.Name))
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return err
			}
			if err := errors.Join(visit(f.Name, r), r.Close()); err != nil {
				return err
			}
		}
	}
	return nil
}
