package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"parley/internal/access"
	"parley/internal/chat"
	"parley/internal/ledger"
	"parley/internal/turn"
)

// callColumns are the columns known before a call is made, common to both tables of calls.
const callColumns = `id, namespace, owner, conversation_id, account_user, account_conversation, turn_id, stage,
	provider, model, estimated_input, created_at`

const insertIntent = `INSERT INTO intents (` + callColumns + `)
	VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

// Intend commits a new entry durably. It has no name if its user was deleted meanwhile.
func (s *State) Intend(ctx context.Context, e ledger.Entry) error {
	user := writerOf(ctx, e.Scope.Owner)
	if user.permanent() {
		return s.db.updateOne(ctx, "write ledger", insertIntent, intentArgs(e)...)
	}
	into, err := s.db.preparedWrite(ctx, insertIntent)
	if err != nil {
		return s.db.fail("write ledger", err)
	}
	return s.db.commit(ctx, "write ledger", func(ctx context.Context, tx *sql.Tx) error {
		gone, err := user.gone(ctx, tx)
		if err != nil {
			return err
		}
		named := e
		if gone {
			named.Scope.Owner, named.ConversationID, named.Account = access.Deleted, "", chat.Account{}
		}
		_, err = tx.StmtContext(ctx, into).ExecContext(ctx, intentArgs(named)...)
		return err
	})
}

func intentArgs(e ledger.Entry) []any {
	return []any{e.ID, e.Scope.Namespace, e.Scope.Owner, e.ConversationID, e.Account.User, e.Account.Conversation,
		e.TurnID, string(e.Stage), e.Provider, e.Model, e.EstimatedInput, micros(e.CreatedAt)}
}

// insertFree enters a call as already settled, because it is free.
const insertFree = `INSERT INTO ledger (` + callColumns + `, status, input_tokens, output_tokens, cached_tokens,
	reasoning_tokens, estimated, cost_micros, settled_at)
	VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

func insertEntry(ctx context.Context, into *sql.Stmt, e ledger.Entry) error {
	_, err := into.ExecContext(ctx, e.ID, e.Scope.Namespace, e.Scope.Owner, e.ConversationID,
		e.Account.User, e.Account.Conversation, e.TurnID, string(e.Stage), e.Provider, e.Model,
		e.EstimatedInput, micros(e.CreatedAt), string(e.Status), e.Usage.Input, e.Usage.Output, e.Usage.Cached,
		e.Usage.Reasoning, flag(e.Usage.Estimated), costOf(e), micros(e.SettledAt))
	return err
}

// Statements that record the end of a call. They move the entry to the ledger, or update an entry
// there that is marked as interrupted.
const (
	settleCall = `INSERT INTO ledger (` + callColumns + `, status, input_tokens, output_tokens, cached_tokens,
		reasoning_tokens, estimated, cost_micros, settled_at)
		SELECT ` + callColumns + `, ?, ?, ?, ?, ?, ?, ?, ? FROM intents WHERE id = ? /* lock */`
	forgetIntent = "DELETE FROM intents WHERE id = ?"
	settleAgain  = `UPDATE ledger SET status = ?, input_tokens = ?, output_tokens = ?, cached_tokens = ?,
		reasoning_tokens = ?, estimated = ?, cost_micros = ?, settled_at = ? WHERE id = ? AND turn_id = ?`
)

// Settle records the outcome of an entry and adds it to its account. A settled entry does not
// change, except that an interrupted entry is replaced by the real outcome of its call.
func (s *State) Settle(ctx context.Context, e ledger.Entry) error {
	into, err := s.settling(ctx)
	if err != nil {
		return s.db.fail("settle ledger", err)
	}
	user := writerOf(ctx, e.Scope.Owner)
	return s.db.commit(ctx, "settle ledger", func(ctx context.Context, tx *sql.Tx) error {
		gone, err := user.gone(ctx, tx)
		if err != nil {
			return err
		}
		return into.write(ctx, tx, e, gone)
	})
}

// settleStatements are the statements that settle an entry within a transaction.
type settleStatements struct{ settle, forget, add *sql.Stmt }

func (s *State) settling(ctx context.Context) (into settleStatements, err error) {
	for query, stmt := range map[string]**sql.Stmt{
		settleCall: &into.settle, forgetIntent: &into.forget, addToAccount: &into.add,
	} {
		if *stmt, err = s.db.preparedWrite(ctx, query); err != nil {
			return into, err
		}
	}
	return into, nil
}

// write settles an entry. If the user was deleted, the account was deleted too.
func (into settleStatements) write(ctx context.Context, tx *sql.Tx, e ledger.Entry, gone bool) error {
	var sum ledger.Totals
	moved, err := affects(tx.StmtContext(ctx, into.settle).ExecContext(ctx, settleArgs(e)...))
	if err != nil {
		return err
	}
	if moved {
		_, err = tx.StmtContext(ctx, into.forget).ExecContext(ctx, e.ID)
	} else {
		old, found := interrupted(ctx, tx, e)
		if errors.Is(found, sql.ErrNoRows) || found == nil && e.Status == ledger.Interrupted {
			return nil // already settled
		}
		if found != nil {
			return found
		}
		sum.Add(old, -1)
		_, err = tx.ExecContext(ctx, settleAgain, append(settleArgs(e), e.TurnID)...)
	}
	if err != nil {
		return err
	}
	if gone {
		return nil
	}
	sum.Add(e, 1)
	return addTotals(ctx, tx.StmtContext(ctx, into.add), e.AccountKey(), sum)
}

func settleArgs(e ledger.Entry) []any {
	return []any{string(e.Status), e.Usage.Input, e.Usage.Output, e.Usage.Cached, e.Usage.Reasoning,
		flag(e.Usage.Estimated), costOf(e), micros(e.SettledAt), e.ID}
}

func costOf(e ledger.Entry) sql.NullInt64 {
	return sql.NullInt64{Int64: e.Cost.Micros, Valid: e.Cost.Known}
}

func affected(result sql.Result, err error) (int, error) {
	if err != nil {
		return 0, err
	}
	n, err := result.RowsAffected()
	return int(n), err
}

func affects(result sql.Result, err error) (bool, error) {
	n, err := affected(result, err)
	return n > 0, err
}

// interrupted returns the amounts that an entry had added to its account when it was interrupted.
func interrupted(ctx context.Context, tx *sql.Tx, of ledger.Entry) (e ledger.Entry, err error) {
	var cost sql.NullInt64
	err = tx.QueryRowContext(ctx, `SELECT stage, input_tokens, output_tokens, estimated, cost_micros
		FROM ledger WHERE turn_id = ? AND id = ? AND status = ? /* lock */`, of.TurnID, of.ID, string(ledger.Interrupted)).
		Scan(&e.Stage, &e.Usage.Input, &e.Usage.Output, &e.Usage.Estimated, &cost)
	e.Cost = ledger.Cost{Micros: cost.Int64, Known: cost.Valid}
	return e, err
}

// Unsettled returns up to limit intents, oldest first.
func (s *State) Unsettled(ctx context.Context, limit int) ([]ledger.Entry, error) {
	all, err := s.entries(ctx, selectIntents+" ORDER BY created_at, id LIMIT ?", limit)
	return all, s.db.fail("read unsettled entries", err)
}

// Entries returns the entries of a turn, oldest first.
func (s *State) Entries(ctx context.Context, turnID string) ([]ledger.Entry, error) {
	all, err := s.entries(ctx, selectIntents+` WHERE turn_id = ? UNION ALL SELECT `+callColumns+`, status, input_tokens,
		output_tokens, cached_tokens, reasoning_tokens, estimated, cost_micros, settled_at FROM ledger WHERE turn_id = ?
		ORDER BY created_at, id`, turnID, turnID)
	return all, s.db.fail("read entries of a turn", err)
}

// selectIntents reads intents with the columns of ledger rows.
const selectIntents = `SELECT ` + callColumns + `, 'intent' AS status, 0 AS input_tokens, 0 AS output_tokens,
	0 AS cached_tokens, 0 AS reasoning_tokens, 0 AS estimated, NULL AS cost_micros, 0 AS settled_at FROM intents`

func (s *State) entries(ctx context.Context, query string, args ...any) ([]ledger.Entry, error) {
	stmt, err := s.db.prepared(query)
	if err != nil {
		return nil, err
	}
	rows, err := stmt.QueryContext(ctx, args...)
	return scanList(rows, err, func(r *sql.Rows, e *ledger.Entry) error {
		var cost sql.NullInt64
		var created, settled int64
		err := r.Scan(&e.ID, &e.Scope.Namespace, &e.Scope.Owner, &e.ConversationID, &e.Account.User,
			&e.Account.Conversation, &e.TurnID, &e.Stage, &e.Provider, &e.Model, &e.EstimatedInput,
			&created, &e.Status, &e.Usage.Input, &e.Usage.Output, &e.Usage.Cached, &e.Usage.Reasoning,
			&e.Usage.Estimated, &cost, &settled)
		e.Cost = ledger.Cost{Micros: cost.Int64, Known: cost.Valid}
		e.CreatedAt, e.SettledAt = fromMicros(created), fromMicros(settled)
		return err
	})
}

// Answered returns the stored result of a key, or turn.ErrNotFound.
func (s *State) Answered(ctx context.Context, k turn.Key) (turn.Answered, error) {
	a := turn.Answered{Key: k}
	stmt, err := s.db.prepared(`SELECT body, turn_id, events, created_at FROM idempotency
		WHERE owner = ? AND route = ? AND value = ?`)
	if err != nil {
		return a, s.db.fail("read key", err)
	}
	var body []byte
	var at int64
	err = stmt.QueryRowContext(ctx, k.Owner, k.Route, k.Value).Scan(&body, &a.TurnID, &a.Events, &at)
	if errors.Is(err, sql.ErrNoRows) {
		return a, turn.ErrNotFound
	}
	copy(a.Body[:], body)
	a.At = fromMicros(at)
	return a, s.db.fail("read key", err)
}

// insertAnswered stores a key. An expired row of the same key may still exist.
func insertAnswered(ctx context.Context, tx *sql.Tx, a *turn.Answered) error {
	if a == nil {
		return nil
	}
	before := micros(a.At.Add(-turn.KeyLifetime))
	_, err := tx.ExecContext(ctx, "DELETE FROM idempotency WHERE owner = ? AND route = ? AND value = ? AND created_at < ?",
		a.Owner, a.Route, a.Value, before)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO idempotency (owner, route, value, body, turn_id, events, created_at)
		VALUES (?, ?, ?, ?, ?, ?, ?)`, a.Owner, a.Route, a.Value, a.Body[:], a.TurnID, a.Events, micros(a.At))
	if isUnique(err) {
		return turn.ErrConflict
	}
	return err
}

// Forget deletes up to limit keys that were answered before a time.
func (s *State) Forget(ctx context.Context, before time.Time, limit int) (n int, err error) {
	err = s.db.update(ctx, "forget keys", func(tx *sql.Tx) error {
		n, err = affected(tx.ExecContext(ctx, `DELETE FROM idempotency WHERE (owner, route, value) IN
			(SELECT owner, route, value FROM idempotency WHERE created_at < ? ORDER BY created_at LIMIT ?)`, micros(before), limit))
		return err
	})
	return n, err
}
