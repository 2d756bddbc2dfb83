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
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Store keeps files below a folder. It is safe for concurrent use.
type Store struct{ dir string }

// New returns a store below dir, which is created with the first file.
func New(dir string) *Store { return &Store{dir: dir} }

// Scope names a folder of uploads.
type Scope struct {
	Namespace string
	Owner     string // "" for files that everybody shares
}

// Dir returns the folder below which all files lie.
func (s *Store) Dir() string { return s.dir }

// Folder returns the folder of the published files of a scope, which may not exist yet.
func (s *Store) Folder(at Scope) string {
	return filepath.Join(s.dir, "files", plain(at.Namespace), ownerFolder(at.Owner))
}

func ownerFolder(owner string) string {
	if owner == "" {
		return "shared"
	}
	return "user-" + plain(owner)
}

// staged returns the folder of a job.
func (s *Store) staged(job string) string {
	return filepath.Join(s.dir, "staged", plain(strings.ToLower(job)))
}

// plainName matches folder names that work unchanged on every system.
var plainName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}$`)

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
	dir := s.staged(job)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return 0, fmt.Errorf("make the folder of an upload: %w", err)
	}
	path := filepath.Join(dir, name)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return 0, fmt.Errorf("write an uploaded file: %w", err)
	}
	size, err = io.Copy(f, &contextReader{ctx, r})
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return size, errors.Join(fmt.Errorf("write an uploaded file: %w", err), os.Remove(path))
	}
	return size, nil
}

// Seal makes the staged files of a job durable.
func (s *Store) Seal(job string) error {
	for _, dir := range []string{s.staged(job), filepath.Join(s.dir, "staged"), s.dir, filepath.Dir(s.dir)} {
		if err := syncDir(dir); err != nil {
			return fmt.Errorf("sync the folder of an upload: %w", err)
		}
	}
	return nil
}

// Discard removes the staged files of a job.
func (s *Store) Discard(job string) error {
	if err := os.RemoveAll(s.staged(job)); err != nil {
		return fmt.Errorf("remove an upload: %w", err)
	}
	return nil
}

// Staged returns the path of a staged file of a job.
func (s *Store) Staged(job, name string) string { return filepath.Join(s.staged(job), name) }

// Publish moves a staged file and its sidecar into the scope's folder, and reports whether the file is
// there now: it may have been published before, or removed. The file that it replaces is kept for
// Withdraw until Accept.
func (s *Store) Publish(at Scope, job, name string) (bool, error) {
	if err := check(name); err != nil {
		return false, err
	}
	dir := s.Folder(at)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return false, fmt.Errorf("make the folder of uploads: %w", err)
	}
	path := filepath.Join(dir, name)
	if _, err := os.Lstat(s.Staged(job, name)); err != nil {
		_, err := os.Lstat(path)
		return err == nil, ignoreMissing(err)
	}
	err := s.keepReplaced(path, job, name)
	if err != nil {
		return false, fmt.Errorf("keep the file that an upload replaces: %w", err)
	}
	// The sidecar comes first: without it the file might be read differently.
	err = os.Rename(s.Staged(job, name+aboutSuffix), path+aboutSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		err = ignoreMissing(os.Remove(path + aboutSuffix))
	}
	if err == nil {
		err = os.Rename(s.Staged(job, name), path)
	}
	if err == nil {
		err = syncDir(dir)
	}
	_ = os.Remove(s.staged(job)) // fails while the folder contains other files
	if err != nil {
		return false, fmt.Errorf("publish an uploaded file: %w", err)
	}
	return true, nil
}

// replaced returns the folder of the files that a job's files have replaced. No staged file has its
// name.
func (s *Store) replaced(job string) string { return filepath.Join(s.staged(job), ".replaced") }

// keepReplaced links a published file and its sidecar into a second folder until Accept.
func (s *Store) keepReplaced(path, job, name string) error {
	if _, err := os.Lstat(path); err != nil {
		return ignoreMissing(err)
	}
	if err := os.MkdirAll(s.replaced(job), 0o700); err != nil {
		return err
	}
	for _, suffix := range []string{aboutSuffix, ""} {
		err := os.Link(path+suffix, filepath.Join(s.replaced(job), name+suffix))
		switch {
		case errors.Is(err, fs.ErrExist), errors.Is(err, fs.ErrNotExist): // kept before a crash; or there is no sidecar
		case errors.Is(err, errors.ErrUnsupported), errors.Is(err, fs.ErrPermission): // the file system has no links
			if suffix == "" {
				return os.RemoveAll(s.replaced(job))
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
	err := os.RemoveAll(s.replaced(job))
	_ = os.Remove(s.staged(job)) // fails while the folder contains files to retry
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
	if err := os.MkdirAll(s.staged(job), 0o700); err != nil {
		return fmt.Errorf("make the folder of an upload: %w", err)
	}
	path := filepath.Join(s.Folder(at), name)
	err := ignoreMissing(os.Rename(path, s.Staged(job, name)))
	if err == nil {
		err = ignoreMissing(os.Rename(path+aboutSuffix, s.Staged(job, name+aboutSuffix)))
	}
	for _, suffix := range []string{aboutSuffix, ""} {
		if err == nil {
			err = ignoreMissing(os.Rename(filepath.Join(s.replaced(job), name+suffix), path+suffix))
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
	if err := os.WriteFile(s.Staged(job, name+aboutSuffix), yaml, 0o600); err != nil {
		return fmt.Errorf("write about an uploaded file: %w", err)
	}
	return nil
}

// List returns the names of the scope's published files, sorted.
func (s *Store) List(at Scope) ([]string, error) {
	entries, err := os.ReadDir(s.Folder(at))
	if err := ignoreMissing(err); err != nil {
		return nil, fmt.Errorf("list the uploaded files: %w", err)
	}
	names := []string{}
	for _, e := range entries {
		if e.Type().IsRegular() && check(e.Name()) == nil {
			names = append(names, e.Name())
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
	return removeFile(filepath.Join(s.Folder(at), name))
}

// Unstage removes a staged file of a job, and reports whether there was one.
func (s *Store) Unstage(job, name string) (bool, error) {
	if !valid(name) {
		return false, nil
	}
	if _, err := removeFile(filepath.Join(s.replaced(job), name)); err != nil {
		return false, err
	}
	return removeFile(s.Staged(job, name))
}

func removeFile(path string) (bool, error) {
	err := os.Remove(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err == nil {
		err = ignoreMissing(os.Remove(path + aboutSuffix))
	}
	if err == nil {
		err = syncDir(filepath.Dir(path))
	}
	if err != nil {
		return false, fmt.Errorf("remove an uploaded file: %w", err)
	}
	return true, nil
}

// Sweep removes the staged files of all jobs except those to keep. It skips a job with a file that was
// written after since: that may be an upload in progress, here or in another process.
func (s *Store) Sweep(keep []string, since time.Time) error {
	dir := filepath.Join(s.dir, "staged")
	entries, err := os.ReadDir(dir)
	if err := ignoreMissing(err); err != nil {
		return fmt.Errorf("list the staged uploads: %w", err)
	}
	kept := map[string]bool{}
	for _, job := range keep {
		kept[s.staged(job)] = true
	}
	failed := s.sweepKept(since)
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		st, err := e.Info()
		if kept[path] || err != nil || st.ModTime().After(since) {
			continue
		}
		failed = errors.Join(failed, os.RemoveAll(path))
	}
	return failed
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// contextReader ends a copy when its context does.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (c *contextReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}

// Make creates the folder of a scope if it does not exist.
func (s *Store) Make(at Scope) error {
	if err := os.MkdirAll(s.Folder(at), 0o700); err != nil {
		return fmt.Errorf("make the folder of uploads: %w", err)
	}
	return nil
}

// Rename renames a staged file.
func (s *Store) Rename(job, from, to string) error {
	if err := errors.Join(check(from), check(to)); err != nil {
		return err
	}
	if err := os.Rename(s.Staged(job, from), s.Staged(job, to)); err != nil {
		return fmt.Errorf("rename an uploaded file: %w", err)
	}
	return nil
}
