package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"parley/internal/shelf"
)

// Shelf stores files and vector stores of clients. It implements library.Items.
type Shelf struct {
	db *database
}

const itemColumns = `id, grp, state, size, created_at, body`

func scanItem(r row, i *shelf.Item) error {
	var created int64
	err := r.Scan(&i.ID, &i.Group, &i.State, &i.Size, &created, (*[]byte)(&i.Body))
	if errors.Is(err, sql.ErrNoRows) {
		return shelf.ErrNotFound
	}
	i.CreatedAt = fromMicros(created)
	return err
}

const (
	ofShelf    = ` FROM shelf WHERE owner = ? AND kind = ? AND parent = ?`
	selectItem = `SELECT ` + itemColumns + ofShelf + ` AND id = ?`
	countItems = `SELECT state, COUNT(*), SUM(size)` + ofShelf + ` AND (? = '' OR grp = ?) AND (? = '' OR state = ?) GROUP BY state`
)

// Item returns an item.
func (s *Shelf) Item(ctx context.Context, key shelf.Key) (i shelf.Item, err error) {
	i.Key = key
	err = s.db.view(ctx, "read item", func(tx *sql.Tx) error { return readItem(ctx, tx, &i) })
	return i, err
}

func readItem(ctx context.Context, tx *sql.Tx, i *shelf.Item) error {
	return scanItem(tx.QueryRowContext(ctx, selectItem, i.Owner, string(i.Kind), i.Parent, i.ID), i)
}

// Items lists items by their time and id.
func (s *Shelf) Items(ctx context.Context, list shelf.List) (all []shelf.Item, err error) {
	err = s.db.view(ctx, "list items", func(tx *sql.Tx) error {
		all = nil
		query, args, err := selection(ctx, tx, list)
		if err != nil {
			return err
		}
		rows, err := tx.QueryContext(ctx, query, args...)
		return scanAll(rows, err, func(r *sql.Rows) error {
			i := shelf.Item{Key: shelf.Key{Kind: list.Kind, Owner: list.Owner, Parent: list.Parent}}
			err := scanItem(r, &i)
			all = append(all, i)
			return err
		})
	})
	return all, err
}

// selection returns the query of a list, in the order of an index.
func selection(ctx context.Context, tx *sql.Tx, list shelf.List) (query string, args []any, err error) {
	query = `SELECT ` + itemColumns + ofShelf + ` AND (? = '' OR grp = ?) AND (? = '' OR state = ?)`
	args = []any{list.Owner, string(list.Kind), list.Parent, list.Group, list.Group, list.State, list.State}
	behind, before, order := " AND (created_at, id) < (?, ?)", " AND (created_at, id) > (?, ?)", " ORDER BY created_at DESC, id DESC"
	if list.Oldest {
		behind, before, order = before, behind, " ORDER BY created_at, id"
	}
	for _, end := range []struct{ id, condition string }{{list.After, behind}, {list.Before, before}} {
		if end.id == "" {
			continue
		}
		i := shelf.Item{Key: shelf.Key{Kind: list.Kind, Owner: list.Owner, Parent: list.Parent, ID: end.id}}
		if err := readItem(ctx, tx, &i); err != nil {
			return "", nil, err
		}
		query += end.condition
		args = append(args, micros(i.CreatedAt), i.ID)
	}
	query += order
	if list.Limit > 0 {
		query += " LIMIT ?"
		args = append(args, list.Limit)
	}
	return query, args, nil
}

// Count counts items by their states.
func (s *Shelf) Count(ctx context.Context, list shelf.List) (map[string]shelf.Tally, error) {
	all := map[string]shelf.Tally{}
	rows, err := s.db.read.QueryContext(ctx, countItems, list.Owner, string(list.Kind), list.Parent, list.Group, list.Group, list.State, list.State)
	err = scanAll(rows, err, func(r *sql.Rows) error {
		var state string
		var n shelf.Tally
		err := r.Scan(&state, &n.N, &n.Size)
		all[state] = n
		return err
	})
	return all, s.db.fail("count items", err)
}

// Parents returns the stores that hold a file.
func (s *Shelf) Parents(ctx context.Context, owner, file string) (all []string, err error) {
	rows, err := s.db.read.QueryContext(ctx, "SELECT parent FROM shelf WHERE owner = ? AND kind = ? AND id = ? ORDER BY parent",
		owner, string(shelf.Members), file)
	all, err = column[string](rows, err)
	return all, s.db.fail("look for the stores of a file", err)
}

// Save changes an item, or creates it, in one transaction.
func (s *Shelf) Save(ctx context.Context, key shelf.Key, change func(*shelf.Item, bool) error) (i shelf.Item, err error) {
	err = s.db.update(ctx, "save item", func(tx *sql.Tx) error {
		if err := writerOf(ctx, key.Owner).check(ctx, tx); err != nil {
			return err
		}
		i = shelf.Item{Key: key}
		err := readItem(ctx, tx, &i)
		if err != nil && !errors.Is(err, shelf.ErrNotFound) {
			return err
		}
		if err := change(&i, err == nil); err != nil {
			return err
		}
		i.Key = key
		i.CreatedAt = fromMicros(micros(i.CreatedAt))
		if i.Body == nil {
			i.Body = json.RawMessage("{}")
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO shelf (owner, kind, parent, `+itemColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (owner, kind, parent, id) DO UPDATE SET grp = excluded.grp, state = excluded.state, size = excluded.size,
			created_at = excluded.created_at, body = excluded.body`,
			key.Owner, string(key.Kind), key.Parent, key.ID, i.Group, i.State, i.Size, micros(i.CreatedAt), string(i.Body))
		return err
	})
	if err != nil {
		return shelf.Item{}, err
	}
	return i, nil
}

// Delete deletes an item and its children.
func (s *Shelf) Delete(ctx context.Context, key shelf.Key) error {
	return s.db.update(ctx, "delete item", func(tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, "DELETE FROM shelf WHERE owner = ? AND kind = ? AND parent = ? AND id = ?",
			key.Owner, string(key.Kind), key.Parent, key.ID)
		if err != nil {
			return err
		}
		if n, err := result.RowsAffected(); err != nil {
			return err
		} else if n == 0 {
			return shelf.ErrNotFound
		}
		if key.Kind != shelf.Stores {
			return nil
		}
		_, err = tx.ExecContext(ctx, "DELETE FROM shelf WHERE owner = ? AND kind IN ('member', 'batch') AND parent = ?", key.Owner, key.ID)
		return err
	})
}
