package store

import (
	"context"
	"database/sql"
	"fmt"

	"parley/internal/turn"
)

// Quota limits how much anonymous callers may store of each kind: clients' chats, conversations,
// and turns without a conversation.
type Quota struct {
	Room        // total of all callers
	Origin Room // limit for each origin except ""; see access.Origin
}

// Room is an amount of storage. A zero field is unlimited.
type Room struct {
	Chats int   // chats or conversations, and ten times as many turns without one
	Bytes int64 // total size of their contents
}

// The largest numbers of rows whose keys clients choose: accounts (user_id and conversation_id),
// and Idempotency-Keys, which also expire after a day.
const (
	maxAccounts = 1_000_000
	maxKeys     = 100_000
)

// turnsPerChat is the number of turns without a conversation that may be stored for each chat of the quota.
const turnsPerChat = 10

// Evicted is the number of rows of one kind that MakeRoom deleted.
type Evicted struct {
	Kind string // "chats", "conversations", "turns", "accounts" or "keys"
	N    int
}

// Grown returns roughly how many bytes callers have stored since the database was opened.
func (d *DB) Grown() int64 { return d.state.db.grown.Load() }

// leastRow is the minimum weight of a row in bytes, so that empty rows count too.
const leastRow = 512

// MakeRoom deletes the rows over the quota, least recently used first: from each origin that
// exceeds its own limit, then from the origin that stores most of a kind. It never deletes rows of
// signed-in users or the ledger. It returns the deletions so far even with an error.
func (d *DB) MakeRoom(ctx context.Context, q Quota) (all []Evicted, err error) {
	db := d.state.db
	for _, step := range []struct {
		kind string
		do   func() (int, error)
	}{
		{"chats", func() (int, error) { return db.evictThreads(ctx, chatsTable, q) }},
		{"conversations", func() (int, error) { return db.evictThreads(ctx, conversationsTable, q) }},
		{"turns", func() (int, error) { return db.evictThreads(ctx, turnsTable, q.forTurns()) }},
		{"accounts", func() (int, error) { return db.evictOldest(ctx, oldestAccounts, "accounts", maxAccounts) }},
		{"keys", func() (int, error) { return db.evictOldest(ctx, oldestKeys, "idempotency", maxKeys) }},
	} {
		n, err := step.do()
		if n > 0 {
			all = append(all, Evicted{step.kind, n})
		}
		if err != nil {
			return all, err
		}
	}
	return all, nil
}

// threads describes a table whose rows are evicted together with their messages.
type threads struct {
	table, key, used string // used is the column with the time of the last use
	where            string
	remove           func(ctx context.Context, tx *sql.Tx, id string) error
}

var (
	chatsTable = threads{"transcripts", "key", "updated_at", "owner = ''", func(ctx context.Context, tx *sql.Tx, key string) error {
		_, err := tx.ExecContext(ctx, "DELETE FROM transcripts WHERE key = ?", key)
		return err
	}}
	conversationsTable = threads{"conversations", "id", "updated_at", "owner = ''", func(ctx context.Context, tx *sql.Tx, id string) error {
		return deleteConversation(ctx, tx, "", id)
	}}
	turnsTable = threads{"turns", "id", "finished_at", "conversation_id IS NULL AND owner = ''", func(ctx context.Context, tx *sql.Tx, id string) error {
		_, err := tx.ExecContext(ctx, "DELETE FROM turns WHERE id = ?", id)
		return err
	}}
)

// forTurns returns the quota of turns without a conversation.
func (q Quota) forTurns() Quota {
	q.Chats *= turnsPerChat
	q.Origin.Chats *= turnsPerChat
	return q
}

// evictBatch is the number of rows that one transaction deletes, so that others need not wait long.
const evictBatch = 100

func (d *database) evictThreads(ctx context.Context, t threads, q Quota) (total int, err error) {
	for {
		n := 0
		err := d.update(ctx, "evict "+t.table, func(tx *sql.Tx) error {
			n = 0
			h, room, err := t.tooMuch(ctx, tx, q)
			if err != nil || !room.over(h.count, h.bytes) {
				return err
			}
			oldest, err := t.oldest(ctx, tx, h.origin)
			for _, o := range oldest {
				if err != nil || !room.over(h.count, h.bytes) {
					return err
				}
				err = t.remove(ctx, tx, o.key)
				h.count, h.bytes, n = h.count-1, h.bytes-o.bytes, n+1
			}
			return err
		})
		if err == nil {
			total += n
		}
		if err != nil || n == 0 {
			return total, err
		}
	}
}

// holding is an amount of storage over a limit, and the origin that must give some up.
type holding struct {
	origin       string
	count, bytes int64
	since        int64 // last use of its oldest row
}

// tooMuch returns the first excess that it finds: the holding of an origin over its own limit, or
// else the total, with the origin that stores most by number or bytes. It also returns the limit.
func (t threads) tooMuch(ctx context.Context, tx *sql.Tx, q Quota) (holding, Room, error) {
	var all, own, most, largest holding
	rows, err := tx.QueryContext(ctx, fmt.Sprintf(`SELECT origin, COUNT(*), SUM(bytes + %d), MIN(%s) FROM %s
		WHERE %s GROUP BY origin`, leastRow, t.used, t.table, t.where))
	err = scanAll(rows, err, func(r *sql.Rows) error {
		var h holding
		err := r.Scan(&h.origin, &h.count, &h.bytes, &h.since)
		all.count, all.bytes = all.count+h.count, all.bytes+h.bytes
		if h.origin != "" && q.Origin.over(h.count, h.bytes) {
			own = h
		}
		if h.count > most.count || h.count == most.count && h.since < most.since {
			most = h
		}
		if h.bytes > largest.bytes || h.bytes == largest.bytes && h.since < largest.since {
			largest = h
		}
		return err
	})
	switch {
	case own.count > 0:
		return own, q.Origin, err
	case q.overCount(all.count):
		all.origin = most.origin
	default:
		all.origin = largest.origin
	}
	return all, q.Room, err
}

type thread struct {
	key   string
	bytes int64
}

// oldest returns the least recently used rows of an origin.
func (t threads) oldest(ctx context.Context, tx *sql.Tx, origin string) ([]thread, error) {
	rows, err := tx.QueryContext(ctx, fmt.Sprintf(`SELECT %s, bytes + %d FROM %s WHERE %s AND origin = ?
		ORDER BY %s, %[1]s LIMIT ?`, t.key, leastRow, t.table, t.where, t.used), origin, evictBatch)
	return scanList(rows, err, func(r *sql.Rows, o *thread) error { return r.Scan(&o.key, &o.bytes) })
}

func (r Room) overCount(count int64) bool { return r.Chats > 0 && count > int64(r.Chats) }

func (r Room) over(count, bytes int64) bool {
	return r.overCount(count) || r.Bytes > 0 && bytes > r.Bytes
}

// Queries that delete the oldest rows. Totals of stored conversations are deleted with their
// conversations.
const (
	oldestAccounts = `DELETE FROM accounts WHERE (owner, stored, account_user, conversation) IN
		(SELECT owner, stored, account_user, conversation FROM accounts WHERE owner = '' AND stored = 0 ORDER BY used_at LIMIT ?)`
	oldestKeys = `DELETE FROM idempotency WHERE (owner, route, value) IN
		(SELECT owner, route, value FROM idempotency WHERE owner = '' ORDER BY created_at LIMIT ?)`
)

// evictOldest deletes the oldest rows over a limit and one per cent more, so that it does not have
// to search again for each new row.
func (d *database) evictOldest(ctx context.Context, query, table string, limit int64) (n int, err error) {
	var count int64
	err = d.read.QueryRowContext(ctx, "SELECT COUNT(*) FROM "+table+" WHERE owner = ''").Scan(&count)
	if err != nil || count <= limit {
		return 0, d.fail("count "+table, err)
	}
	err = d.update(ctx, "evict "+table, func(tx *sql.Tx) error {
		n, err = affected(tx.ExecContext(ctx, query, count-limit+limit/100))
		return err
	})
	return n, err
}

// weightOf returns roughly how many bytes a turn takes.
func weightOf(r turn.Record) int64 {
	n := int64(0)
	for _, m := range messagesOf(r) {
		for _, p := range m.Parts {
			n += int64(len(p.Text) + len(p.Image))
		}
		for _, c := range m.Citations {
			n += int64(len(c.Snippet) + len(c.Title) + len(c.URL) + len(c.Label))
		}
		for _, c := range m.ToolCalls {
			n += int64(len(c.Name) + len(c.Arguments))
		}
	}
	if r.Said != nil {
		n += int64(len(r.Said.Events))
	}
	return n
}
