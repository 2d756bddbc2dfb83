package users

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"time"

	"parley/internal/retrieval"
)

// archive is an export that is being written.
type archive struct {
	zip   *zip.Writer
	at    time.Time
	kind  string    // of the open file of records
	into  io.Writer // the open file of records
	files []file
	have  map[string]bool // SHA-256 of the files
}

// file is a row of the archive's table of files.
type file struct {
	File      string `json:"file"` // in the archive
	Name      string `json:"name"`
	Namespace string `json:"namespace,omitempty"` // of a document
	Document  string `json:"document,omitempty"`  // its id
}

func newArchive(w io.Writer, at time.Time) *archive {
	return &archive{zip: zip.NewWriter(w), at: at.UTC(), have: map[string]bool{}}
}

func (a *archive) create(name string) (io.Writer, error) {
	return a.zip.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: a.at})
}

// record adds a record to the file of its kind.
func (a *archive) record(kind string, record []byte) (err error) {
	if kind != a.kind {
		if a.into, err = a.create(kind + ".jsonl"); err != nil {
			return err
		}
		a.kind = kind
	}
	_, err = a.into.Write(append(record, '\n'))
	return err
}

// add adds a file, whose own name may be anything.
func (a *archive) add(f file, r io.Reader) error {
	f.File = fmt.Sprintf("files/%06d-%s", len(a.files)+1, plain(f.Name))
	w, err := a.create(f.File)
	if err == nil {
		_, err = io.Copy(w, r)
	}
	a.files = append(a.files, f)
	return err
}

// plain returns the last part of a name, with only characters that no file system or terminal treats specially.
func plain(name string) string {
	const most = 80 // bytes
	name = path.Base(strings.ReplaceAll(name, `\`, "/"))
	name = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '-' {
			return r
		}
		return '_'
	}, name)
	name = strings.Trim(name[max(0, len(name)-most):], ".")
	if name == "" {
		return "file"
	}
	return name
}

// close ends the archive with a table of its files.
func (a *archive) close(subject string) error {
	w, err := a.create("export.json")
	if err != nil {
		return err
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", " ")
	if a.files == nil {
		a.files = []file{}
	}
	err = enc.Encode(struct {
		User  string    `json:"user"`
		At    time.Time `json:"at"`
		Files []file    `json:"files"`
	}{subject, a.at, a.files})
	return errors.Join(err, a.zip.Close())
}

// exportFiles adds the originals of a user's documents, and the files that gave no document.
func (u *Users) exportFiles(ctx context.Context, a *archive, subject string) error {
	err := u.cfg.Documents.EachOf(ctx, subject, func(doc retrieval.Document) error {
		if a.have[doc.SHA256] {
			return nil
		}
		f, err := u.cfg.Originals.Open(doc.SHA256)
		if errors.Is(err, fs.ErrNotExist) || doc.SHA256 == "" {
			return nil
		}
		if err != nil {
			return err
		}
		defer f.Close()
		a.have[doc.SHA256] = true
		return a.add(file{Name: doc.Name, Namespace: doc.Namespace, Document: doc.ID}, f)
	})
	if err != nil {
		return err
	}
	return u.cfg.Documents.EachFileOf(subject, func(name string, r io.ReadSeeker) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		hash := sha256.New()
		if _, err := io.Copy(hash, r); err != nil {
			return err
		}
		sum := hex.EncodeToString(hash.Sum(nil))
		if a.have[sum] {
			return nil
		}
		a.have[sum] = true
		if _, err := r.Seek(0, io.SeekStart); err != nil {
			return err
		}
		return a.add(file{Name: name}, r)
	})
}
