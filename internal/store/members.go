package store

import (
	"context"
	"database/sql"
	"time"

	"parley/internal/access"
	"parley/internal/auth/roster"
)

// Members keeps the members of namespaces. It implements roster.Store.
type Members struct{ db *database }

var _ roster.Store = (*Members)(nil)

// Members returns the members of namespaces.
func (d *DB) Members() *Members { return &Members{d.state.db} }

// Version returns a number that grows with each change.
func (m *Members) Version(ctx context.Context) (version int64, err error) {
	stmt, err := m.db.prepared("SELECT COALESCE(MAX(value), 0) FROM members_version")
	if err == nil {
		err = stmt.QueryRowContext(ctx).Scan(&version)
	}
	return version, m.db.fail("read the version of members", err)
}

// All returns the namespaces that have members only, and all members, sorted by namespace, users before groups, and name.
func (m *Members) All(ctx context.Context) (closed []string, all []access.Member, err error) {
	err = m.db.view(ctx, "read members", func(tx *sql.Tx) error {
		all = nil
		if closed, err = column[string](tx.QueryContext(ctx, "SELECT namespace FROM closed ORDER BY namespace")); err != nil {
			return err
		}
		rows, err := tx.QueryContext(ctx, "SELECT namespace, kind, member, role FROM members ORDER BY namespace, kind, member")
		all, err = scanList(rows, err, func(r *sql.Rows, one *access.Member) error {
			return r.Scan(&one.Namespace, &one.Group, &one.Name, &one.Role)
		})
		return err
	})
	return closed, all, err
}

// Put adds a member, or changes the role of one. From then on only members use the namespace.
func (m *Members) Put(ctx context.Context, one access.Member, at time.Time) error {
	return m.change(ctx, "add a member", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO closed (namespace, since) VALUES (?, ?) ON CONFLICT (namespace) DO NOTHING", one.Namespace, micros(at))
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO members (namespace, kind, member, role, added_at) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT (namespace, kind, member) DO UPDATE SET role = excluded.role`, one.Namespace, flag(one.Group), one.Name, string(one.Role), micros(at))
		return err
	})
}

// Remove removes a member, or returns roster.ErrNotFound. The namespace stays for members, even if there is none left.
func (m *Members) Remove(ctx context.Context, one access.Member) error {
	return m.change(ctx, "remove a member", func(tx *sql.Tx) error {
		n, err := affected(tx.ExecContext(ctx, "DELETE FROM members WHERE namespace = ? AND kind = ? AND member = ?", one.Namespace, flag(one.Group), one.Name))
		if err == nil && n == 0 {
			err = roster.ErrNotFound
		}
		return err
	})
}

// Open removes all members of a namespace, so that everybody may use it again, or returns roster.ErrNotFound.
func (m *Members) Open(ctx context.Context, namespace string) error {
	return m.change(ctx, "open a namespace", func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "DELETE FROM members WHERE namespace = ?", namespace); err != nil {
			return err
		}
		n, err := affected(tx.ExecContext(ctx, "DELETE FROM closed WHERE namespace = ?", namespace))
		if err == nil && n == 0 {
			err = roster.ErrNotFound
		}
		return err
	})
}

func (m *Members) change(ctx context.Context, doing string, do func(*sql.Tx) error) error {
	return m.db.update(ctx, doing, func(tx *sql.Tx) error {
		if err := do(tx); err != nil {
			return err
		}
		return countMembersChange(ctx, tx)
	})
}

// countMembersChange tells servers that members have changed.
func countMembersChange(ctx context.Context, tx *sql.Tx) error {
	_, err := tx.ExecContext(ctx, "INSERT INTO members_version (id, value) VALUES (1, 1) ON CONFLICT (id) DO UPDATE SET value = members_version.value + 1")
	return err
}
