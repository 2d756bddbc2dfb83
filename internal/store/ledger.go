package store

import (
	"context"
	"database/sql"

	"parley/internal/turn"
)

// Intend commits a new entry durably.
func (s *State) Intend(ctx context.Context, e turn.Entry) error {
	return s.db.updateOne(ctx, "write ledger", `INSERT INTO ledger (id, namespace, owner, conversation_id,
		turn_id, stage, provider, model, status, estimated_input, input_tokens, output_tokens, cached_tokens,
		reasoning_tokens, estimated, created_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0, 0, 0, 0, ?)`,
		e.ID, e.Scope.Namespace, e.Scope.Owner, e.ConversationID, e.TurnID, string(e.Stage),
		e.Provider, e.Model, string(turn.EntryIntent), e.EstimatedInput, micros(e.CreatedAt))
}

// Settle writes what became of an entry. What is settled stays, except that an interrupted entry
// yields to the real end of its call.
func (s *State) Settle(ctx context.Context, e turn.Entry) error {
	open := []any{string(turn.EntryIntent)}
	if e.Status != turn.EntryInterrupted {
		open = append(open, string(turn.EntryInterrupted))
	}
	cost := sql.NullInt64{Int64: e.Cost.Micros, Valid: e.Cost.Known}
	args := append([]any{string(e.Status), e.Usage.Input, e.Usage.Output, e.Usage.Cached,
		e.Usage.Reasoning, flag(e.Usage.Estimated), cost, micros(e.SettledAt), e.ID}, open...)
	return s.db.updateOne(ctx, "settle ledger", `UPDATE ledger SET status = ?, input_tokens = ?,
		output_tokens = ?, cached_tokens = ?, reasoning_tokens = ?, estimated = ?, cost_micros = ?,
		settled_at = ? WHERE id = ? AND status IN (`+placeholders(len(open))+")", args...)
}

// Unsettled returns up to limit intents, oldest first.
func (s *State) Unsettled(ctx context.Context, limit int) ([]turn.Entry, error) {
	all, err := s.entries(ctx, "WHERE status = 'intent' ORDER BY created_at, id LIMIT ?", limit)
	return all, s.db.fail("read unsettled entries", err)
}

// Entries returns the entries of a turn, oldest first.
func (s *State) Entries(ctx context.Context, turnID string) ([]turn.Entry, error) {
	all, err := s.entries(ctx, "WHERE turn_id = ? ORDER BY created_at, id", turnID)
	return all, s.db.fail("read entries of a turn", err)
}

func (s *State) entries(ctx context.Context, where string, args ...any) (all []turn.Entry, err error) {
	rows, err := s.db.read.QueryContext(ctx, `SELECT id, namespace, owner, conversation_id, turn_id, stage,
		provider, model, status, estimated_input, input_tokens, output_tokens, cached_tokens,
		reasoning_tokens, estimated, cost_micros, created_at, settled_at FROM ledger `+where, args...)
	err = scanAll(rows, err, func(r *sql.Rows) error {
		var e turn.Entry
		var cost, settled sql.NullInt64
		var created int64
		err := r.Scan(&e.ID, &e.Scope.Namespace, &e.Scope.Owner, &e.ConversationID, &e.TurnID, &e.Stage,
			&e.Provider, &e.Model, &e.Status, &e.EstimatedInput, &e.Usage.Input, &e.Usage.Output,
			&e.Usage.Cached, &e.Usage.Reasoning, &e.Usage.Estimated, &cost, &created, &settled)
		e.Cost = turn.Cost{Micros: cost.Int64, Known: cost.Valid}
		e.CreatedAt, e.SettledAt = fromMicros(created), fromMicros(settled.Int64)
		all = append(all, e)
		return err
	})
	return all, err
}
