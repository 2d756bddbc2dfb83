package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"parley/internal/ident"
	"parley/internal/ledger"
)

// addToAccount adds to an account's totals and creates the account if it is missing.
const addToAccount = `INSERT INTO accounts (owner, stored, account_user, conversation, turns,
	embedding_tokens, embedding_micros, input_tokens, output_tokens, micros, unpriced, estimated, used_at)
	VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
	ON CONFLICT (owner, stored, account_user, conversation) DO UPDATE SET
	turns = accounts.turns + excluded.turns,
	embedding_tokens = accounts.embedding_tokens + excluded.embedding_tokens,
	embedding_micros = accounts.embedding_micros + excluded.embedding_micros,
	input_tokens = accounts.input_tokens + excluded.input_tokens,
	output_tokens = accounts.output_tokens + excluded.output_tokens,
	micros = accounts.micros + excluded.micros,
	unpriced = accounts.unpriced + excluded.unpriced,
	estimated = accounts.estimated + excluded.estimated, used_at = excluded.used_at`

func addTotals(ctx context.Context, into *sql.Stmt, k ledger.AccountKey, t ledger.Totals) error {
	if k.IsZero() || t == (ledger.Totals{}) {
		return nil
	}
	_, err := into.ExecContext(ctx, k.Owner, flag(k.Stored), k.User, k.Conversation, t.Turns,
		t.EmbeddingTokens, t.EmbeddingMicros, t.InputTokens, t.OutputTokens, t.Micros, t.Unpriced, t.Estimated, micros(time.Now()))
	return err
}

// Totals returns the totals of an account. An unknown account has zero totals.
func (s *State) Totals(ctx context.Context, k ledger.AccountKey) (t ledger.Totals, err error) {
	stmt, err := s.db.prepared(`SELECT turns, embedding_tokens, embedding_micros, input_tokens, output_tokens,
		micros, unpriced, estimated FROM accounts WHERE owner = ? AND stored = ? AND account_user = ? AND conversation = ?`)
	if err != nil {
		return t, s.db.fail("read totals", err)
	}
	err = stmt.QueryRowContext(ctx, k.Owner, flag(k.Stored), k.User, k.Conversation).
		Scan(&t.Turns, &t.EmbeddingTokens, &t.EmbeddingMicros, &t.InputTokens, &t.OutputTokens, &t.Micros,
			&t.Unpriced, &t.Estimated)
	if errors.Is(err, sql.ErrNoRows) {
		return ledger.Totals{}, nil
	}
	return t, s.db.fail("read totals", err)
}

// ClearTotals sets the totals of an account to zero.
func (s *State) ClearTotals(ctx context.Context, k ledger.AccountKey) (had bool, err error) {
	err = s.db.update(ctx, "clear totals", func(tx *sql.Tx) error {
		had, err = affects(clearTotals(ctx, tx, k))
		return err
	})
	return had, err
}

func clearTotals(ctx context.Context, tx *sql.Tx, k ledger.AccountKey) (sql.Result, error) {
	return tx.ExecContext(ctx, `DELETE FROM accounts
		WHERE owner = ? AND stored = ? AND account_user = ? AND conversation = ?`,
		k.Owner, flag(k.Stored), k.User, k.Conversation)
}

const microsOfDay = int64(24 * time.Hour / time.Microsecond)

// usageColumns are the ledger columns that each dimension groups by, in the order in which
// scanUsage reads them.
var usageColumns = map[ledger.Dimension][]string{
	ledger.ByDay:          {fmt.Sprintf("created_at / %d", microsOfDay)},
	ledger.ByNamespace:    {"namespace"},
	ledger.ByUser:         {"owner", "account_user"},
	ledger.ByConversation: {"CASE WHEN conversation_id <> '' THEN 1 ELSE 0 END", "CASE WHEN conversation_id <> '' THEN conversation_id ELSE account_conversation END"},
	ledger.ByModel:        {"provider", "model"},
	ledger.ByStage:        {"stage"},
	ledger.ByTurn:         {"turn_id"},
}

// Usage returns sums of settled entries, grouped as the query says.
func (s *State) Usage(ctx context.Context, q ledger.UsageQuery) (all []ledger.UsageRow, err error) {
	var columns []string
	for _, d := range q.By {
		columns = append(columns, usageColumns[d]...)
	}
	query := strings.Builder{}
	query.WriteString("SELECT ")
	for _, c := range columns {
		query.WriteString(c + ", ")
	}
	query.WriteString(`COUNT(DISTINCT NULLIF(turn_id, '')), COUNT(*), COALESCE(SUM(input_tokens), 0), COALESCE(SUM(output_tokens), 0),
		COALESCE(SUM(cached_tokens), 0), COALESCE(SUM(reasoning_tokens), 0), COALESCE(SUM(cost_micros), 0),
		COALESCE(SUM(CASE WHEN cost_micros IS NULL THEN 1 ELSE 0 END), 0), COALESCE(SUM(estimated), 0)
		FROM ledger WHERE TRUE`)
	var args []any
	for _, c := range []struct {
		condition string
		is        bool
		value     any
	}{
		// The ledger is ordered by turn. This narrows the range; the next condition decides.
		{" AND (turn_id >= ? OR turn_id = '')", !q.From.IsZero(), ident.Least(q.From.Add(-longestTurn))},
		{" AND created_at >= ?", !q.From.IsZero(), micros(q.From)},
		{" AND created_at < ?", !q.To.IsZero(), micros(q.To)},
		{" AND owner = ?", q.Owner != nil, q.Owner},
	} {
		if c.is {
			query.WriteString(c.condition)
			args = append(args, c.value)
		}
	}
	if len(columns) > 0 {
		by := strings.Join(columns, ", ")
		query.WriteString(" GROUP BY " + by + " ORDER BY " + by)
	}
	if q.Limit > 0 {
		query.WriteString(" LIMIT ? OFFSET ?")
		args = append(args, q.Limit, q.Offset)
	}
	rows, err := s.db.read.QueryContext(ctx, query.String(), args...)
	err = scanAll(rows, err, func(r *sql.Rows) error {
		u, err := scanUsage(r, q.By)
		if u.Calls > 0 { // without groups the query returns a row even when nothing matches
			all = append(all, u)
		}
		return err
	})
	return all, s.db.fail("read usage", err)
}

// longestTurn is the longest time between the beginning of a turn and one of its calls.
const longestTurn = 24 * time.Hour

func scanUsage(r *sql.Rows, by []ledger.Dimension) (u ledger.UsageRow, err error) {
	var day int64
	var to []any
	for _, d := range by {
		to = append(to, map[ledger.Dimension][]any{
			ledger.ByDay:          {&day},
			ledger.ByNamespace:    {&u.Namespace},
			ledger.ByUser:         {&u.Owner, &u.User},
			ledger.ByConversation: {&u.Stored, &u.Conversation},
			ledger.ByModel:        {&u.Provider, &u.Model},
			ledger.ByStage:        {&u.Stage},
			ledger.ByTurn:         {&u.Turn},
		}[d]...)
	}
	to = append(to, &u.Turns, &u.Calls, &u.Input, &u.Output, &u.Cached, &u.Reasoning, &u.Micros, &u.Unpriced, &u.Estimated)
	err = r.Scan(to...)
	u.Day = fromMicros(day * microsOfDay)
	return u, err
}
