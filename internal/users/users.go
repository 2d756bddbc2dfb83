// Package users exports and deletes everything that is kept about one user.
//
//	all := users.New(users.Config{Records: db.Users(), Documents: service, Originals: db.Blobs()})
//	err := all.Export(ctx, w, "ann")
//	report, err := all.Delete(ctx, "ann")
package users

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"parley/internal/access"
	"parley/internal/interrupt"
	"parley/internal/retrieval"
)

// Records is the part of the store about users beside their documents.
type Records interface {
	// Subjects returns the users who have stored data, sorted.
	Subjects(ctx context.Context) ([]string, error)
	// Records calls each with what is stored about a user, one record at a time as a JSON object. Records of a kind follow
	// each other.
	Records(ctx context.Context, subject string, each func(kind string, record []byte) error) error
	// Mark ends the sessions and keys of a user, and prevents work that began before at from saving anything for them.
	Mark(ctx context.Context, subject string, at time.Time) error
	// Delete marks a user, deletes what is stored about them, and returns how many records of each kind.
	Delete(ctx context.Context, subject string, at time.Time) (map[string]int, error)
}

// Documents are the documents and files that users bring in.
type Documents interface {
	// EachOf calls visit with the documents of an owner, and returns its first error.
	EachOf(ctx context.Context, owner string, visit func(retrieval.Document) error) error
	// EachFileOf calls visit with the files of an owner, and returns its first error.
	EachFileOf(owner string, visit func(name string, r io.ReadSeeker) error) error
	// DeleteOwner deletes all documents and files of an owner, and returns how many documents there were.
	DeleteOwner(ctx context.Context, owner string) (int, error)
}

// Originals opens the originals of documents.
type Originals interface {
	// Open returns an original by its SHA-256, or fs.ErrNotExist.
	Open(sha256 string) (*os.File, error)
}

// Config configures a Users. Records, Documents and Originals are required.
type Config struct {
	Records   Records
	Documents Documents
	Originals Originals
	Believed  time.Duration    // how long servers may still believe sessions and keys that were ended; by default 2 s
	Now       func() time.Time // nil means time.Now
}

// Users exports and deletes users. It is safe for concurrent use.
type Users struct{ cfg Config }

// New returns a Users.
func New(cfg Config) *Users {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Believed == 0 {
		cfg.Believed = 2 * time.Second
	}
	return &Users{cfg}
}

// maxSubject is the longest subject in bytes.
const maxSubject = 1024

// ErrNotAUser says that a text cannot be the subject of a user.
var ErrNotAUser = errors.New("this is not the id of a user; ids are listed by parley users, and are like key:4f7kq2mzt3wd or what an identity provider calls somebody")

// check refuses a subject that no user can have. Data stored by callers without sign-in belongs to no user.
func check(subject string) error {
	if subject == "" || len(subject) > maxSubject || !utf8.ValidString(subject) || strings.ContainsRune(subject, 0) ||
		strings.HasPrefix(subject, access.Deleted) || strings.HasPrefix(subject, access.LocalPrefix) {
		return ErrNotAUser
	}
	return nil
}

// Subjects returns the users who have stored data, sorted.
func (u *Users) Subjects(ctx context.Context) ([]string, error) { return u.cfg.Records.Subjects(ctx) }

// Report says what was deleted.
type Report struct {
	Documents int
	Records   map[string]int // by kind
}

// Delete deletes everything that is kept about a user: conversations, chats, turns, uploads and documents with their originals,
// files, vector stores, jobs, sessions and keys. The ledger keeps amounts without the name. The audit log keeps its entries as
// long as all others. Requests that are running save nothing more. After an error it can be called again.
func (u *Users) Delete(ctx context.Context, subject string) (r Report, err error) {
	if err := check(subject); err != nil {
		return r, err
	}
	if err := u.cfg.Records.Mark(ctx, subject, u.cfg.Now()); err != nil {
		return r, err
	}
	if err := interrupt.Sleep(ctx, u.cfg.Believed); err != nil {
		return r, err
	}
	if r.Documents, err = u.cfg.Documents.DeleteOwner(ctx, subject); err != nil {
		return r, fmt.Errorf("delete the documents of a user: %w", err)
	}
	r.Records, err = u.cfg.Records.Delete(ctx, subject, u.cfg.Now())
	return r, err
}

// Export writes a ZIP archive with everything that is kept about a user: a file of JSON Lines for each kind of record, and the
// files and originals of documents that the user brought in. It contains no secrets.
func (u *Users) Export(ctx context.Context, w io.Writer, subject string) error {
	if err := check(subject); err != nil {
		return err
	}
	a := newArchive(w, u.cfg.Now())
	err := u.cfg.Records.Records(ctx, subject, a.record)
	if err == nil {
		err = u.exportFiles(ctx, a, subject)
	}
	if err == nil {
		err = a.close(subject)
	}
	if err != nil {
		return fmt.Errorf("export a user: %w", err)
	}
	return nil
}
