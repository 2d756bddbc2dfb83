package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"parley/internal/access"
	"parley/internal/chat"
)

// Users finds and deletes what is stored about one user.
type Users struct{ corpus, state *database }

// Users returns what is stored about users.
func (d *DB) Users() *Users { return &Users{d.corpus.db, d.state.db} }

// personal is a table with rows about users.
type personal struct {
	table   string
	kind    string // of the records in an export; "" for rows that tell nothing new
	corpus  bool   // the table is in the corpus, from which package documents deletes
	where   string // selects the rows of a user: ? is the subject
	args    func(subject string) []any
	signsIn bool     // with these rows the user signs in
	hidden  []string // columns that are secret, or that only Parley understands
	json    []string // columns that hold JSON

	// update removes the name when the user is deleted; "" deletes the rows instead.
	update string
	keeps  bool // a deletion leaves the rows alone: they stay, or are deleted with rows of another table
}

// rightsOf selects access lists that name a user.
const rightsOf = `revision IN (SELECT revision FROM document_access WHERE kind = 0 AND value = ?)`

// nameless removes names from the ledger. The ids that clients give users and conversations may also be names.
const nameless = `owner = '` + access.Deleted + `', account_user = '', conversation_id = '', account_conversation = ''`

// aboutUsers are all tables with rows about users, in the order of an export. A test compares it with the schema.
var aboutUsers = []personal{
	{table: "conversations", kind: "conversation", where: "owner = ?", hidden: []string{"origin"}},
	{table: "turns", kind: "turn", where: "owner = ?", hidden: []string{"origin"}, json: []string{"stages"}},
	{table: "messages", kind: "message", where: "turn_id IN (SELECT id FROM turns WHERE owner = ?)", keeps: true,
		json: []string{"parts", "citations", "doubts", "tool_calls"}},
	{table: "said", where: "turn_id IN (SELECT id FROM turns WHERE owner = ?)", keeps: true}, // the messages once more
	{table: "transcripts", kind: "chat", where: "owner = ?", hidden: []string{"origin"}},
	{table: "transcript_messages", kind: "chat_message", keeps: true, where: "transcript IN (SELECT key FROM transcripts WHERE owner = ?)", json: []string{"body"}},
	{table: "shelf", kind: "prompt", where: "owner = ? AND kind = 'prompt'", json: []string{"body"}},
	{table: "shelf", kind: "folder", where: "owner = ? AND kind = 'folder'", json: []string{"body"}},
	{table: "shelf", kind: "file_or_store", where: "owner = ? AND kind NOT IN ('prompt', 'folder')", json: []string{"body"}},
	{table: "jobs", kind: "job", where: "owner = ?", hidden: []string{"origin"}, json: []string{"request", "counts", "files"}},
	{table: "accounts", kind: "totals", where: "owner = ?"},
	{table: "ledger", kind: "usage", where: "owner = ?", update: nameless},
	{table: "intents", kind: "usage_unfinished", where: "owner = ?", update: nameless},
	{table: "idempotency", kind: "idempotency_key", where: "owner = ?", hidden: []string{"body", "events"}},
	{table: "sessions", kind: "session", signsIn: true, where: "subject = ?", hidden: []string{"hash", "sealed"}, json: []string{"claims"}},
	{table: "api_keys", kind: "key", signsIn: true, where: "id = ?", hidden: []string{"hash"}, json: []string{"namespaces", "routes"}, args: func(subject string) []any {
		id, ok := strings.CutPrefix(subject, access.KeyPrefix)
		return []any{sql.NullString{String: id, Valid: ok}}
	}},
	{table: "members", kind: "membership", where: "kind = 0 AND member = ?"},
	{table: "audit", kind: "audit", where: "subject = ?", json: []string{"entry"}, keeps: true},
	{table: "documents", kind: "document", corpus: true, where: "owner = ?", keeps: true},
	{table: "document_access", kind: "named_in_rights", corpus: true, where: rightsOf + " AND kind = 0 AND value = ?", keeps: true,
		args: func(subject string) []any { return []any{subject, subject} }},
	{table: "document_said", kind: "named_in_files", corpus: true, where: "kind = 0 AND value = ?", keeps: true},
	{table: "access_rules", kind: "rule", corpus: true, where: "owner = ?", keeps: true}, // goes with the document
	{table: "access_rule_names", kind: "named_in_rule", corpus: true, where: "(kind = 0 AND value = ?) OR owner = ?", keeps: true,
		args: func(subject string) []any { return []any{subject, subject} }},
}

func (p personal) arguments(subject string) []any {
	if p.args != nil {
		return p.args(subject)
	}
	return []any{subject}
}

// Records calls each with everything that is stored about a user, one record at a time as an object of JSON.
func (u *Users) Records(ctx context.Context, subject string, each func(kind string, record []byte) error) error {
	for _, corpus := range []bool{false, true} {
		db := u.state
		if corpus {
			db = u.corpus
		}
		err := db.viewOnce(ctx, "read what is stored about a user", func(tx *sql.Tx) error {
			for _, p := range aboutUsers {
				if p.corpus != corpus || p.kind == "" {
					continue
				}
				if err := p.records(ctx, tx, subject, each); err != nil {
					return fmt.Errorf("%s: %w", p.table, err)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (p personal) records(ctx context.Context, tx *sql.Tx, subject string, each func(string, []byte) error) error {
	rows, err := tx.QueryContext(ctx, "SELECT * FROM "+p.table+" WHERE "+p.where, p.arguments(subject)...)
	if err != nil {
		return err
	}
	columns, err := rows.Columns()
	if err != nil {
		return errors.Join(err, rows.Close())
	}
	return scanAll(rows, nil, func(r *sql.Rows) error {
		values, to := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			to[i] = &values[i]
		}
		if err := r.Scan(to...); err != nil {
			return err
		}
		record := map[string]any{}
		for i, name := range columns {
			if !slices.Contains(p.hidden, name) {
				record[name] = p.shown(name, values[i])
			}
		}
		line, err := json.Marshal(record)
		if err != nil {
			return err
		}
		return each(p.kind, line)
	})
}

// shown returns the value of a column for JSON.
func (p personal) shown(column string, v any) any {
	if b, ok := v.([]byte); ok {
		if !utf8.Valid(b) {
			return b // in base64
		}
		v = string(b)
	}
	switch v := v.(type) {
	case string:
		if slices.Contains(p.json, column) && json.Valid([]byte(v)) {
			return json.RawMessage(v)
		}
	case int64:
		if column == "at" || strings.HasSuffix(column, "_at") {
			if v == 0 {
				return nil
			}
			return fromMicros(v)
		}
	}
	return v
}

// Mark ends the sessions and keys of a user, and makes sure that no request that began earlier still saves
// anything for them: see access.WithStart. When it returns, all saves in progress have ended.
func (u *Users) Mark(ctx context.Context, subject string, at time.Time) error {
	return u.state.update(ctx, "mark a user as deleted", func(tx *sql.Tx) error {
		if !u.state.dialect.oneWriter {
			// This waits for transactions that have not seen the mark, and makes new ones wait for it.
			if _, err := tx.ExecContext(ctx, "LOCK TABLE deletions IN ACCESS EXCLUSIVE MODE"); err != nil {
				return err
			}
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO deletions (subject, at) VALUES (?, ?) ON CONFLICT (subject) DO UPDATE SET at = excluded.at`,
			hashOf(subject), micros(at))
		for _, p := range aboutUsers {
			if err == nil && p.signsIn {
				_, err = tx.ExecContext(ctx, "DELETE FROM "+p.table+" WHERE "+p.where, p.arguments(subject)...)
			}
		}
		return err
	})
}

// Delete marks a user, and deletes what is stored about them outside the corpus. It returns the number of deleted rows of each
// kind. The ledger keeps its amounts without the name, and the audit log keeps its entries.
func (u *Users) Delete(ctx context.Context, subject string, at time.Time) (deleted map[string]int, err error) {
	if err := u.Mark(ctx, subject, at); err != nil {
		return nil, err
	}
	err = u.state.update(ctx, "delete a user", func(tx *sql.Tx) error {
		deleted = map[string]int{}
		for _, p := range aboutUsers {
			if p.corpus || p.keeps {
				continue
			}
			if p.update != "" {
				if _, err := tx.ExecContext(ctx, "UPDATE "+p.table+" SET "+p.update+" WHERE "+p.where, p.arguments(subject)...); err != nil {
					return fmt.Errorf("%s: %w", p.table, err)
				}
				continue
			}
			n, err := affected(tx.ExecContext(ctx, "DELETE FROM "+p.table+" WHERE "+p.where, p.arguments(subject)...))
			if err != nil {
				return fmt.Errorf("%s: %w", p.table, err)
			}
			if n > 0 {
				deleted[p.kind] = n
			}
		}
		return countMembersChange(ctx, tx)
	})
	return deleted, err
}

// Subjects returns the users who have stored data, sorted. The ledger and the audit log do not count.
func (u *Users) Subjects(ctx context.Context) (all []string, err error) {
	for _, corpus := range []bool{false, true} {
		db := u.state
		if corpus {
			db = u.corpus
		}
		for _, p := range aboutUsers {
			name, _, own := strings.Cut(p.where, " = ?")
			if !own || p.corpus != corpus || p.update != "" || p.table == "audit" || name != "owner" && name != "subject" {
				continue
			}
			some, err := column[string](db.read.QueryContext(ctx, "SELECT DISTINCT "+name+" FROM "+p.table+" WHERE "+name+" <> ''"))
			if err != nil {
				return nil, db.fail("list users", err)
			}
			all = append(all, some...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

func hashOf(subject string) string {
	sum := sha256.Sum256([]byte(subject))
	return hex.EncodeToString(sum[:])
}

// deletionAge is the time for which a deletion is remembered. It is longer than any request runs.
const deletionAge = 24 * time.Hour

// ForgetDeletions removes the marks of deletions that are older than any running request, and returns how
// many.
func (u *Users) ForgetDeletions(ctx context.Context, now time.Time) (n int, err error) {
	err = u.state.update(ctx, "forget deletions", func(tx *sql.Tx) error {
		n, err = affected(tx.ExecContext(ctx, "DELETE FROM deletions WHERE at < ?", micros(now.Add(-deletionAge))))
		return err
	})
	return n, err
}

// errDeleted is the error of saving something for a request that began before its user was deleted.
var errDeleted = &chat.Error{Kind: chat.Forbidden, Msg: "This user was deleted meanwhile, so nothing was saved."}

// writer is the user whose data a request writes.
type writer struct {
	owner string
	start time.Time // of the request; zero for work of the program itself
}

// writerOf returns the writer of a request. The context of a shared transaction (database.commit) may be that of another one.
func writerOf(ctx context.Context, owner string) writer { return writer{owner, access.Start(ctx)} }

// check returns errDeleted if the user was deleted since the request began. A transaction calls it before it writes anything.
func (w writer) check(ctx context.Context, tx *sql.Tx) error {
	gone, err := w.gone(ctx, tx)
	if err == nil && gone {
		return errDeleted
	}
	return err
}

// permanent reports whether the writer cannot have been deleted.
func (w writer) permanent() bool { return w.owner == "" || w.start.IsZero() }

func (w writer) gone(ctx context.Context, tx *sql.Tx) (gone bool, err error) {
	if w.permanent() {
		return false, nil
	}
	err = tx.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM deletions WHERE subject = ? AND at >= ?)", hashOf(w.owner), micros(w.start)).Scan(&gone)
	return gone, err
}
