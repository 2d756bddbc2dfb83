package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"parley/internal/durable"
)

// OpenTarget opens the data folder or PostgreSQL database at place for Copy to fill it. dir is as for
// OpenPostgres.
func OpenTarget(ctx context.Context, place, dir string, log *slog.Logger) (*DB, error) {
	if IsURL(place) {
		return openPostgres(ctx, place, dir, log)
	}
	return openFiles(ctx, place, log)
}

// Copied counts the copied rows of one table, or the copied originals or uploaded files.
type Copied struct {
	What string
	N    int
}

// Copy copies everything from one database to another of either kind, and then compares both by the
// numbers and checksums of rows, originals and uploaded files. Nothing may use either at that time.
// report is called after each table.
//
// The target must hold nothing, or part of an interrupted Copy of the same source, which Copy continues.
// Until it is complete, opening the target fails with a *CopyingError.
func Copy(ctx context.Context, to, from *DB, report func(Copied)) error {
	begun, err := to.copying(ctx)
	if err != nil {
		return err
	}
	if begun == "" {
		if err := to.checkEmpty(ctx); err != nil {
			return err
		}
		if err := to.setCopying(ctx, from.String()); err != nil {
			return err
		}
	} else if begun != from.String() {
		return &CopyingError{From: begun, To: to.String()}
	}
	if err := to.blobs.copyAll(ctx, from.blobs, report); err != nil {
		return fmt.Errorf("copy originals: %w", err)
	}
	if err := copyUploads(ctx, to.uploads, from.uploads); err != nil {
		return fmt.Errorf("copy uploaded files: %w", err)
	}
	uploads, err := countUploads(to.uploads)
	if err != nil {
		return err
	}
	report(Copied{"uploaded files", uploads})
	for _, part := range []struct{ to, from *database }{{to.corpus.db, from.corpus.db}, {to.state.db, from.state.db}} {
		if err := copyTables(ctx, part.to, part.from, report); err != nil {
			return err
		}
	}
	return to.setCopying(ctx, "")
}

// OccupiedError says that the target of a Copy holds something. Its text may be shown to users.
type OccupiedError struct{ Name, What string }

func (e *OccupiedError) Error() string {
	return fmt.Sprintf("%s is not empty (it holds %s): choose an empty one", e.Name, e.What)
}

// checkEmpty returns an *OccupiedError if anything is stored.
func (d *DB) checkEmpty(ctx context.Context) error {
	for _, part := range []*database{d.corpus.db, d.state.db} {
		tables, err := part.tables(ctx)
		if err != nil {
			return part.fail("list tables", err)
		}
		for _, t := range tables {
			var filled bool
			err := part.read.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM "+t.name+")").Scan(&filled)
			if err != nil {
				return part.fail("look for rows", err)
			}
			if filled && t.name != counters {
				return &OccupiedError{d.String(), t.name}
			}
		}
	}
	blobs, err := d.blobs.names(ctx)
	if err != nil {
		return err
	}
	if len(blobs) > 0 {
		return &OccupiedError{d.String(), "originals"}
	}
	uploads, err := countUploads(d.uploads)
	if uploads > 0 {
		err = &OccupiedError{d.String(), "uploaded files"}
	}
	return err
}

// copyingFile is the file in a data folder that names the source of an incomplete copy.
const copyingFile = "migrate-unfinished"

// copyingTo names the source of the incomplete copy in the data folder dir; "" if there is none.
func copyingTo(dir string) (from string, err error) {
	raw, err := os.ReadFile(filepath.Join(dir, copyingFile))
	return string(raw), durable.IgnoreMissing(err)
}

// copying names the source of the incomplete copy in the database; "" if there is none.
func (d *DB) copying(ctx context.Context) (from string, err error) {
	if d.locks == nil {
		return copyingTo(d.folder)
	}
	err = d.state.db.read.QueryRowContext(ctx, "SELECT value FROM about WHERE name = 'copying'").Scan(&from)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return from, d.state.db.fail("look for an incomplete copy", err)
}

// setCopying records durably that a copy has begun, or that it is complete.
func (d *DB) setCopying(ctx context.Context, from string) error {
	if d.locks != nil {
		return d.state.db.update(ctx, "record the state of the copy", func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, "DELETE FROM about WHERE name = 'copying'")
			if err == nil && from != "" {
				_, err = tx.ExecContext(ctx, "INSERT INTO about (name, value) VALUES ('copying', ?)", from)
			}
			return err
		})
	}
	root, err := os.OpenRoot(d.folder)
	if err != nil {
		return err
	}
	defer root.Close()
	if from == "" {
		err = root.Remove(copyingFile)
	} else {
		err = writeSynced(root, copyingFile, from)
	}
	if err == nil {
		err = durable.Folder(root.Open("."))
	}
	if err != nil {
		return fmt.Errorf("record the state of the copy: %w", err)
	}
	return nil
}

func writeSynced(root *os.Root, name, text string) error {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return durable.Close(f, err)
}

// changedError says that a copied part differs from the source.
func changedError(what string, there, want int) error {
	return fmt.Errorf("%s: the copy differs from the source (%d instead of %d): the source was changed since the copy began; "+
		"empty the target, and copy again with nothing else using either", what, there, want)
}
