// Package store keeps a data folder: documents and their index, conversations and the ledger, and
// the originals of documents. All of it may also be in a PostgreSQL database (OpenPostgres).
//
//	parley-data/
//	  corpus.db    documents, pages, chunks, index segments, ingested roots and files
//	  state.db     conversations, turns, messages, ledger, transcripts, jobs, keys, sessions,
//	               audit log
//	  blobs/ab/…   originals, named by the SHA-256 of their bytes
//
// Corpus and state are separate databases, and no transaction spans both, so that a bulk ingestion
// does not delay the commit of a turn. Several processes may have the folder open at once. A write
// that a method has acknowledged survives a crash of the process or the machine.
//
//	db, err := store.Open(ctx, "parley-data", log)
//	if err != nil { … }
//	defer db.Close()
//	corpus := retrieval.NewCorpus(db.Corpus())
//
// The SQL is portable: ids are text (package ident), times are UTC microseconds as integers,
// booleans are 0 or 1. Code for only SQLite or only PostgreSQL is confined to sqlite.go and to the files
// that begin with postgres; package pgsql translates the few words that differ. Both pass storetest.
package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"parley/internal/documents/upload"
)

// DB is an open data folder. Its methods may be called concurrently.
type DB struct {
	corpus *Corpus
	state  *State
	blobs  *Blobs

	uploads upload.Files

	transcripts *Transcripts
	jobs        *Jobs
	keys        *APIKeys
	sessions    *Sessions
	audit       *Audit
	shelf       *Shelf

	folder string // see Folder
	server string // name and host of a PostgreSQL database
	needed int    // maximum number of connections to it
	locks  *locks // nil for a data folder
	peers  *Peers // nil for a data folder
}

// Open opens the data folder at dir, and creates or migrates it if necessary. A nil log discards.
// The error is a *FolderError, *NewerError, *CopyingError or *DamagedError where the user can act on it.
func Open(ctx context.Context, dir string, log *slog.Logger) (*DB, error) {
	dir, err := PrepareFolder(dir)
	if err != nil {
		return nil, err
	}
	if from, err := copyingTo(dir); err != nil {
		return nil, &FolderError{Path: dir, Err: err}
	} else if from != "" {
		return nil, &CopyingError{From: from, To: folderName(dir)}
	}
	return openFiles(ctx, dir, log)
}

// openFiles is Open for the target of a Copy.
func openFiles(ctx context.Context, dir string, log *slog.Logger) (*DB, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	dir, err := PrepareFolder(dir)
	if err != nil {
		return nil, err
	}
	if _, err := os.Lstat(filepath.Join(dir, RestoreReady)); err == nil {
		return nil, &FolderError{Path: dir, Err: errHalfRestored}
	}
	corpus, err := openDatabase(ctx, filepath.Join(dir, "corpus.db"), "corpus", log)
	if err != nil {
		return nil, err
	}
	state, err := openDatabase(ctx, filepath.Join(dir, "state.db"), "state", log)
	if err != nil {
		return nil, errors.Join(err, corpus.close())
	}
	blobs, err := openBlobs(filepath.Join(dir, "blobs"))
	if err != nil {
		return nil, errors.Join(err, corpus.close(), state.close())
	}
	db := newDB(corpus, state, blobs)
	db.folder, db.uploads = dir, upload.Disk(filepath.Join(dir, UploadsDir))
	return db, nil
}

func newDB(corpus, state *database, blobs *Blobs) *DB {
	return &DB{corpus: &Corpus{db: corpus, large: largeFile}, state: &State{state}, blobs: blobs, transcripts: &Transcripts{state},
		jobs: &Jobs{state}, keys: &APIKeys{state}, sessions: &Sessions{state}, audit: &Audit{state}, shelf: &Shelf{state}}
}

// RestoreReady is the folder in a data folder that exists while a restored backup replaces the previous
// content (package backup). Open fails as long as it exists.
const RestoreReady = "restore-ready"

// Corpus returns the store of documents; it implements retrieval.Store.
func (d *DB) Corpus() *Corpus { return d.corpus }

// State returns the store of turns; it implements turn.Store and ledger.Store.
func (d *DB) State() *State { return d.state }

// Transcripts returns the store of clients' chats; it implements transcript.Store.
func (d *DB) Transcripts() *Transcripts { return d.transcripts }

// Jobs returns the store of jobs; it implements job.Store.
func (d *DB) Jobs() *Jobs { return d.jobs }

// APIKeys returns the store of keys; it implements apikey.Store.
func (d *DB) APIKeys() *APIKeys { return d.keys }

// Sessions returns the store of people who are signed in; it implements session.Store.
func (d *DB) Sessions() *Sessions { return d.sessions }

// Audit returns the log of who did what; it implements audit.Store.
func (d *DB) Audit() *Audit { return d.audit }

// Shelf returns the store of clients' files and vector stores; it implements library.Items.
func (d *DB) Shelf() *Shelf { return d.shelf }

// Blobs returns the store of originals.
func (d *DB) Blobs() *Blobs { return d.blobs }

// UploadsDir is the folder of uploaded files in a data folder.
const UploadsDir = "uploads"

// Uploads returns the uploaded files.
func (d *DB) Uploads() upload.Files { return d.uploads }

// String names the database in messages.
func (d *DB) String() string {
	if d.locks == nil {
		return folderName(d.folder)
	}
	return "the PostgreSQL database " + d.server
}

func folderName(dir string) string { return "the data folder " + dir }

// Folder returns the folder for files on this machine that belong to the database: the data folder, or
// with PostgreSQL a folder in it, which holds only copies. Each database has its own folder there, so that
// files of one database are never taken for those of another.
func (d *DB) Folder() string { return d.folder }

// SweepBlobs removes the originals that no document refers to and that were last stored more than
// minAge ago. It returns how many.
func (d *DB) SweepBlobs(ctx context.Context, minAge time.Duration) (int, error) {
	if d.blobs.shared != nil {
		n, err := d.blobs.shared.sweep(ctx, time.Now().Add(-minAge))
		return n, errors.Join(err, d.blobs.trim(ctx, cacheBytes), d.uploads.(*sharedUploads).sweep(ctx, time.Now().Add(-uploadAge)))
	}
	var failed error
	n, err := d.blobs.Sweep(ctx, minAge, func(sha string) bool {
		used, err := d.corpus.usesBlob(ctx, sha)
		failed = errors.Join(failed, err)
		return used || err != nil
	})
	return n, errors.Join(err, failed)
}

// DropBlobs removes originals that no document refers to any more.
func (d *DB) DropBlobs(ctx context.Context, shas []string) error {
	for _, sha := range shas {
		name, err := blobPath(sha)
		if err != nil {
			continue // a document without an original
		}
		if d.blobs.shared != nil {
			if err := d.blobs.shared.drop(ctx, sha); err != nil {
				return err
			}
		}
		// A Put of the same bytes meanwhile renews the age, and the file stays.
		_, err = d.blobs.sweepFile(name, time.Now(), func(sha string) bool {
			used, err := d.corpus.usesBlob(ctx, sha)
			return used || err != nil
		})
		if err != nil {
			return fmt.Errorf("remove an original: %w", err)
		}
	}
	return nil
}

// Shrink frees the caches of the write connections, which never shrink by themselves. Read
// connections are closed after a minute without work. It waits for a running transaction.
func (d *DB) Shrink(ctx context.Context) error {
	return errors.Join(d.corpus.db.shrink(ctx), d.state.db.shrink(ctx))
}

// Close ends all use of the folder. No other method may be running.
func (d *DB) Close() error {
	var err error
	if d.locks != nil {
		err = errors.Join(d.locks.close(), d.peers.locks.close())
	}
	if d.blobs != nil { // else opening failed
		err = errors.Join(err, d.blobs.close())
	}
	if d.corpus.cache != nil {
		err = errors.Join(err, d.corpus.cache.root.Close())
	}
	return errors.Join(err, d.corpus.db.close(), d.state.db.close())
}

// PrepareFolder creates the data folder dir if it is missing and returns its absolute path. The
// error is a *FolderError if files cannot be written there.
func PrepareFolder(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", &FolderError{Path: dir, Err: err}
	}
	if err := os.MkdirAll(abs, 0o700); err != nil {
		return "", &FolderError{Path: abs, Err: err}
	}
	// SQLite's error for a missing permission names neither the folder nor the reason.
	probe, err := os.CreateTemp(abs, ".probe-*")
	if err != nil {
		return "", &FolderError{Path: abs, Err: err}
	}
	if err := errors.Join(probe.Close(), os.Remove(probe.Name())); err != nil {
		return "", fmt.Errorf("remove %s: %w", probe.Name(), err)
	}
	return abs, nil
}

// micros returns t as microseconds since 1970, 0 for the zero time.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// fromMicros is the inverse of micros.
func fromMicros(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}

func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}
