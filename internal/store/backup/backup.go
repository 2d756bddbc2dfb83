// Package backup writes a data folder to one file while the folder is in use, and restores it.
//
// A backup is a tar archive compressed with Zstandard, followed by a skippable frame of Zstandard
// that holds the SHA-256 of everything before it. Common tools read it: `tar --zstd -xf FILE`.
//
//	parley-backup.json  About
//	blobs/ab/…          originals, named by the SHA-256 of their bytes
//	corpus.db state.db  snapshots of the databases
//	uploads/…           uploaded files
//
// The order matters, because the folder changes meanwhile. Originals are copied before the snapshots
// are taken and again after it, so that an original that a document of the snapshot refers to is in
// the archive even if it was removed or added meanwhile. Uploaded files are copied after the
// snapshots, and those that wait for a job before those that are published, because that is the way
// they move: a job of the snapshot finds its files in one place or the other.
//
// Restore verifies a backup before it replaces anything. Then it renames file by file; store.Open
// refuses the folder until that is complete, and Finish completes it after a crash.
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
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"parley/internal/durable"
	"parley/internal/store"
)

// About describes a backup.
type About struct {
	Format   int               `json:"format"` // of the archive; see formatVersion
	Version  string            `json:"parley"` // version of the program that wrote it
	Created  time.Time         `json:"created"`
	Data     string            `json:"data"`               // path of the data folder
	Settings map[string]string `json:"settings,omitempty"` // for people; without secrets
}

const (
	formatVersion = 1
	aboutName     = "parley-backup.json"
	blobsDir      = "blobs"
	uploadsDir    = "uploads"
	stagedDir     = uploadsDir + "/staged"
)

// databases are the files of the databases.
var databases = []string{"corpus.db", "state.db"}

// Report counts what a backup holds, and names what it lacks.
type Report struct {
	Originals int
	Uploads   int
	Bytes     int64    // before compression
	Lost      []string // SHA-256 of originals that documents refer to but that are missing or damaged
}

// Progress is called with the number of bytes done, and an estimate of their total.
type Progress func(done, total int64)

// Create writes a backup of the data folder dir, which db has open, to a file. It writes beside it
// and renames at the end, so that the file is whole or as it was before. An existing file is replaced
// if it is a backup.
func Create(ctx context.Context, file, dir string, db *store.DB, about About, progress Progress) (Report, error) {
	if err := replaceable(file); err != nil {
		return Report{}, err
	}
	removeStale(file)
	temp, err := os.CreateTemp(filepath.Dir(file), partPrefix(file)+"*")
	if err != nil {
		return Report{}, fmt.Errorf("write the backup: %w", err)
	}
	defer os.Remove(temp.Name()) // after success it is gone already
	report, err := Write(ctx, temp, dir, db, about, progress)
	if err = durable.Close(temp, err); err != nil {
		return Report{}, fmt.Errorf("write the backup %s: %w", file, err)
	}
	if err := errors.Join(os.Rename(temp.Name(), file), durable.Folder(os.Open(filepath.Dir(file)))); err != nil {
		return Report{}, fmt.Errorf("write the backup: %w", err)
	}
	return report, nil
}

// partPrefix begins the names of unfinished backups to a file.
func partPrefix(file string) string { return "." + filepath.Base(file) + ".part-" }

// staleAge is the age from which an unfinished backup that is not being written counts as left over
// from a crash.
const staleAge = time.Hour

// removeStale removes unfinished backups to the same file that a crash left behind.
func removeStale(file string) {
	entries, err := os.ReadDir(filepath.Dir(file))
	if err != nil {
		return // creating a file there will say why
	}
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && strings.HasPrefix(e.Name(), partPrefix(file)) && time.Since(info.ModTime()) > staleAge {
			_ = os.Remove(filepath.Join(filepath.Dir(file), e.Name())) // it only takes room
		}
	}
}

// replaceable returns an error if the file exists and is not a backup.
func replaceable(file string) error {
	st, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("write the backup: %w", err)
	}
	if !st.Mode().IsRegular() {
		return fmt.Errorf("%s is not a file: name a file for the backup", file)
	}
	f, err := os.Open(file)
	if err != nil {
		return fmt.Errorf("write the backup: %w", err)
	}
	defer f.Close()
	if _, _, err := readTrailer(f); err != nil {
		return fmt.Errorf("%s exists and is not a backup of Parley: choose another name, or remove it", file)
	}
	return nil
}

// Write writes a backup to w. After an error, what was written is of no use, and Restore refuses it.
func Write(ctx context.Context, w io.Writer, dir string, db *store.DB, about About, progress Progress) (Report, error) {
	sum := sha256.New()
	packed, err := zstd.NewWriter(io.MultiWriter(w, sum))
	if err != nil {
		return Report{}, err
	}
	defer packed.Close() // after an error only; a second Close does nothing
	root, err := os.OpenRoot(dir)
	if err != nil {
		return Report{}, err
	}
	defer root.Close()
	a := &archive{ctx: ctx, db: db, root: root, progress: progress, copied: map[string]bool{}, tar: tar.NewWriter(packed)}
	a.total = a.estimate()
	about.Format = formatVersion
	if err := a.write(about); err != nil {
		return Report{}, err
	}
	if err := errors.Join(a.tar.Close(), packed.Close()); err != nil {
		return Report{}, err
	}
	_, err = w.Write(appendTrailer(nil, sum.Sum(nil)))
	return a.report, err
}

// archive is a backup that is being written.
type archive struct {
	ctx      context.Context
	db       *store.DB
	root     *os.Root
	tar      *tar.Writer
	progress Progress
	total    int64
	copied   map[string]bool // uploaded files and originals in the archive, and originals that are damaged (false)
	report   Report
}

func (a *archive) write(about About) error {
	text, err := json.MarshalIndent(about, "", "  ")
	if err != nil {
		return err
	}
	if err := a.add(aboutName, int64(len(text)), about.Created, strings.NewReader(string(text))); err != nil {
		return err
	}
	if err := a.addOriginals(); err != nil {
		return err
	}
	return a.db.Snapshots(a.ctx, func(all []store.Snapshot, used func() ([]string, error)) error {
		if err := a.addOriginals(); err != nil {
			return err
		}
		shas, err := used()
		if err != nil {
			return err
		}
		for _, sha := range shas {
			if !a.copied[sha] {
				a.report.Lost = append(a.report.Lost, sha)
			}
		}
		slices.Sort(a.report.Lost)
		for _, snapshot := range all {
			if err := a.addSnapshot(snapshot); err != nil {
				return err
			}
		}
		if err := a.addTree(stagedDir); err != nil {
			return err
		}
		return a.addTree(uploadsDir)
	})
}

// estimate returns the number of bytes that there are to copy now.
func (a *archive) estimate() (bytes int64) {
	for _, name := range append([]string{blobsDir, uploadsDir}, databases...) {
		_ = a.walk(name, func(_ string, info fs.FileInfo) error { // it is only an estimate
			bytes += info.Size()
			return nil
		})
	}
	return bytes
}

// walk calls f with the regular files at or below a path of the data folder.
func (a *archive) walk(name string, f func(name string, info fs.FileInfo) error) error {
	return fs.WalkDir(a.root.FS(), name, func(name string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) || err == nil && !d.Type().IsRegular() {
			return a.ctx.Err()
		}
		if err != nil {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil // it was removed meanwhile
		}
		if err != nil {
			return err
		}
		return f(name, info)
	})
}

// addOriginals adds the originals that the archive does not have yet.
func (a *archive) addOriginals() error {
	return a.walk(blobsDir, func(name string, info fs.FileInfo) error {
		sha := path.Base(name)
		if _, done := a.copied[sha]; done || !isBlob(name) {
			return a.ctx.Err()
		}
		f, err := a.root.Open(name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		defer f.Close()
		a.copied[sha] = whole(f, sha)
		if !a.copied[sha] {
			return nil
		}
		a.report.Originals++
		return a.addFile(name, f)
	})
}

// whole reports whether a file has the SHA-256 that its name promises.
func whole(f *os.File, sha string) bool {
	sum := sha256.New()
	_, err := io.Copy(sum, f)
	return err == nil && hex.EncodeToString(sum.Sum(nil)) == sha
}

// addTree adds the files below a folder that the archive does not have yet.
func (a *archive) addTree(name string) error {
	return a.walk(name, func(name string, _ fs.FileInfo) error {
		if a.copied[name] {
			return a.ctx.Err()
		}
		f, err := a.root.Open(name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		defer f.Close()
		a.copied[name] = true
		a.report.Uploads++
		return a.addFile(name, f)
	})
}

// addFile adds an open file from its beginning. A file that grows meanwhile is cut.
func (a *archive) addFile(name string, f *os.File) error {
	st, err := f.Stat()
	if err != nil {
		return err
	}
	return a.add(name, st.Size(), st.ModTime(), io.NewSectionReader(f, 0, st.Size()))
}

func (a *archive) addSnapshot(s store.Snapshot) error {
	if err := a.begin(s.Name, s.Size, time.Now()); err != nil {
		return err
	}
	_, err := s.WriteTo(counted{a})
	return err
}

func (a *archive) add(name string, size int64, modified time.Time, r io.Reader) error {
	if err := a.begin(name, size, modified); err != nil {
		return err
	}
	n, err := io.Copy(counted{a}, r)
	if err == nil && n != size {
		err = fmt.Errorf("%s has become shorter", name)
	}
	return err
}

func (a *archive) begin(name string, size int64, modified time.Time) error {
	return a.tar.WriteHeader(&tar.Header{
		Format: tar.FormatPAX, Typeflag: tar.TypeReg, Name: name, Mode: 0o600, Size: size, ModTime: modified,
	})
}

// counted writes to the archive, counts, and ends when the context does.
type counted struct{ *archive }

func (c counted) Write(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := c.tar.Write(p)
	c.report.Bytes += int64(n)
	if c.progress != nil {
		c.progress(c.report.Bytes, max(c.total, c.report.Bytes))
	}
	return n, err
}

// isBlob reports whether a path is that of an original.
func isBlob(name string) bool {
	sha := path.Base(name)
	return len(sha) == 2*sha256.Size && strings.Trim(sha, "0123456789abcdef") == "" && name == blobsDir+"/"+sha[:2]+"/"+sha
}
