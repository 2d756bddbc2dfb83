package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"

	"parley/internal/audit"
)

// Audit keeps the log of who did what. It implements audit.Store.
type Audit struct {
	db *database
}

var _ audit.Store = (*Audit)(nil)

// AddAudit stores an entry.
func (s *Audit) AddAudit(ctx context.Context, e audit.Entry) error {
	entry, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return s.db.updateOne(ctx, "write the audit log", `INSERT INTO audit (id, at, subject, action, entry) VALUES (?, ?, ?, ?, ?)`,
		e.ID, micros(e.At), e.Subject, string(e.Action), string(entry))
}

// Audit returns entries, the oldest first.
func (s *Audit) Audit(ctx context.Context, q audit.Query) (all []audit.Entry, err error) {
	query, args := `SELECT entry FROM audit WHERE id > ?`, []any{q.After}
	for _, part := range []struct {
		wanted bool
		clause string
		arg    any
	}{
		{!q.From.IsZero(), " AND at >= ?", micros(q.From)}, {!q.To.IsZero(), " AND at < ?", micros(q.To)},
		{q.Subject != "", " AND subject = ?", q.Subject}, {q.Action != "", " AND action = ?", string(q.Action)},
	} {
		if part.wanted {
			query, args = query+part.clause, append(args, part.arg)
		}
	}
	query += " ORDER BY id"
	if q.Limit > 0 {
		query, args = query+" LIMIT ?", append(args, q.Limit)
	}
	rows, err := s.db.read.QueryContext(ctx, query, args...)
	all, err = scanList(rows, err, func(r *sql.Rows, e *audit.Entry) error {
		var entry string
		if err := r.Scan(&entry); err != nil {
			return err
		}
		return json.Unmarshal([]byte(entry), e)
	})
	return all, s.db.fail("read the audit log", err)
}

// ForgetAudit removes the entries before a time, and returns how many.
func (s *Audit) ForgetAudit(ctx context.Context, before time.Time) (removed int, err error) {
	err = s.db.commit(ctx, "forget the audit log", func(ctx context.Context, tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, `DELETE FROM audit WHERE at < ?`, micros(before))
		if err != nil {
			return err
		}
		n, err := res.RowsAffected()
		removed = int(n)
		return err
	})
	return removed, err
}
