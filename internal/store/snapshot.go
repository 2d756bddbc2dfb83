package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"parley/internal/store/pagesum"
)

// Snapshot is one database as it was when DB.Snapshots was called.
type Snapshot struct {
	Name string // of the file in a data folder
	Size int64  // of that file in bytes
	ctx  context.Context
	tx   *sql.Tx
	sums bool
	db   *database
}

// Snapshots calls f with a snapshot of each database, which f may read while others write. The log
// of a database grows until f returns. Damage that a snapshot meets is a *DamagedError. PostgreSQL has
// no files to snapshot: the error is errors.ErrUnsupported.
//
// Used returns the SHA-256 of every original that a document of the snapshot refers to.
func (d *DB) Snapshots(ctx context.Context, f func(all []Snapshot, used func() ([]string, error)) error) error {
	if d.locks != nil {
		return fmt.Errorf("copy %v: %w: use pg_dump", d, errors.ErrUnsupported)
	}
	return d.corpus.db.snapshot(ctx, func(corpus Snapshot) error {
		return d.state.db.snapshot(ctx, func(state Snapshot) error {
			return f([]Snapshot{corpus, state}, func() ([]string, error) {
				rows, err := corpus.tx.QueryContext(ctx, "SELECT DISTINCT sha256 FROM documents WHERE sha256 <> ''")
				shas, err := column[string](rows, err)
				return shas, corpus.db.fail("list originals", err)
			})
		})
	})
}

func (d *database) snapshot(ctx context.Context, f func(Snapshot) error) error {
	s, err := d.sums(ctx)
	if err != nil {
		return err
	}
	return d.viewOnce(ctx, "copy the database", func(tx *sql.Tx) error {
		snap := Snapshot{Name: filepath.Base(d.path), ctx: ctx, tx: tx, sums: s.marked, db: d}
		// The first read begins the snapshot.
		const size = "SELECT c.page_count * s.page_size FROM pragma_page_count c, pragma_page_size s"
		if err := tx.QueryRowContext(ctx, size).Scan(&snap.Size); err != nil {
			return err
		}
		return f(snap)
	})
}

// WriteTo writes the database file, with a checksum in each page if the database has them.
func (s Snapshot) WriteTo(w io.Writer) (written int64, err error) {
	var page []byte
	rows, err := s.tx.QueryContext(s.ctx, "SELECT pgno, data FROM sqlite_dbpage ORDER BY pgno")
	err = scanAll(rows, err, func(r *sql.Rows) error {
		var number int64
		var read sql.RawBytes
		if err := r.Scan(&number, &read); err != nil {
			return err
		}
		page = append(page[:0], read...)
		if (number-1)*int64(len(page)) != written {
			return fmt.Errorf("page %d follows %d bytes", number, written)
		}
		if s.sums {
			pagesum.Seal(page, number)
		}
		n, err := w.Write(page)
		written += int64(n)
		return err
	})
	if err == nil && written != s.Size {
		err = fmt.Errorf("%d bytes of %d", written, s.Size)
	}
	return written, s.db.fail("copy the database", err)
}
