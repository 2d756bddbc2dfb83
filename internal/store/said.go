package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"parley/internal/chat"
	"parley/internal/turn"
)

const insertSaid = `INSERT INTO said (turn_id, events, failed, error_kind, error, finished_at)
	VALUES (?, ?, ?, ?, ?, ?)`

// keepSaid stores what a turn said.
func keepSaid(ctx context.Context, into *sql.Stmt, r turn.Record) error {
	if r.Said == nil {
		return nil
	}
	ended := chat.Error{}
	if r.Said.Err != nil {
		ended = *r.Said.Err
	}
	events := r.Said.Events
	if events == nil {
		events = []byte{}
	}
	_, err := into.ExecContext(ctx, r.ID, events, flag(r.Said.Err != nil), int(ended.Kind), ended.Msg, micros(r.FinishedAt))
	return err
}

// Said returns what a turn said, or turn.ErrNotFound.
func (s *State) Said(ctx context.Context, id string) (said turn.Said, err error) {
	err = s.db.view(ctx, "read the text of a turn", func(tx *sql.Tx) error {
		var failed bool
		var ended chat.Error
		err := tx.QueryRowContext(ctx, `SELECT t.namespace, t.owner, s.events, s.failed, s.error_kind, s.error
			FROM said s JOIN turns t ON t.id = s.turn_id WHERE s.turn_id = ?`, id).
			Scan(&said.Scope.Namespace, &said.Scope.Owner, &said.Events, &failed, &ended.Kind, &ended.Msg)
		if errors.Is(err, sql.ErrNoRows) {
			return turn.ErrNotFound
		}
		if failed {
			said.Err = &ended
		}
		return err
	})
	if err != nil {
		return turn.Said{}, err
	}
	return said, nil
}

// forgetSaid scans the first rows only. They are the oldest, because ids are in the order in which
// turns began.
const forgetSaid = `DELETE FROM said WHERE finished_at < ? AND turn_id IN (SELECT turn_id FROM said ORDER BY turn_id LIMIT ?)`

// ForgetSaid deletes the stored text of up to limit turns that finished before a time.
func (s *State) ForgetSaid(ctx context.Context, before time.Time, limit int) (n int, err error) {
	err = s.db.update(ctx, "delete old texts of turns", func(tx *sql.Tx) error {
		n, err = affected(tx.ExecContext(ctx, forgetSaid, micros(before), limit))
		return err
	})
	return n, err
}
