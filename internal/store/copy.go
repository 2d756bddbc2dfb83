package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Copied is what Copy has copied of one table, or of the originals.
type Copied struct {
	Table string
	Rows  int
}

// Copy copies everything from one database to another of either kind, and then compares all rows of
// both. Nothing may write to either at that time. A Copy that was interrupted can be repeated: rows
// that are there already are written again. The target must be empty, or hold part of such a copy.
// report is called after each table.
func Copy(ctx context.Context, to, from *DB, report func(Copied)) error {
	n, err := to.blobs.copyAll(ctx, from.blobs)
	if err != nil {
		return fmt.Errorf("copy originals: %w", err)
	}
	report(Copied{"originals", n})
	for _, part := range []struct{ to, from *database }{{to.corpus.db, from.corpus.db}, {to.state.db, from.state.db}} {
		if err := copyTables(ctx, part.to, part.from, report); err != nil {
			return err
		}
	}
	return nil
}

// errOccupied says that the target of a copy holds something else.
var errOccupied = errors.New("the target holds rows that the source does not have: choose an empty one")

func copyTables(ctx context.Context, to, from *database, report func(Copied)) error {
	tables, err := to.tables(ctx)
	if err != nil {
		return to.fail("list tables", err)
	}
	return from.view(ctx, "copy", func(source *sql.Tx) error {
		for _, t := range tables {
			n, sum, err := t.copy(ctx, to, source)
			if err != nil {
				return fmt.Errorf("%s: %w", t.name, err)
			}
			var there int
			var thereSum [sha256.Size]byte
			err = to.view(ctx, "compare", func(target *sql.Tx) (err error) {
				there, thereSum, err = t.each(ctx, target, func([]any) error { return nil })
				return err
			})
			if err != nil {
				return fmt.Errorf("%s: %w", t.name, err)
			}
			if there > n {
				return fmt.Errorf("%s: %d rows instead of %d: %w", t.name, there, n, errOccupied)
			}
			if there != n || thereSum != sum {
				return fmt.Errorf("%s: what was copied differs from the source (%d rows instead of %d): try again with both databases at rest", t.name, there, n)
			}
			report(Copied{t.name, n})
		}
		return nil
	})
}

// copyTable is a table with its stored columns.
type copyTable struct {
	name    string
	columns []string
	key     []string // its primary key
}

// tables returns the tables that both kinds of databases have, in the order in which they were made,
// so that a table comes after those that it refers to.
func (d *database) tables(ctx context.Context) (all []copyTable, err error) {
	query := `SELECT t.name, c.name, c.pk FROM sqlite_master t, pragma_table_xinfo(t.name) c
		WHERE t.type = 'table' AND t.name <> 'migrations' AND t.name NOT LIKE 'sqlite%' AND c.hidden = 0 ORDER BY t.rowid, c.cid`
	if !d.dialect.oneWriter {
		query = `SELECT t.relname, c.attname, COALESCE(array_position(k.conkey, c.attnum), 0)
			FROM pg_class t JOIN pg_attribute c ON c.attrelid = t.oid LEFT JOIN pg_constraint k ON k.conrelid = t.oid AND k.contype = 'p'
			WHERE t.relnamespace = current_schema()::regnamespace AND t.relkind = 'r' AND c.attnum > 0 AND NOT c.attisdropped
			AND c.attgenerated = '' AND t.relname NOT IN ('migrations', 'blobs', 'blob_parts') ORDER BY t.oid, c.attnum`
	}
	rows, err := d.read.QueryContext(ctx, query)
	keys := map[string][]string{} // the columns of a key by their places in it
	err = scanAll(rows, err, func(r *sql.Rows) error {
		var name, column string
		var place int
		if err := r.Scan(&name, &column, &place); err != nil {
			return err
		}
		if len(all) == 0 || all[len(all)-1].name != name {
			all = append(all, copyTable{name: name})
		}
		t := &all[len(all)-1]
		t.columns = append(t.columns, column)
		if place > 0 {
			for len(keys[name]) < place {
				keys[name] = append(keys[name], "")
			}
			keys[name][place-1] = column
		}
		return nil
	})
	for i := range all {
		all[i].key = keys[all[i].name]
	}
	return all, err
}

// copyBatch is how many rows of a table one transaction writes.
const copyBatch = 500

// copy writes all rows of a table in the source, and returns their number and checksum.
func (t copyTable) copy(ctx context.Context, to *database, source *sql.Tx) (n int, sum [sha256.Size]byte, err error) {
	var batch [][]any
	flush := func() error {
		return to.update(ctx, "write rows", func(tx *sql.Tx) error {
			stmt, err := tx.PrepareContext(ctx, t.upsert())
			if err != nil {
				return err
			}
			defer stmt.Close()
			for _, row := range batch {
				if _, err := stmt.ExecContext(ctx, row...); err != nil {
					return err
				}
			}
			return nil
		})
	}
	n, sum, err = t.each(ctx, source, func(row []any) error {
		if batch = append(batch, row); len(batch) < copyBatch {
			return nil
		}
		err := flush()
		batch = batch[:0]
		return err
	})
	if err == nil && len(batch) > 0 {
		err = flush()
	}
	return n, sum, err
}

// upsert returns the statement that writes a row.
func (t copyTable) upsert() string {
	var set []string
	for _, c := range t.columns {
		if !slices.Contains(t.key, c) {
			set = append(set, c+" = excluded."+c)
		}
	}
	do := "NOTHING"
	if len(set) > 0 {
		do = "UPDATE SET " + strings.Join(set, ", ")
	}
	return fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s) ON CONFLICT (%s) DO %s", t.name, strings.Join(t.columns, ", "),
		placeholders(len(t.columns)), strings.Join(t.key, ", "), do)
}

// each calls f for every row in the order of the primary key, and returns their number and a
// checksum over them.
func (t copyTable) each(ctx context.Context, tx *sql.Tx, f func(row []any) error) (n int, sum [sha256.Size]byte, err error) {
	h := sha256.New()
	rows, err := tx.QueryContext(ctx, fmt.Sprintf("SELECT %s FROM %s ORDER BY %s", strings.Join(t.columns, ", "), t.name, strings.Join(t.key, ", ")))
	err = scanAll(rows, err, func(r *sql.Rows) error {
		row := make([]any, len(t.columns))
		to := make([]any, len(row))
		for i := range row {
			to[i] = &row[i]
		}
		if err := r.Scan(to...); err != nil {
			return err
		}
		for i, v := range row {
			if b, ok := v.([]byte); ok && b == nil {
				row[i] = []byte{} // nil, as SQLite's driver returns a BLOB without bytes, would be stored as NULL
			}
			addToSum(h, row[i])
		}
		n++
		return f(row)
	})
	h.Sum(sum[:0])
	return n, sum, err
}

// addToSum writes a value of a row to a checksum, with its type and length.
func addToSum(h hash.Hash, v any) {
	kind, raw := byte('0'), []byte(nil)
	switch v := v.(type) {
	case int64:
		kind, raw = 'i', binary.BigEndian.AppendUint64(nil, uint64(v))
	case string:
		kind, raw = 's', []byte(v)
	case []byte:
		kind, raw = 'b', v
	}
	h.Write(binary.AppendUvarint([]byte{kind}, uint64(len(raw))))
	h.Write(raw)
}

// copyAll stores all blobs of another store. Put checks that they come back under the same name.
func (b *Blobs) copyAll(ctx context.Context, from *Blobs) (n int, err error) {
	all, err := from.names(ctx)
	if err != nil {
		return 0, err
	}
	for _, sha := range all {
		f, err := from.Open(sha)
		if err != nil {
			return n, err
		}
		got, _, err := b.Put(ctx, f)
		if err := errors.Join(err, f.Close()); err != nil {
			return n, err
		}
		if got != sha {
			return n, fmt.Errorf("the original %s is damaged in the source: its bytes are those of %s", sha, got)
		}
		n++
	}
	return n, nil
}

// names returns the names of all blobs.
func (b *Blobs) names(ctx context.Context) (all []string, err error) {
	if b.shared != nil {
		return column[string](b.shared.db.read.QueryContext(ctx, "SELECT sha256 FROM blobs ORDER BY sha256"))
	}
	err = fs.WalkDir(b.root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return errors.Join(err, ctx.Err())
		}
		if sha := path.Base(name); sha != "" {
			if want, err := blobPath(sha); err == nil && want == name {
				all = append(all, sha)
			}
		}
		return nil
	})
	return all, err
}
