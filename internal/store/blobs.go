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
)

// Blobs keeps the originals of documents as files named by the SHA-256 of their bytes. A blob is
// never changed; putting the same bytes again costs one write and keeps one file. Its methods may
// be called concurrently, by several processes too.
type Blobs struct {
	root *os.Root // every access goes through it, so no key and no symbolic link leads out
}

const (
	tempPrefix  = "tmp-"   // of files that are being written
	sweepSuffix = ".sweep" // of blobs that Sweep is about to remove
)

// openBlobs opens the folder at dir and makes it if need be.
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

// blobPath returns where a blob lies. A key that is not 64 lower-case hexadecimal digits is not
// found.
func blobPath(sha string) (string, error) {
	if len(sha) != 2*sha256.Size || strings.Trim(sha, "0123456789abcdef") != "" {
		return "", fs.ErrNotExist
	}
	return sha[:2] + "/" + sha, nil
}

// Put stores what r gives and returns its SHA-256 in lower-case hex and its size in bytes. When
// it returns, the blob is durable.
func (b *Blobs) Put(ctx context.Context, r io.Reader) (sha string, size int64, err error) {
	temp := tempPrefix + rand.Text()
	defer b.root.Remove(temp) //nolint:errcheck // it is gone when all went well, and swept otherwise
	sha, size, err = b.write(ctx, temp, r)
	if err != nil {
		return "", 0, fmt.Errorf("write blob: %w", err)
	}
	name, err := blobPath(sha)
	if err != nil {
		return "", 0, err
	}
	if b.touch(name, size) {
		// Whoever put it first may not have come as far as this.
		err = syncDir(b.root, path.Dir(name))
	} else {
		err = b.publish(temp, name)
	}
	if err != nil {
		return "", 0, fmt.Errorf("store blob %s: %w", sha, err)
	}
	return sha, size, nil
}

// write copies r to a new file and syncs it.
func (b *Blobs) write(ctx context.Context, name string, r io.Reader) (sha string, size int64, err error) {
	f, err := b.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", 0, err
	}
	hash := sha256.New()
	size, err = io.Copy(io.MultiWriter(f, hash), &contextReader{ctx, r})
	if err == nil {
		err = f.Sync()
	}
	return hex.EncodeToString(hash.Sum(nil)), size, errors.Join(err, f.Close())
}

// touch makes an existing blob young again, so that a Sweep spares it, and reports whether there
// is one of that size.
func (b *Blobs) touch(name string, size int64) bool {
	st, err := b.root.Stat(name)
	if err != nil || st.Size() != size {
		return false
	}
	now := time.Now()
	if b.root.Chtimes(name, now, now) != nil {
		return false
	}
	_, err = b.root.Stat(name) // a Sweep may have taken it aside, and looked at its age, just before that
	return err == nil
}

// publish gives a synced file its name, durably.
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
	if err := syncDir(b.root, dir); err != nil || !made {
		return err
	}
	return syncDir(b.root, ".")
}

// Open returns the blob with that SHA-256. The error is fs.ErrNotExist when there is none. The
// caller closes the file.
func (b *Blobs) Open(sha string) (*os.File, error) {
	name, err := blobPath(sha)
	if err != nil {
		return nil, err
	}
	f, err := b.root.Open(name)
	if err != nil {
		return nil, fmt.Errorf("open blob: %w", err)
	}
	return f, nil
}

// Sweep removes the blobs for which keep says no and that nobody has put for minAge, and what
// dead processes left half written. It returns how many blobs it removed. The age is what
// protects a blob between its Put and the commit of its document.
func (b *Blobs) Sweep(ctx context.Context, minAge time.Duration, keep func(sha string) bool) (int, error) {
	removed := 0
	oldest := time.Now().Add(-minAge)
	err := fs.WalkDir(b.root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return ignoreMissing(err)
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

// sweepFile removes one file if it may go, and reports whether that was a blob. Somebody may put
// the same bytes at this very moment: so the file is first taken away from Put, which then writes
// its own, and given back if it was made young in the meantime.
func (b *Blobs) sweepFile(name string, oldest time.Time, keep func(sha string) bool) (bool, error) {
	base := path.Base(name)
	if whole, ok := strings.CutSuffix(name, sweepSuffix); ok {
		return false, ignoreMissing(b.root.Rename(name, whole)) // a sweep died here
	}
	if !b.olderThan(name, oldest) {
		return false, nil
	}
	if strings.HasPrefix(base, tempPrefix) {
		return false, ignoreMissing(b.root.Remove(name))
	}
	if want, err := blobPath(base); err != nil || want != name || keep(base) {
		return false, nil //nolint:nilerr // a file that is no blob is not ours to remove
	}
	aside := name + sweepSuffix
	if err := b.root.Rename(name, aside); err != nil {
		return false, ignoreMissing(err)
	}
	if !b.olderThan(aside, oldest) || keep(base) {
		return false, ignoreMissing(b.root.Rename(aside, name))
	}
	return true, ignoreMissing(b.root.Remove(aside))
}

func (b *Blobs) olderThan(name string, t time.Time) bool {
	st, err := b.root.Stat(name)
	return err == nil && st.ModTime().Before(t)
}

// ignoreMissing forgives an error that says that a file is gone already.
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
