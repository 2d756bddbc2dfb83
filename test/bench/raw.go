package main

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the driver that the store uses

	"parley/internal/store"
)

// stateFile is the file of a data folder that holds conversations and the ledger.
const stateFile = "state.db"

// turnTables are the tables with rows of a turn, each with the column of the turn's id.
var turnTables = [][2]string{{"turns", "id"}, {"messages", "turn_id"}, {"ledger", "turn_id"}, {"said", "turn_id"}}

// rows are the rows of one table, by turn.
type rows struct {
	insert string
	byTurn map[string][][]any
}

// commitRaw copies the rows of all turns from one data folder to a new one, with as many commits as
// the turns made, and returns how long that took.
func commitRaw(ctx context.Context, k durable, from, to string) (time.Duration, error) {
	source, err := openRaw(ctx, from)
	if err != nil {
		return 0, err
	}
	defer source.Close()
	tables := map[string]rows{}
	for _, t := range append([][2]string{{"conversations", "''"}}, turnTables...) {
		if tables[t[0]], err = readRows(ctx, source, t[0], t[1]); err != nil {
			return 0, err
		}
	}
	turns, err := readRows(ctx, source, "turns", "conversation_id")
	if err != nil {
		return 0, err
	}
	empty, err := store.Open(ctx, to, nil)
	if err != nil {
		return 0, err
	}
	if err := empty.Close(); err != nil {
		return 0, err
	}
	target, err := openRaw(ctx, to)
	if err != nil {
		return 0, err
	}
	defer target.Close()
	for _, row := range tables["conversations"].byTurn[""] {
		if _, err := target.ExecContext(ctx, tables["conversations"].insert, row...); err != nil {
			return 0, fmt.Errorf("insert a conversation: %w", err)
		}
	}
	w, err := prepareRaw(ctx, target, tables)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	for conversation, all := range turns.byTurn {
		for _, row := range all {
			if err := w.turn(ctx, k, conversation, row[0].(string), tables); err != nil {
				return 0, fmt.Errorf("commit a turn: %w", err)
			}
		}
	}
	return time.Since(began), nil
}

// openRaw opens the state database of a data folder on one connection, with the store's pragmas.
func openRaw(ctx context.Context, dir string) (*sql.DB, error) {
	u := url.URL{Scheme: "file", Path: filepath.ToSlash(filepath.Join(dir, stateFile)), OmitHost: true}
	db, err := sql.Open("sqlite", u.String()+"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=foreign_keys(1)&_txlock=immediate")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	return db, db.PingContext(ctx)
}

// readRows reads a whole table.
func readRows(ctx context.Context, db *sql.DB, table, by string) (rows, error) {
	found, err := db.QueryContext(ctx, "SELECT "+by+", * FROM "+table)
	if err != nil {
		return rows{}, fmt.Errorf("read %s: %w", table, err)
	}
	defer found.Close()
	columns, err := found.Columns()
	if err != nil {
		return rows{}, err
	}
	r := rows{byTurn: map[string][][]any{}}
	r.insert = fmt.Sprintf("INSERT INTO %s (%s) VALUES (?%s)", table, strings.Join(columns[1:], ", "), strings.Repeat(", ?", len(columns)-2))
	for found.Next() {
		var id string
		row := make([]any, len(columns)-1)
		to := []any{&id}
		for i := range row {
			to = append(to, &row[i])
		}
		if err := found.Scan(to...); err != nil {
			return rows{}, fmt.Errorf("read %s: %w", table, err)
		}
		r.byTurn[id] = append(r.byTurn[id], row)
	}
	return r, found.Err()
}

// rawWriter is a connection with prepared statements.
type rawWriter struct {
	db      *sql.DB
	inserts map[string]*sql.Stmt
	settle  *sql.Stmt
	touch   *sql.Stmt
	account *sql.Stmt
}

func prepareRaw(ctx context.Context, db *sql.DB, tables map[string]rows) (w rawWriter, err error) {
	w = rawWriter{db: db, inserts: map[string]*sql.Stmt{}}
	for _, t := range turnTables {
		if w.inserts[t[0]], err = db.PrepareContext(ctx, tables[t[0]].insert); err != nil {
			return w, err
		}
	}
	for query, to := range map[string]**sql.Stmt{
		"UPDATE ledger SET status = 'completed', settled_at = created_at WHERE id = ?":                                    &w.settle,
		"UPDATE conversations SET turns = turns + 1, completed = completed + 1, updated_at = updated_at + 1 WHERE id = ?": &w.touch,
		`INSERT INTO accounts (owner, stored, account_user, conversation, turns, embedding_tokens, embedding_micros,
			input_tokens, output_tokens, micros, unpriced, estimated) VALUES ('', 1, '', ?, 1, 0, 0, 900, 240, 118, 0, 0)
			ON CONFLICT DO UPDATE SET turns = turns + 1, input_tokens = input_tokens + 900, output_tokens = output_tokens + 240,
			micros = micros + 118`: &w.account,
	} {
		if *to, err = db.PrepareContext(ctx, query); err != nil {
			return w, err
		}
	}
	return w, nil
}

// turn commits the rows of one turn.
func (w rawWriter) turn(ctx context.Context, k durable, conversation, id string, tables map[string]rows) error {
	if k.paid {
		for _, row := range tables["ledger"].byTurn[id] {
			if _, err := w.inserts["ledger"].ExecContext(ctx, row...); err != nil {
				return err
			}
		}
	}
	tx, err := w.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // does nothing after a commit
	for _, t := range turnTables {
		if k.paid && t[0] == "ledger" {
			for _, row := range tables["ledger"].byTurn[id] {
				if _, err := tx.StmtContext(ctx, w.settle).ExecContext(ctx, row[0]); err != nil {
					return err
				}
			}
			continue
		}
		for _, row := range tables[t[0]].byTurn[id] {
			if _, err := tx.StmtContext(ctx, w.inserts[t[0]]).ExecContext(ctx, row...); err != nil {
				return err
			}
		}
	}
	for _, stmt := range []*sql.Stmt{w.touch, w.account} {
		if _, err := tx.StmtContext(ctx, stmt).ExecContext(ctx, conversation); err != nil {
			return err
		}
	}
	return tx.Commit()
}
