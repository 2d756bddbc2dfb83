package backup

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zstd"

	"parley/internal/durable"
	"parley/internal/store"
)

// Folders in a data folder during a restore.
const (
	unpackedDir = "restore-unfinished" // the content that is being unpacked and verified
	replacedDir = "restore-replaced"   // the previous content
)

// Check verifies the checksum of a backup, and returns its description.
func Check(ctx context.Context, file string, progress Progress) (About, error) {
	f, err := os.Open(file)
	if err != nil {
		return About{}, fmt.Errorf("open the backup: %w", err)
	}
	defer f.Close()
	packed, err := check(ctx, f, progress)
	if err != nil {
		return About{}, err
	}
	var about About
	err = unpack(packed, func(h *tar.Header, r io.Reader) error {
		if about, err = readAbout(h, r); err != nil {
			return err
		}
		return errEnough
	})
	if err != nil && !errors.Is(err, errEnough) {
		return About{}, &DamagedError{file, err}
	}
	return about, nil
}

var errEnough = errors.New("nothing more is needed")

// NewerError says that a newer version of Parley wrote a backup.
type NewerError struct{ By string }

func (e *NewerError) Error() string {
	return fmt.Sprintf("it was written by Parley %s: restore it with that version or a newer one", e.By)
}

func readAbout(h *tar.Header, r io.Reader) (about About, err error) {
	const most = 1 << 20 // bytes
	if h.Name != aboutName {
		return about, fmt.Errorf("it begins with %q", h.Name)
	}
	if err := json.NewDecoder(io.LimitReader(r, most)).Decode(&about); err != nil {
		return about, fmt.Errorf("read %s: %w", aboutName, err)
	}
	if about.Format > formatVersion {
		return about, &NewerError{about.Version}
	}
	return about, nil
}

// unpack calls f with each file of an archive.
func unpack(packed io.Reader, f func(*tar.Header, io.Reader) error) error {
	const window = 64 << 20 // bytes of memory; Write needs 8 MiB
	unpacked, err := zstd.NewReader(packed, zstd.WithDecoderMaxWindow(window))
	if err != nil {
		return err
	}
	defer unpacked.Close()
	files := tar.NewReader(unpacked)
	for {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if h.Typeflag != tar.TypeReg || !filepath.IsLocal(filepath.FromSlash(h.Name)) || h.Name != path.Clean(h.Name) {
			return fmt.Errorf("it holds %q, which belongs to no backup", h.Name)
		}
		if err := f(h, files); err != nil {
			return err
		}
	}
}

// Restore replaces the contents of the data folder dir by a backup. The caller holds the locks of the
// folder. Until everything is unpacked and verified, nothing is replaced.
func Restore(ctx context.Context, file, dir string, log *slog.Logger, progress Progress) error {
	f, err := os.Open(file)
	if err != nil {
		return fmt.Errorf("open the backup: %w", err)
	}
	defer f.Close()
	packed, err := check(ctx, f, nil)
	if err != nil {
		return err
	}
	unpacked := filepath.Join(dir, unpackedDir)
	// An interrupted restore may have left these.
	if err := errors.Join(os.RemoveAll(unpacked), os.RemoveAll(filepath.Join(dir, replacedDir))); err != nil {
		return fmt.Errorf("restore the backup: %w", err)
	}
	defer os.RemoveAll(unpacked)
	if err := extract(&watched{ctx: ctx, r: packed, total: packed.Size(), progress: progress}, unpacked); err != nil {
		return fmt.Errorf("unpack the backup: %w", err)
	}
	if err := verify(ctx, unpacked, log); err != nil {
		if damaged, ok := errors.AsType[*store.DamagedError](err); ok {
			return &DamagedError{file, fmt.Errorf("its %s is damaged: %w", filepath.Base(damaged.Path), damaged.Err)}
		}
		return fmt.Errorf("verify the unpacked backup: %w", err)
	}
	if err := syncTree(unpacked); err != nil {
		return fmt.Errorf("restore the backup: %w", err)
	}
	// From here on the restore is completed, after a crash by Finish.
	if err := os.Rename(unpacked, filepath.Join(dir, store.RestoreReady)); err != nil {
		return fmt.Errorf("restore the backup: %w", err)
	}
	if err := durable.Folder(os.Open(dir)); err != nil {
		return fmt.Errorf("restore the backup: %w", err)
	}
	_, err = Finish(dir)
	return err
}

// extract writes the files of an archive below dir.
func extract(packed io.Reader, dir string) error {
	for _, sub := range []string{blobsDir, uploadsDir} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			return err
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	missing := map[string]bool{aboutName: true}
	for _, name := range databases {
		missing[name] = true
	}
	err = unpack(packed, func(h *tar.Header, r io.Reader) error {
		expected := missing[h.Name]
		delete(missing, h.Name)
		switch {
		case h.Name == aboutName && expected:
			_, err := readAbout(h, r)
			return err
		case expected, isBlob(h.Name), strings.HasPrefix(h.Name, uploadsDir+"/"):
			return extractFile(root, h, r)
		}
		return fmt.Errorf("it holds %q, which belongs to no backup", h.Name)
	})
	for name := range missing {
		err = errors.Join(err, fmt.Errorf("it holds no %s", name))
	}
	return err
}

func extractFile(root *os.Root, h *tar.Header, r io.Reader) error {
	if err := root.MkdirAll(path.Dir(h.Name), 0o700); err != nil {
		return err
	}
	f, err := root.OpenFile(h.Name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	sum := sha256.New()
	_, err = io.Copy(io.MultiWriter(f, sum), r)
	if err == nil && isBlob(h.Name) && hex.EncodeToString(sum.Sum(nil)) != path.Base(h.Name) {
		err = fmt.Errorf("%s has other bytes than its name says", h.Name)
	}
	if err = durable.Close(f, err); err != nil {
		return err
	}
	return root.Chtimes(h.Name, h.ModTime, h.ModTime)
}

// verify opens an unpacked folder as the server would, which also brings databases of an earlier
// version up to date, and examines the databases.
func verify(ctx context.Context, dir string, log *slog.Logger) error {
	db, err := store.Open(ctx, dir, log)
	if err != nil {
		return err
	}
	if err := errors.Join(db.Verify(ctx), db.Close()); err != nil {
		return err
	}
	for _, name := range databases { // Finish moves no logs, which Close has emptied
		if st, err := os.Stat(filepath.Join(dir, name+"-wal")); err == nil && st.Size() > 0 {
			return fmt.Errorf("%s is in use", filepath.Join(dir, name))
		}
	}
	return nil
}

// Finish completes a restore that was interrupted after its backup had been verified. It reports
// whether there was one.
func Finish(dir string) (bool, error) { return finish(dir, os.Rename) }

func finish(dir string, rename func(from, to string) error) (bool, error) {
	ready, replaced := filepath.Join(dir, store.RestoreReady), filepath.Join(dir, replacedDir)
	if _, err := os.Lstat(ready); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err := os.MkdirAll(replaced, 0o700); err != nil {
		return true, fmt.Errorf("finish the restore: %w", err)
	}
	var names []string
	for _, name := range databases {
		names = append(names, name+"-wal", name+"-shm", name) // an old log must be gone before the database is there
	}
	for _, name := range append(names, blobsDir, uploadsDir) {
		err := replace(rename, filepath.Join(dir, name), filepath.Join(ready, name), filepath.Join(replaced, name))
		if err != nil {
			return true, fmt.Errorf("finish the restore: %w", err)
		}
		if err := durable.Folder(os.Open(dir)); err != nil {
			return true, fmt.Errorf("finish the restore: %w", err)
		}
	}
	if err := errors.Join(os.RemoveAll(replaced), os.RemoveAll(ready), durable.Folder(os.Open(dir))); err != nil {
		return true, fmt.Errorf("finish the restore: %w", err)
	}
	return true, nil
}

// replace moves the entry at a path to old, and the entry at fresh to the path. It may be repeated
// after a crash: if nothing is left at fresh, both moves have been done. Logs of databases have nothing
// at fresh; they are only moved away.
func replace(rename func(from, to string) error, at, fresh, old string) error {
	_, err := os.Lstat(fresh)
	isLog := strings.HasSuffix(at, "-wal") || strings.HasSuffix(at, "-shm")
	if errors.Is(err, fs.ErrNotExist) && !isLog {
		return nil
	}
	if err := durable.IgnoreMissing(rename(at, old)); err != nil || isLog {
		return err
	}
	return rename(fresh, at)
}

// syncTree makes the names of all files below a folder durable.
func syncTree(dir string) error {
	return filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		return durable.Folder(os.Open(name))
	})
}
