package store

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	"parley/internal/access"
	"parley/internal/ident"
	"parley/internal/transcript"
)

// Transcripts stores clients' chats. It implements transcript.Store.
type Transcripts struct {
	db *database
}

var _ transcript.Store = (*Transcripts)(nil)

const chatColumns = `id, mode, title, last_message, messages, created_at, updated_at, pinned, folder, link, linked_messages, linked_at`

// chatRow is a chat as it is read from chatColumns.
type chatRow struct {
	transcript.Chat
	created, updated, linked int64
}

// fields returns the scan destinations of chatColumns.
func (c *chatRow) fields() []any {
	return []any{&c.ID, &c.Mode, &c.Title, &c.LastMessage, &c.Count, &c.created, &c.updated, &c.Pinned, &c.Folder, &c.Link.ID, &c.Link.Messages, &c.linked}
}

// chat returns the chat that was read.
func (c *chatRow) chat() transcript.Chat {
	out := c.Chat
	out.CreatedAt, out.UpdatedAt, out.Link.At = fromMicros(c.created), fromMicros(c.updated), fromMicros(c.linked)
	return out
}

// listChats returns the query for a list.
func listChats(scope transcript.Scope, list transcript.List) (query string, args []any) {
	query = `SELECT ` + chatColumns + ` FROM transcripts WHERE kind = ? AND namespace = ? AND owner = ? AND (? = '' OR mode = ?)`
	args = []any{string(scope.Kind), scope.Namespace, scope.Owner, list.Mode, list.Mode}
	switch list.Part {
	case transcript.Kept:
		query += ` AND (pinned <> 0 OR folder <> '')`
	case transcript.Loose:
		query += ` AND pinned = 0 AND folder = ''`
	}
	if list.Before != nil {
		query += ` AND (updated_at, id) < (?, ?)`
		args = append(args, micros(list.Before.UpdatedAt), list.Before.ID)
	}
	query += ` ORDER BY updated_at DESC, id DESC`
	if list.Limit > 0 {
		query += " LIMIT ?"
		args = append(args, list.Limit)
	}
	return query, args
}

// Chats lists the scope's chats, last updated first.
func (s *Transcripts) Chats(ctx context.Context, scope transcript.Scope, list transcript.List) (all []transcript.Chat, err error) {
	query, args := listChats(scope, list)
	rows, err := s.db.read.QueryContext(ctx, query, args...)
	var c chatRow
	fields := c.fields()
	err = scanAll(rows, err, func(r *sql.Rows) error {
		err := r.Scan(fields...)
		all = append(all, c.chat())
		return err
	})
	return all, s.db.fail("list chats", err)
}

// Search visits the messages that may contain the words, beginning with those of the chat that was updated last.
func (s *Transcripts) Search(ctx context.Context, scope transcript.Scope, mode string, words []string, visit func(transcript.Hit) bool) error {
	query := `SELECT t.` + strings.ReplaceAll(chatColumns, ", ", ", t.") + `, m.id, m.body
		FROM transcripts t JOIN transcript_messages m ON m.transcript = t.key
		WHERE t.kind = ? AND t.namespace = ? AND t.owner = ? AND (? = '' OR t.mode = ?)`
	args := []any{string(scope.Kind), scope.Namespace, scope.Owner, mode, mode}
	for _, word := range words {
		query += ` AND LOWER(m.body) LIKE ?`
		args = append(args, "%"+strings.ToLower(word)+"%")
	}
	rows, err := s.db.read.QueryContext(ctx, query+` ORDER BY t.updated_at DESC, t.id DESC, m.position`, args...)
	var h transcript.Hit
	var c chatRow
	fields := append(c.fields(), &h.Message.ID, (*[]byte)(&h.Message.Body))
	err = scanAll(rows, err, func(r *sql.Rows) error {
		h.Message.Body = nil // visit may keep it
		if err := r.Scan(fields...); err != nil {
			return err
		}
		h.Chat = c.chat()
		if !visit(h) {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		return nil
	}
	return s.db.fail("search chats", err)
}

// Rated visits the messages of all owners that may contain somebody's opinion of an answer: a text or an object feedback. It
// begins with those of the chat that was changed last, and stops when visit returns false.
func (s *Transcripts) Rated(ctx context.Context, visit func(transcript.Scope, transcript.Hit) bool) error {
	rows, err := s.db.read.QueryContext(ctx, `SELECT t.`+strings.ReplaceAll(chatColumns, ", ", ", t.")+`, t.kind, t.namespace, t.owner, m.id, m.body
		FROM transcripts t JOIN transcript_messages m ON m.transcript = t.key
		WHERE t.kind IN (?, ?) AND (m.body LIKE '%"feedback":{%' OR m.body LIKE '%"feedback":"%')
		ORDER BY t.updated_at DESC, t.id DESC, m.position`, string(transcript.ChatUI), string(transcript.YourData))
	var h transcript.Hit
	var c chatRow
	var scope transcript.Scope
	fields := append(c.fields(), (*string)(&scope.Kind), &scope.Namespace, &scope.Owner, &h.Message.ID, (*[]byte)(&h.Message.Body))
	err = scanAll(rows, err, func(r *sql.Rows) error {
		h.Message.Body = nil // visit may keep it
		if err := r.Scan(fields...); err != nil {
			return err
		}
		h.Chat = c.chat()
		if !visit(scope, h) {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		return nil
	}
	return s.db.fail("read ratings", err)
}

var errEnough = errors.New("enough was found")

// Transcript returns a chat with its messages.
func (s *Transcripts) Transcript(ctx context.Context, scope transcript.Scope, id string) (t transcript.Transcript, err error) {
	err = s.db.view(ctx, "read chat", func(tx *sql.Tx) error {
		key, err := readChat(&t, tx.QueryRowContext(ctx, `SELECT key, `+chatColumns+` FROM transcripts
			WHERE kind = ? AND namespace = ? AND owner = ? AND id = ?`,
			string(scope.Kind), scope.Namespace, scope.Owner, id))
		if err != nil {
			return err
		}
		t.Messages, err = readMessages(ctx, tx, key)
		return err
	})
	return t, err
}

// Linked returns the chat with a link, and its scope.
func (s *Transcripts) Linked(ctx context.Context, link string) (scope transcript.Scope, t transcript.Transcript, err error) {
	err = s.db.view(ctx, "read linked chat", func(tx *sql.Tx) error {
		key, err := readChat(&t, tx.QueryRowContext(ctx, `SELECT key, `+chatColumns+`, kind, namespace, owner FROM transcripts
			WHERE link = ? AND link <> ''`, link), (*string)(&scope.Kind), &scope.Namespace, &scope.Owner)
		if err != nil {
			return err
		}
		t.Messages, err = readMessages(ctx, tx, key)
		return err
	})
	return scope, t, err
}

// readChat reads the key of a chat, chatColumns, and the columns after them.
func readChat(t *transcript.Transcript, r *sql.Row, more ...any) (key string, err error) {
	var c chatRow
	err = r.Scan(append(append([]any{&key}, c.fields()...), more...)...)
	if errors.Is(err, sql.ErrNoRows) {
		return "", transcript.ErrNotFound
	}
	t.Chat = c.chat()
	return key, err
}

func readMessages(ctx context.Context, tx *sql.Tx, key string) (all []transcript.Message, err error) {
	rows, err := tx.QueryContext(ctx, `SELECT id, body FROM transcript_messages
		WHERE transcript = ? ORDER BY position`, key)
	all, err = scanList(rows, err, func(r *sql.Rows, m *transcript.Message) error {
		return r.Scan(&m.ID, (*[]byte)(&m.Body))
	})
	return all, err
}

// Save changes a chat, or creates it, in one transaction.
func (s *Transcripts) Save(ctx context.Context, scope transcript.Scope, id string,
	change func(*transcript.Transcript, bool) error) (c transcript.Chat, err error) {
	into, err := s.db.preparedWrite(ctx, insertTranscriptMessage)
	if err != nil {
		return c, s.db.fail("save chat", err)
	}
	var grown int64
	err = s.db.update(ctx, "save chat", func(tx *sql.Tx) error {
		if err := writerOf(ctx, scope.Owner).check(ctx, tx); err != nil {
			return err
		}
		t := transcript.Transcript{}
		// This update changes nothing. It locks the row in every database.
		key, err := readChat(&t, tx.QueryRowContext(ctx, `UPDATE transcripts SET messages = messages
			WHERE kind = ? AND namespace = ? AND owner = ? AND id = ? RETURNING key, `+chatColumns,
			string(scope.Kind), scope.Namespace, scope.Owner, id))
		found := err == nil
		if err != nil && !errors.Is(err, transcript.ErrNotFound) {
			return err
		}
		if found {
			if t.Messages, err = readMessages(ctx, tx, key); err != nil {
				return err
			}
		}
		before := append([]transcript.Message(nil), t.Messages...)
		t.ID = id
		if err := change(&t, found); err != nil {
			return err
		}
		t.ID, t.Count = id, len(t.Messages)
		grown = sizeOf(t.Messages) - sizeOf(before)
		if !found {
			grown += leastRow
		}
		if key, err = writeChat(ctx, tx, scope, key, t); err != nil {
			return err
		}
		c = t.Chat
		c.CreatedAt, c.UpdatedAt, c.Link.At = fromMicros(micros(c.CreatedAt)), fromMicros(micros(c.UpdatedAt)), fromMicros(micros(c.Link.At))
		return writeMessages(ctx, tx, tx.StmtContext(ctx, into), key, before, t.Messages)
	})
	if err != nil {
		return transcript.Chat{}, err
	}
	s.db.grown.Add(grown)
	return c, nil
}

// sizeOf returns the size of messages in bytes.
func sizeOf(messages []transcript.Message) (n int64) {
	for _, m := range messages {
		n += int64(len(m.Body))
	}
	return n
}

// writeChat updates the chat, or inserts it if key is empty, and returns its key.
func writeChat(ctx context.Context, tx *sql.Tx, scope transcript.Scope, key string, c transcript.Transcript) (string, error) {
	bytes := sizeOf(c.Messages)
	if key != "" {
		_, err := tx.ExecContext(ctx, `UPDATE transcripts SET mode = ?, title = ?, last_message = ?,
			messages = ?, created_at = ?, updated_at = ?, pinned = ?, folder = ?, link = ?, linked_messages = ?, linked_at = ?, bytes = ? WHERE key = ?`,
			c.Mode, c.Title, c.LastMessage, c.Count, micros(c.CreatedAt), micros(c.UpdatedAt), flag(c.Pinned), c.Folder, c.Link.ID, c.Link.Messages, micros(c.Link.At), bytes, key)
		return key, err
	}
	key = ident.New()
	added, err := affects(tx.ExecContext(ctx, `INSERT INTO transcripts (key, kind, namespace, owner, `+chatColumns+`, bytes, origin)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
		key, string(scope.Kind), scope.Namespace, scope.Owner, c.ID, c.Mode, c.Title, c.LastMessage,
		c.Count, micros(c.CreatedAt), micros(c.UpdatedAt), flag(c.Pinned), c.Folder, c.Link.ID, c.Link.Messages, micros(c.Link.At), bytes, access.Origin(ctx)))
	if err == nil && !added {
		err = errRaced // Save did not find it
	}
	return key, err
}

const insertTranscriptMessage = `INSERT INTO transcript_messages (transcript, position, id, body)
	VALUES (?, ?, ?, ?)`

// writeMessages stores the messages in which after differs from before, the stored version.
func writeMessages(ctx context.Context, tx *sql.Tx, into *sql.Stmt, key string, before, after []transcript.Message) error {
	for i, m := range after {
		var err error
		switch {
		case i >= len(before):
			_, err = into.ExecContext(ctx, key, i, m.ID, string(m.Body))
		case m.ID != before[i].ID || !bytes.Equal(m.Body, before[i].Body):
			_, err = tx.ExecContext(ctx, `UPDATE transcript_messages SET id = ?, body = ?
				WHERE transcript = ? AND position = ?`, m.ID, string(m.Body), key, i)
		}
		if err != nil {
			return err
		}
	}
	if len(after) >= len(before) {
		return nil
	}
	_, err := tx.ExecContext(ctx, `DELETE FROM transcript_messages WHERE transcript = ? AND position >= ?`,
		key, len(after))
	return err
}

// Unfile takes all chats of a scope out of a folder.
func (s *Transcripts) Unfile(ctx context.Context, scope transcript.Scope, folder string) error {
	return s.db.update(ctx, "empty a folder", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE transcripts SET folder = '' WHERE kind = ? AND namespace = ? AND owner = ? AND folder = ?`,
			string(scope.Kind), scope.Namespace, scope.Owner, folder)
		return err
	})
}

// Delete deletes a chat with its messages.
func (s *Transcripts) Delete(ctx context.Context, scope transcript.Scope, id string) error {
	return s.db.update(ctx, "delete chat", func(tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, `DELETE FROM transcripts
			WHERE kind = ? AND namespace = ? AND owner = ? AND id = ?`,
			string(scope.Kind), scope.Namespace, scope.Owner, id)
		if err != nil {
			return err
		}
		if n, err := result.RowsAffected(); err != nil || n > 0 {
			return err
		}
		return transcript.ErrNotFound
	})
}

// Expire deletes up to limit chats of a kind that were updated before a time.
func (s *Transcripts) Expire(ctx context.Context, kind transcript.Kind, before time.Time, limit int) (n int, err error) {
	err = s.db.update(ctx, "expire chats", func(tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, `DELETE FROM transcripts WHERE key IN
			(SELECT key FROM transcripts WHERE kind = ? AND updated_at < ? LIMIT ?)`, string(kind), micros(before), limit)
		if err != nil {
			return err
		}
		rows, err := result.RowsAffected()
		n = int(rows)
		return err
	})
	return n, err
}
