package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"parley/internal/access"
	"parley/internal/ledger"
	"parley/internal/transcript"
	"parley/internal/turn"
)

// Begin stores a conversation without turns.
func (s *State) Begin(ctx context.Context, c turn.Conversation) error {
	s.db.grown.Add(leastRow)
	user, origin := writerOf(ctx, c.Scope.Owner), access.Origin(ctx)
	return s.db.commit(ctx, "begin conversation", func(ctx context.Context, tx *sql.Tx) error {
		if err := user.check(ctx, tx); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO conversations
			(id, namespace, owner, kind, turns, completed, created_at, updated_at, origin) VALUES (?, ?, ?, ?, 0, 0, ?, ?, ?)`,
			c.ID, c.Scope.Namespace, c.Scope.Owner, c.Kind, micros(c.CreatedAt), micros(c.CreatedAt), origin)
		return err
	})
}

// Queries for a page of a list: the first page, and one after a position.
const (
	ofKind            = `SELECT id, completed, created_at, updated_at FROM conversations WHERE namespace = ? AND owner = ? AND kind = ?`
	lastUpdated       = ` ORDER BY updated_at DESC, id DESC LIMIT ?`
	listConversations = ofKind + lastUpdated

	listConversationsBehind = ofKind + ` AND (updated_at, id) < (?, ?)` + lastUpdated
)

// Conversations returns up to limit conversations of a scope and kind, last updated first.
func (s *State) Conversations(ctx context.Context, scope turn.Scope, kind string, after turn.Position, limit int) (
	all []turn.Conversation, err error) {
	query, args := listConversations, []any{scope.Namespace, scope.Owner, kind}
	if after != (turn.Position{}) {
		query, args = listConversationsBehind, append(args, micros(after.UpdatedAt), after.ID)
	}
	rows, err := s.db.read.QueryContext(ctx, query, append(args, limit)...)
	err = scanAll(rows, err, func(r *sql.Rows) error {
		c := turn.Conversation{Scope: scope, Kind: kind}
		var created, updated int64
		err := r.Scan(&c.ID, &c.Completed, &created, &updated)
		c.CreatedAt, c.UpdatedAt = fromMicros(created), fromMicros(updated)
		all = append(all, c)
		return err
	})
	return all, s.db.fail("list conversations", err)
}

// Reset deletes the turns of a conversation and the totals of its account.
func (s *State) Reset(ctx context.Context, scope turn.Scope, id string, at time.Time) error {
	return s.db.update(ctx, "reset conversation", func(tx *sql.Tx) error {
		if err := s.owns(ctx, tx, scope, id); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "DELETE FROM turns WHERE conversation_id = ?", id); err != nil {
			return err
		}
		if _, err := clearTotals(ctx, tx, storedAccount(scope.Owner, id)); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, "UPDATE conversations SET completed = 0, bytes = 0, updated_at = ? WHERE id = ?", micros(at), id)
		return err
	})
}

// Delete deletes a conversation with its turns and the totals of its account.
func (s *State) Delete(ctx context.Context, scope turn.Scope, id string) error {
	return s.db.update(ctx, "delete conversation", func(tx *sql.Tx) error {
		if err := s.owns(ctx, tx, scope, id); err != nil {
			return err
		}
		return deleteConversation(ctx, tx, scope.Owner, id)
	})
}

// Expire deletes up to limit conversations of a kind that were last updated before a time.
func (s *State) Expire(ctx context.Context, kind string, before time.Time, limit int) (n int, err error) {
	err = s.db.update(ctx, "expire conversations", func(tx *sql.Tx) error {
		type conversation struct{ owner, id string }
		var old []conversation
		rows, err := tx.QueryContext(ctx, `SELECT owner, id FROM conversations WHERE kind = ? AND updated_at < ?
			ORDER BY updated_at LIMIT ?`, kind, micros(before), limit)
		old, err = scanList(rows, err, func(r *sql.Rows, c *conversation) error {
			return r.Scan(&c.owner, &c.id)
		})
		if err != nil {
			return err
		}
		for _, c := range old {
			if err := deleteConversation(ctx, tx, c.owner, c.id); err != nil {
				return err
			}
		}
		n = len(old)
		return nil
	})
	return n, err
}

func deleteConversation(ctx context.Context, tx *sql.Tx, owner, id string) error {
	// In the order in which Save locks them. Its turns are deleted with a conversation.
	if _, err := tx.ExecContext(ctx, "DELETE FROM conversations WHERE id = ?", id); err != nil {
		return err
	}
	_, err := clearTotals(ctx, tx, storedAccount(owner, id))
	return err
}

func storedAccount(owner, id string) ledger.AccountKey {
	return ledger.AccountKey{Owner: owner, Stored: true, Conversation: id}
}

// owns locks the conversation, and returns an error if it does not belong to the scope.
func (s *State) owns(ctx context.Context, tx *sql.Tx, scope turn.Scope, id string) error {
	var is turn.Scope
	err := tx.QueryRowContext(ctx, "SELECT namespace, owner FROM conversations WHERE id = ? /* lock */", id).
		Scan(&is.Namespace, &is.Owner)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return turn.ErrNotFound
	case err != nil:
		return err
	case is != scope:
		return turn.ErrForeign
	}
	return nil
}

// expireBatch is the number of conversations that one transaction expires.
const expireBatch = 100

// ExpireConversations deletes the conversations of all kinds, and the chats of clients, that were last updated before a time.
// It returns how many. Responses, which are answers without a conversation, stay.
func (d *DB) ExpireConversations(ctx context.Context, before time.Time) (total int, err error) {
	kinds, err := column[string](d.state.db.read.QueryContext(ctx, "SELECT DISTINCT kind FROM conversations"))
	if err != nil {
		return 0, d.state.db.fail("list the kinds of conversations", err)
	}
	expire := func(some func() (int, error)) error {
		for {
			n, err := some()
			if total += n; err != nil || n < expireBatch {
				return err
			}
		}
	}
	for _, kind := range kinds {
		if err := expire(func() (int, error) { return d.state.Expire(ctx, kind, before, expireBatch) }); err != nil {
			return total, err
		}
	}
	for _, kind := range []transcript.Kind{transcript.ChatUI, transcript.Azure, transcript.YourData, transcript.Conversations} {
		if err := expire(func() (int, error) { return d.transcripts.Expire(ctx, kind, before, expireBatch) }); err != nil {
			return total, err
		}
	}
	return total, nil
}
