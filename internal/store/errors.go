package store

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"
)

// FolderError says that a path cannot serve as a data folder. Its text may be shown to users.
type FolderError struct {
	Path string
	Err  error
}

func (e *FolderError) Error() string {
	switch {
	case errors.Is(e.Err, errHalfRestored):
		return fmt.Sprintf("restoring a backup into the data folder %s was interrupted: run parley restore --data %s to finish it", e.Path, e.Path)
	case errors.Is(e.Err, syscall.ENOTDIR), errors.Is(e.Err, fs.ErrExist):
		return fmt.Sprintf("the data folder %s is a file: choose a folder with --data", e.Path)
	case errors.Is(e.Err, fs.ErrPermission):
		return fmt.Sprintf("no right to write in the data folder %s: "+
			"change its permissions, or choose another folder with --data", e.Path)
	}
	return fmt.Sprintf("the data folder %s cannot be used (%v): choose another one with --data",
		e.Path, e.Err)
}

// Unwrap returns the cause.
func (e *FolderError) Unwrap() error { return e.Err }

// errHalfRestored says that some of the folder's files are from before a restore.
var errHalfRestored = errors.New("a restore was interrupted")

// NewerError says that a newer version of Parley wrote a database. Its text may be shown to users.
type NewerError struct {
	Path   string // of the file; with PostgreSQL the names of database, host and schema
	Server bool   // it is a PostgreSQL database
	Have   int    // the version of its schema
	Want   int    // the newest version that this program knows
}

func (e *NewerError) Error() string {
	other := "folder with --data"
	if e.Server {
		other = "database with --database"
	}
	return fmt.Sprintf("%s was written by a newer version of Parley (schema %d, this program knows %d): use that version, or choose another %s",
		e.Path, e.Have, e.Want, other)
}

// DamagedError says that a database is unreadable. Its text may be shown to users.
type DamagedError struct {
	Path   string // of the file; with PostgreSQL the names of database, host and schema
	Server bool   // it is a PostgreSQL database
	Err    error
}

func (e *DamagedError) Error() string {
	if e.Server {
		return fmt.Sprintf("the PostgreSQL database %s is damaged (%v): restore it from a backup of the database server", e.Path, e.Err)
	}
	remedy := "restore it from a backup, or move it away to continue without its conversations"
	if filepath.Base(e.Path) == "corpus.db" {
		remedy = "restore it from a backup, or move it away and ingest the documents again"
	}
	return fmt.Sprintf("the database %s is damaged (%v): %s, each time with the files %s-wal and %s-shm beside it",
		e.Path, e.Err, remedy, filepath.Base(e.Path), filepath.Base(e.Path))
}

// Unwrap returns the cause.
func (e *DamagedError) Unwrap() error { return e.Err }

// CopyingError says that a database holds an incomplete copy of another one. Its text may be shown to
// users.
type CopyingError struct{ From, To string } // names of the two, see DB.String

func (e *CopyingError) Error() string {
	return fmt.Sprintf("%s holds an incomplete copy of %s: run the same parley migrate command again to complete it", e.To, e.From)
}

// IsFull reports whether err says that the disk is full.
func IsFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || isFull(err)
}

// IsFull calls the function IsFull, for callers that use a DB as an interface.
func (*DB) IsFull(err error) bool { return IsFull(err) }
