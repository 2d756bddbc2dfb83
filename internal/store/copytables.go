package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"fmt"
	"hash"
	"strings"
)

// counters is the only table that has rows in a new database.
const counters = "counters"

// copyTables copies all rows of one part of a database.
func copyTables(ctx context.Context, to, from *database, report func(Copied)) error {
	tables, err := to.tables(ctx)
	if err != nil {
		return to.fail("list tables", err)
	}
	return from.viewOnce(ctx, "copy", func(source *sql.Tx) error {
		for _, t := range tables {
			n, sum, err := t.copy(ctx, to, source)
			if err != nil {
				return fmt.Errorf("%s: %w", t.name, err)
			}
			var there int
			var thereSum rowSum
			err = to.viewOnce(ctx, "compare", func(target *sql.Tx) (err error) {
				there, thereSum, err = t.each(ctx, target, func([]any) error { return nil })
				return err
			})
			if err != nil {
				return fmt.Errorf("%s: %w", t.name, err)
			}
			if there != n || thereSum != sum {
				return changedError(t.name, there, n)
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

// tables returns the tables that both kinds of databases have, in the order in which they were created, so that a table
// follows those to which it refers.
func (d *database) tables(ctx context.Context) (all []copyTable, err error) {
	query := `SELECT t.name, c.name, c.pk FROM sqlite_master t, pragma_table_xinfo(t.name) c
		WHERE t.type = 'table' AND t.name <> 'migrations' AND t.name NOT LIKE 'sqlite%' AND c.hidden = 0 ORDER BY t.rowid, c.cid`
	if !d.dialect.oneWriter {
		query = `SELECT t.relname, c.attname, COALESCE(array_position(k.conkey, c.attnum), 0)
			FROM pg_class t JOIN pg_attribute c ON c.attrelid = t.oid LEFT JOIN pg_constraint k ON k.conrelid = t.oid AND k.contype = 'p'
			WHERE t.relnamespace = current_schema()::regnamespace AND t.relkind = 'r' AND t.relpersistence = 'p' AND c.attnum > 0 AND NOT c.attisdropped
			AND c.attgenerated = '' AND t.relname NOT IN ('migrations', 'about', 'blobs', 'blob_parts', 'upload_files', 'upload_parts') ORDER BY t.oid, c.attnum`
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

// A transaction of a copy has up to copyRows rows, and ends when it has copyBytes bytes.
const (
	copyRows  = 500
	copyBytes = 8 << 20
)

// copy writes the rows of a table that the target does not have yet, and returns the number and the checksum of all rows of
// the table.
func (t copyTable) copy(ctx context.Context, to *database, source *sql.Tx) (n int, sum rowSum, err error) {
	have, err := t.begin(ctx, to)
	if err != nil {
		return 0, sum, err
	}
	var batch [][]any
	seen, bytes := 0, 0
	n, sum, err = t.each(ctx, source, func(row []any) error {
		if seen++; seen <= have {
			return nil // an interrupted copy wrote it: rows are copied in one order
		}
		batch = append(batch, row)
		if bytes += bytesOf(row); len(batch) < copyRows && bytes < copyBytes {
			return nil
		}
		err := t.insert(ctx, to, batch)
		batch, bytes = batch[:0], 0
		return err
	})
	if err == nil && len(batch) > 0 {
		err = t.insert(ctx, to, batch)
	}
	return n, sum, err
}

// begin removes the rows that a new database has, and returns the number of rows that the target has then.
func (t copyTable) begin(ctx context.Context, to *database) (have int, err error) {
	err = to.update(ctx, "prepare a table", func(tx *sql.Tx) error {
		if t.name == counters {
			if _, err := tx.ExecContext(ctx, "DELETE FROM "+t.name); err != nil {
				return err
			}
		}
		return tx.QueryRowContext(ctx, "SELECT COUNT(*) FROM "+t.name).Scan(&have)
	})
	return have, err
}

func bytesOf(row []any) (bytes int) {
	for _, v := range row {
		switch v := v.(type) {
		case string:
			bytes += len(v)
		case []byte:
			bytes += len(v)
		}
	}
	return bytes
}

func (t copyTable) insert(ctx context.Context, to *database, rows [][]any) error {
	return to.update(ctx, "write rows", func(tx *sql.Tx) error {
		stmt, err := tx.PrepareContext(ctx, fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s)", t.name, strings.Join(t.columns, ", "), placeholders(len(t.columns))))
		if err != nil {
			return err
		}
		defer stmt.Close()
		for _, row := range rows {
			if _, err := stmt.ExecContext(ctx, row...); err != nil {
				return err
			}
		}
		return nil
	})
}

// each calls f for every row in the order of the primary key, and returns the number and the checksum
// of the rows.
func (t copyTable) each(ctx context.Context, tx *sql.Tx, f func(row []any) error) (n int, sum rowSum, err error) {
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
		h.Reset()
		for i, v := range row {
			if b, ok := v.([]byte); ok && b == nil {
				row[i] = []byte{} // nil, as SQLite's driver returns a BLOB without bytes, would be stored as NULL
			}
			addToSum(h, row[i])
		}
		sum.add(h.Sum(nil))
		n++
		return f(row)
	})
	return n, sum, err
}

// rowSum is a checksum of rows whatever their order: databases do not sort the same text in the same
// way if it had to be encoded. It is the sum of the rows' SHA-256.
type rowSum [sha256.Size / 8]uint64

func (s *rowSum) add(sum []byte) {
	for i := range s {
		s[i] += binary.LittleEndian.Uint64(sum[8*i:])
	}
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
