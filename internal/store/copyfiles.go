package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
)

// copyAll stores all blobs of another store, and then reads them back.
func (b *Blobs) copyAll(ctx context.Context, from *Blobs, report func(Copied)) error {
	all, err := from.names(ctx)
	if err != nil {
		return err
	}
	for _, sha := range all {
		f, err := from.Open(sha)
		if err != nil {
			return err
		}
		got, _, err := b.Put(ctx, f)
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
		if got != sha {
			return fmt.Errorf("the original %s is damaged in the source, so it was not copied: restore it from a backup, "+
				"or delete it and ingest its document again", sha)
		}
		if err := b.verify(ctx, sha); err != nil {
			return fmt.Errorf("the original %s in the copy: %w", sha, err)
		}
	}
	there, err := b.names(ctx)
	if err != nil {
		return err
	}
	if !slices.Equal(there, all) {
		return changedError("originals", len(there), len(all))
	}
	report(Copied{"originals", len(all)})
	return nil
}

// verify reads a blob from where it is kept, and returns an error unless it has the bytes that its
// name says.
func (b *Blobs) verify(ctx context.Context, sha string) error {
	if b.shared != nil {
		return b.shared.copyTo(ctx, sha, io.Discard)
	}
	f, err := b.Open(sha)
	if err != nil {
		return err
	}
	defer f.Close()
	sum, err := sumOf(ctx, f)
	if err == nil && sum != sha {
		err = errBlob
	}
	return err
}

func sumOf(ctx context.Context, r io.Reader) (string, error) {
	hash := sha256.New()
	_, err := io.Copy(hash, &contextReader{ctx, r})
	return hex.EncodeToString(hash.Sum(nil)), err
}

// names returns the names of all blobs.
func (b *Blobs) names(ctx context.Context) (all []string, err error) {
	if b.shared != nil {
		return column[string](b.shared.db.read.QueryContext(ctx, "SELECT sha256 FROM blobs ORDER BY sha256"))
	}
	err = fs.WalkDir(b.root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return errors.Join(err, ctx.Err())
		}
		if sha := path.Base(name); sha != "" {
			if want, err := blobPath(sha); err == nil && want == name {
				all = append(all, sha)
			}
		}
		return nil
	})
	slices.Sort(all)
	return all, err
}

// UploadsDir is the folder of uploaded files in DB.Folder.
const UploadsDir = "uploads"

// copyUploads copies the uploaded files from the folder of one database to that of another, and then
// compares them.
func copyUploads(ctx context.Context, to, from string, report func(Copied)) error {
	want, err := listUploads(ctx, from)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(to)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if err := copyFile(ctx, root, path.Join(UploadsDir, filepath.ToSlash(name)), filepath.Join(from, UploadsDir, name)); err != nil {
			return err
		}
	}
	if err := syncFolders(root, UploadsDir); err != nil {
		return err
	}
	got, err := listUploads(ctx, to)
	if err != nil {
		return err
	}
	if !maps.Equal(want, got) {
		return changedError("uploaded files", len(got), len(want))
	}
	report(Copied{"uploaded files", len(want)})
	return nil
}

// listUploads returns the checksums of the uploaded files in the folder of a database, by their paths.
func listUploads(ctx context.Context, folder string) (map[string]string, error) {
	top := filepath.Join(folder, UploadsDir)
	all := map[string]string{}
	err := filepath.WalkDir(top, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return ignoreMissing(err) // there have been no uploads
		}
		if !d.Type().IsRegular() {
			return ctx.Err()
		}
		rel, err := filepath.Rel(top, name)
		if err != nil {
			return err
		}
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		all[rel], err = sumOf(ctx, f)
		return err
	})
	return all, err
}

// copyTemp is the file in the folder of a database that copyFile is writing.
const copyTemp = "migrate-file"

// copyFile copies a file with its time. The target is whole or as it was.
func copyFile(ctx context.Context, root *os.Root, to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := root.OpenFile(copyTemp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, &contextReader{ctx, in})
	if err == nil {
		err = out.Sync()
	}
	if err = errors.Join(err, out.Close()); err != nil {
		return err
	}
	if err := root.Chtimes(copyTemp, info.ModTime(), info.ModTime()); err != nil {
		return err
	}
	if err := root.MkdirAll(path.Dir(to), 0o700); err != nil {
		return err
	}
	return root.Rename(copyTemp, to)
}

// syncFolders makes the names of all files below a folder durable.
func syncFolders(root *os.Root, name string) error {
	err := fs.WalkDir(root.FS(), name, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return ignoreMissing(err)
		}
		return syncDir(root, name)
	})
	return errors.Join(err, syncDir(root, "."))
}
