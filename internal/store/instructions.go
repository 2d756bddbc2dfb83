package store

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// Instructions keeps the instructions of namespaces.
type Instructions struct{ db *database }

// Instructions returns the instructions of namespaces.
func (d *DB) Instructions() *Instructions { return &Instructions{d.state.db} }

// Of returns the instructions of a namespace, or "" if there are none.
func (i *Instructions) Of(ctx context.Context, namespace string) (body string, err error) {
	stmt, err := i.db.prepared("SELECT body FROM instructions WHERE namespace = ?")
	if err == nil {
		err = stmt.QueryRowContext(ctx, namespace).Scan(&body)
	}
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return body, i.db.fail("read the instructions of a namespace", err)
}

// Put sets the instructions of a namespace; "" removes them.
func (i *Instructions) Put(ctx context.Context, namespace, body string, at time.Time) error {
	return i.db.update(ctx, "set the instructions of a namespace", func(tx *sql.Tx) error {
		if body == "" {
			_, err := tx.ExecContext(ctx, "DELETE FROM instructions WHERE namespace = ?", namespace)
			return err
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO instructions (namespace, body, changed_at) VALUES (?, ?, ?)
			ON CONFLICT (namespace) DO UPDATE SET body = excluded.body, changed_at = excluded.changed_at`, namespace, body, micros(at))
		return err
	})
}
