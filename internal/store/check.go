package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
)

// checkLimit bounds the databases that Check reads, since it reads all of them.
const checkLimit = 1 << 30

// Check reads both databases and returns a *DamagedError when the structure of one is broken: damage
// there may hide rows, so that a search or a history would be short and nobody told. Text that has
// changed within a row cannot be told from text. A database over 1 GiB is left alone: to read it takes
// too long beside requests.
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
		return nil
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
