package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

// checkLimit bounds the databases whose structure Check looks at, in bytes.
var checkLimit int64 = 1 << 30

// Check reads both databases and returns a *DamagedError when one is broken. What is read for an
// answer is checked then, see package pagesum; this finds damage before anybody asks for what is lost,
// and, where another program has left pages without checksums, a broken structure, which hides rows.
//
// Of a database over 1 GiB only the checksums are looked at, a few pages at a time: SQLite looks at the
// structure in one transaction, which keeps the log from being finished. One without them is left alone.
func (d *DB) Check(ctx context.Context) error {
	return errors.Join(d.corpus.db.check(ctx), d.state.db.check(ctx))
}

func (d *database) check(ctx context.Context) error {
	const doing = "check the database"
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

// checkSums reads all pages, for at most half of the time.
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
		select {
		case <-time.After(time.Since(start)):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
