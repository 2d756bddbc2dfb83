package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"parley/internal/interrupt"
)

// checkLimit is the size in bytes above which Check does not examine a database's structure.
var checkLimit int64 = 1 << 30

// Check reads both databases and returns a *DamagedError if one is damaged. Reads verify checksums
// anyway (package pagesum). Check finds damage before somebody needs the damaged page. It also
// finds a broken structure, which hides rows, in a database that another program wrote without
// checksums.
//
// In a database over 1 GiB it verifies the checksums only, a few pages at a time: SQLite examines
// the structure in one transaction, which would delay checkpoints of the log. Such a database
// without checksums is not checked.
func (d *DB) Check(ctx context.Context) error {
	return errors.Join(d.corpus.db.check(ctx), d.state.db.check(ctx))
}

func (d *database) check(ctx context.Context) error {
	const doing = "check the database"
	if !d.dialect.oneWriter {
		return nil // a server checks its files itself
	}
	file, err := os.Stat(d.path)
	if err != nil {
		return d.fail(doing, err)
	}
	if file.Size() > checkLimit {
		if s, err := d.sums(ctx); err != nil || !s.marked {
			return err
		}
		return d.checkSums(ctx, doing)
	}
	return d.quickCheck(ctx, doing)
}

// Verify examines both databases and reads every page. It returns a *DamagedError if one is damaged.
// Unlike Check, it neither pauses nor spares large databases. It does nothing with PostgreSQL, which
// verifies its files itself.
func (d *DB) Verify(ctx context.Context) error {
	if d.locks != nil {
		return nil
	}
	return errors.Join(d.corpus.db.quickCheck(ctx, "verify the database"), d.state.db.quickCheck(ctx, "verify the database"))
}

// quickCheck lets SQLite examine the structure of the database, which reads every page in use.
func (d *database) quickCheck(ctx context.Context, doing string) error {
	return d.view(ctx, doing, func(tx *sql.Tx) error {
		var verdict string
		if err := tx.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&verdict); err != nil {
			return err
		}
		if verdict != "ok" {
			return &DamagedError{Path: d.path, Err: fmt.Errorf("%.200s", strings.Join(strings.Fields(verdict), " "))}
		}
		return nil
	})
}

// checkSums reads all pages. It pauses so that it reads for at most half of the time.
func (d *database) checkSums(ctx context.Context, doing string) error {
	const batch = 64 // pages
	for first, read := 1, batch; read == batch; first += batch {
		start := time.Now()
		err := d.view(ctx, doing, func(tx *sql.Tx) error {
			const query = `WITH RECURSIVE n(i) AS (SELECT ? UNION ALL SELECT i + 1 FROM n WHERE i < ?)
				SELECT COUNT(LENGTH(p.data)) FROM n JOIN sqlite_dbpage p ON p.pgno = n.i`
			return tx.QueryRowContext(ctx, query, first, first+batch-1).Scan(&read)
		})
		if err != nil {
			return err
		}
		if err := interrupt.Sleep(ctx, time.Since(start)); err != nil {
			return err
		}
	}
	return nil
}
