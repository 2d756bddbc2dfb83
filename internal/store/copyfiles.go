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
	"path"
	"slices"

	"parley/internal/documents/upload"
	"parley/internal/durable"
	"parley/internal/interrupt"
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
	_, err := io.Copy(hash, interrupt.Reader(ctx, r))
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

// copyUploads copies the uploaded files of one database to another, and then compares them.
func copyUploads(ctx context.Context, to, from upload.Files) error {
	want, err := uploadSums(ctx, from)
	if err != nil {
		return err
	}
	folders := map[string]bool{upload.Top: true}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if err := copyUpload(ctx, to, from, name, want[name]); err != nil {
			return err
		}
		for folder := path.Dir(name); folder != upload.Top; folder = path.Dir(folder) {
			folders[folder] = true
		}
	}
	if len(want) > 0 {
		if err := to.Sync(slices.Sorted(maps.Keys(folders))...); err != nil {
			return err
		}
	}
	got, err := uploadSums(ctx, to)
	if err != nil {
		return err
	}
	if !maps.Equal(want, got) {
		return changedError("uploaded files", len(got), len(want))
	}
	return nil
}

// copyUpload copies a file with its time, unless the target has the same bytes.
func copyUpload(ctx context.Context, to, from upload.Files, name, sum string) error {
	have, err := uploadSum(ctx, to, name)
	if err == nil && have == sum {
		return nil
	}
	if err == nil { // an interrupted copy wrote a part of it
		err = to.Remove(name)
	}
	if err = durable.IgnoreMissing(err); err != nil {
		return err
	}
	st, err := from.Stat(name)
	if err != nil {
		return err
	}
	f, err := from.Open(name)
	if err != nil {
		return err
	}
	_, err = to.Write(ctx, name, f, st.Modified)
	return errors.Join(err, f.Close())
}

// uploadSums returns the checksums of all uploaded files by their names.
func uploadSums(ctx context.Context, files upload.Files) (map[string]string, error) {
	all := map[string]string{}
	err := eachUpload(files, upload.Top, func(name string) (err error) {
		all[name], err = uploadSum(ctx, files, name)
		return err
	})
	return all, err
}

func uploadSum(ctx context.Context, files upload.Files, name string) (string, error) {
	f, err := files.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	return sumOf(ctx, f)
}

// eachUpload calls visit with the names of all files below a folder.
func eachUpload(files upload.Files, folder string, visit func(name string) error) error {
	in, err := files.List(folder)
	if err != nil {
		return err
	}
	for _, f := range in {
		if err := visit(path.Join(folder, f.Name)); err != nil {
			return err
		}
	}
	folders, err := files.Folders(folder)
	if err != nil {
		return err
	}
	for _, f := range folders {
		if err := eachUpload(files, path.Join(folder, f.Name), visit); err != nil {
			return err
		}
	}
	return nil
}

func countUploads(files upload.Files) (n int, err error) {
	err = eachUpload(files, upload.Top, func(string) error { n++; return nil })
	return n, err
}
