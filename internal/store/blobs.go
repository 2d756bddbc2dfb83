package store

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"parley/internal/durable"
	"parley/internal/interrupt"
)

// Blobs keeps the originals of documents as files named by the SHA-256 of their bytes. A blob never
// changes; storing the same bytes again keeps one file. Several goroutines and processes may use it
// at once.
type Blobs struct {
	root   *os.Root     // all access goes through it, so that no key or symbolic link leads outside
	shared *sharedBlobs // keeps the blobs; the folder is a cache. Nil: the folder keeps them
}

const (
	tempPrefix  = "tmp-"   // a file that is being written
	sweepSuffix = ".sweep" // a blob that Sweep is about to remove
)

// openBlobs opens the folder at dir, and creates it if it is missing.
func openBlobs(dir string) (*Blobs, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, &FolderError{Path: dir, Err: err}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, &FolderError{Path: dir, Err: err}
	}
	return &Blobs{root: root}, nil
}

func (b *Blobs) close() error { return b.root.Close() }

// blobPath returns the path of a blob. A key that is not 64 lower-case hexadecimal digits is
// reported as not found.
func blobPath(sha string) (string, error) {
	if len(sha) != 2*sha256.Size || strings.Trim(sha, "0123456789abcdef") != "" {
		return "", fs.ErrNotExist
	}
	return sha[:2] + "/" + sha, nil
}

// Put stores the bytes of r and returns their SHA-256 in lower-case hex and their number. When it
// returns, the blob is durable.
func (b *Blobs) Put(ctx context.Context, r io.Reader) (sha string, size int64, err error) {
	temp := newTemp()
	defer b.root.Remove(temp) //nolint:errcheck // after success it is gone already; otherwise Sweep removes it
	sha, size, err = b.write(ctx, temp, r)
	if err != nil {
		return "", 0, fmt.Errorf("write blob: %w", err)
	}
	name, err := blobPath(sha)
	if err != nil {
		return "", 0, err
	}
	if b.shared != nil {
		if err := b.share(ctx, temp, sha, size); err != nil {
			return "", 0, fmt.Errorf("store blob %s: %w", sha, err)
		}
	}
	if b.touch(name, size) {
		// The process that stored it first may have died before this step.
		err = durable.Folder(b.root.Open(path.Dir(name)))
	} else {
		err = b.publish(temp, name)
	}
	if err != nil {
		return "", 0, fmt.Errorf("store blob %s: %w", sha, err)
	}
	return sha, size, nil
}

func newTemp() string { return tempPrefix + rand.Text() }

// share stores the bytes of a file as a blob in the database.
func (b *Blobs) share(ctx context.Context, name, sha string, size int64) error {
	f, err := b.root.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(b.shared.db.fail("store the original", b.shared.put(ctx, sha, size, f)), f.Close())
}

func (b *Blobs) write(ctx context.Context, name string, r io.Reader) (sha string, size int64, err error) {
	f, err := b.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", 0, err
	}
	hash := sha256.New()
	size, err = io.Copy(io.MultiWriter(f, hash), interrupt.Reader(ctx, r))
	return hex.EncodeToString(hash.Sum(nil)), size, durable.Close(f, err)
}

// touch renews the age of an existing blob, so that Sweep spares it. It reports whether there is a
// blob of that size.
func (b *Blobs) touch(name string, size int64) bool {
	st, err := b.root.Stat(name)
	if err != nil || st.Size() != size {
		return false
	}
	now := time.Now()
	if b.root.Chtimes(name, now, now) != nil {
		return false
	}
	_, err = b.root.Stat(name) // a Sweep may have checked the age before, and renamed it
	return err == nil
}

// publish renames a synced file to its final name, durably.
func (b *Blobs) publish(temp, name string) error {
	dir := path.Dir(name)
	err := b.root.Mkdir(dir, 0o700)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	made := err == nil
	if err := b.root.Rename(temp, name); err != nil {
		return err
	}
	if err := durable.Folder(b.root.Open(dir)); err != nil || !made {
		return err
	}
	return durable.Folder(b.root.Open("."))
}

// Open returns the blob with that SHA-256, or fs.ErrNotExist. The caller closes the file.
func (b *Blobs) Open(sha string) (*os.File, error) {
	name, err := blobPath(sha)
	if err != nil {
		return nil, err
	}
	f, err := b.root.Open(name)
	if errors.Is(err, fs.ErrNotExist) && b.shared != nil {
		if err = b.fetch(sha, name); err == nil {
			f, err = b.root.Open(name)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("open blob: %w", err)
	}
	return f, nil
}

// Sweep removes the blobs that are older than minAge and for which keep returns false, and files
// that dead processes left half written. It returns how many blobs it removed. The age protects a
// blob between its Put and the commit of its document.
func (b *Blobs) Sweep(ctx context.Context, minAge time.Duration, keep func(sha string) bool) (int, error) {
	removed := 0
	oldest := time.Now().Add(-minAge)
	err := fs.WalkDir(b.root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return durable.IgnoreMissing(err)
		}
		if err := ctx.Err(); err != nil || d.IsDir() {
			return err
		}
		gone, err := b.sweepFile(name, oldest, keep)
		if gone {
			removed++
		}
		return err
	})
	if err != nil {
		return removed, fmt.Errorf("sweep blobs: %w", err)
	}
	return removed, nil
}

// sweepFile removes one file if it may go, and reports whether it was a blob. Another process may
// put the same bytes at this moment. Therefore sweepFile first renames the file, so that a Put
// writes its own, and renames it back if its age was renewed in the meantime.
func (b *Blobs) sweepFile(name string, oldest time.Time, keep func(sha string) bool) (bool, error) {
	base := path.Base(name)
	if whole, ok := strings.CutSuffix(name, sweepSuffix); ok {
		return false, durable.IgnoreMissing(b.root.Rename(name, whole)) // an earlier sweep died here
	}
	if !b.olderThan(name, oldest) {
		return false, nil
	}
	if strings.HasPrefix(base, tempPrefix) {
		return false, durable.IgnoreMissing(b.root.Remove(name))
	}
	if want, err := blobPath(base); err != nil || want != name || keep(base) {
		return false, nil //nolint:nilerr // other files are not ours to remove
	}
	aside := name + sweepSuffix
	if err := b.root.Rename(name, aside); err != nil {
		return false, durable.IgnoreMissing(err)
	}
	if !b.olderThan(aside, oldest) || keep(base) {
		return false, durable.IgnoreMissing(b.root.Rename(aside, name))
	}
	return true, durable.IgnoreMissing(b.root.Remove(aside))
}

func (b *Blobs) olderThan(name string, t time.Time) bool {
	st, err := b.root.Stat(name)
	return err == nil && st.ModTime().Before(t)
}
