package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"parley/internal/chat"
	"parley/internal/turn"
)

// Peers holds the messages between servers on one PostgreSQL database. It implements turn.Peers.
type Peers struct {
	db    *database
	locks *turnLocks
}

// Peers returns the messages between servers on one database, or nil for a data folder, which has one server.
func (d *DB) Peers() *Peers { return d.peers }

// serverNow is the time of the database's clock in microseconds.
const serverNow = "(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000)::BIGINT"

// Lock waits for a lock that no two servers hold at the same time.
func (p *Peers) Lock(ctx context.Context, name string) (unlock func(), err error) {
	unlock, err = p.locks.lock(ctx, name)
	return unlock, p.db.fail("wait for a lock", err)
}

// Want asks the server that runs a turn for its events, and perhaps to stop it.
func (p *Peers) Want(ctx context.Context, turnID string, stop bool) (running bool, err error) {
	var since int64
	err = p.db.read.QueryRowContext(ctx, `INSERT INTO wanted_turns (turn_id, wanted_at, stop, running_at) VALUES (?1, `+serverNow+`, ?2, 0)
		ON CONFLICT (turn_id) DO UPDATE SET wanted_at = excluded.wanted_at, stop = GREATEST(wanted_turns.stop, excluded.stop)
		RETURNING CASE WHEN running_at = 0 THEN -1 ELSE `+serverNow+` - running_at END`, turnID, flag(stop)).Scan(&since)
	return since >= 0 && since < int64(turn.PeerPatience/time.Microsecond), p.db.fail("ask for a turn", err)
}

// Wanted returns the turns that other servers have asked for lately.
func (p *Peers) Wanted(ctx context.Context) (all []turn.Wanted, err error) {
	rows, err := p.db.read.QueryContext(ctx, `SELECT turn_id, stop FROM wanted_turns WHERE wanted_at > `+serverNow+` - ?`,
		turn.PeerPatience.Microseconds())
	all, err = scanList(rows, err, func(r *sql.Rows, w *turn.Wanted) error {
		return r.Scan(&w.TurnID, &w.Stop)
	})
	return all, p.db.fail("look for wanted turns", err)
}

// Publish adds a part to the events of a turn; an empty part only says that the turn is still running.
func (p *Peers) Publish(ctx context.Context, turnID string, part turn.Part) error {
	_, err := p.db.read.ExecContext(ctx, "UPDATE wanted_turns SET running_at = "+serverNow+" WHERE turn_id = ?", turnID)
	if err == nil && (len(part.Events) > 0 || part.Ended) {
		var kind sql.NullInt64
		message := ""
		if part.Err != nil {
			kind, message = sql.NullInt64{Int64: int64(part.Err.Kind), Valid: true}, part.Err.Msg
		}
		events := part.Events
		if events == nil {
			events = []byte{}
		}
		// If the answer of the database was lost, the part is sent again, and may have grown.
		_, err = p.db.read.ExecContext(ctx, `INSERT INTO turn_parts (turn_id, position, upto, namespace, owner, events, ended, kind, error)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (turn_id, position, ended) DO UPDATE SET upto = excluded.upto, events = excluded.events`,
			turnID, part.Position, part.End, part.Scope.Namespace, part.Scope.Owner, events, flag(part.Ended), kind, message)
	}
	return p.db.fail("pass a turn on", err)
}

// Published returns the parts of a turn that end after a position.
func (p *Peers) Published(ctx context.Context, turnID string, position int) (all []turn.Part, err error) {
	rows, err := p.db.read.QueryContext(ctx, `SELECT position, upto, namespace, owner, events, ended, kind, error FROM turn_parts
		WHERE turn_id = ? AND (upto > ? OR ended = 1) ORDER BY position, ended`, turnID, position)
	all, err = scanList(rows, err, func(r *sql.Rows, part *turn.Part) error {
		var kind sql.NullInt64
		var message string
		err := r.Scan(&part.Position, &part.End, &part.Scope.Namespace, &part.Scope.Owner, &part.Events, &part.Ended, &kind, &message)
		if kind.Valid {
			part.Err = &chat.Error{Kind: chat.Kind(kind.Int64), Msg: message}
		}
		return err
	})
	return all, p.db.fail("follow a turn", err)
}

// Notice publishes a value under a name to all servers.
func (p *Peers) Notice(ctx context.Context, name, value string) error {
	_, err := p.db.read.ExecContext(ctx, `INSERT INTO notices (name, value, at) VALUES (?, ?, `+serverNow+`)
		ON CONFLICT (name) DO UPDATE SET value = excluded.value, at = excluded.at`, name, value)
	return p.db.fail("tell other servers", err)
}

// Noticed returns the value that was published under a name, or "".
func (p *Peers) Noticed(ctx context.Context, name string) (value string, err error) {
	err = p.db.read.QueryRowContext(ctx, "SELECT value FROM notices WHERE name = ?", name).Scan(&value)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return value, p.db.fail("ask other servers", err)
}

// The times for which messages between servers are kept.
const (
	partsAge   = 2 * time.Minute
	noticesAge = time.Hour
	serverAge  = 20 * time.Second // without a word of a server
)

// Sweep deletes rows that are no longer needed.
func (p *Peers) Sweep(ctx context.Context) error {
	for statement, age := range map[string]time.Duration{
		"DELETE FROM wanted_turns WHERE GREATEST(wanted_at, running_at) < " + serverNow + " - ?":                                   partsAge,
		"DELETE FROM turn_parts p WHERE NOT EXISTS (SELECT 1 FROM wanted_turns w WHERE w.turn_id = p.turn_id AND w.wanted_at > ?)": 0,
		"DELETE FROM notices WHERE at < " + serverNow + " - ?":                                                                     noticesAge,
		"DELETE FROM servers WHERE seen_at < " + serverNow + " - ?":                                                                noticesAge,
	} {
		if _, err := p.db.read.ExecContext(ctx, statement, age.Microseconds()); err != nil {
			return p.db.fail("forget what servers said", err)
		}
	}
	return nil
}

// ServerInfo is a server on a PostgreSQL database.
type ServerInfo struct {
	ID, Host, Version string
	Started           time.Time
}

// Alive records that a server is running. Each server calls it every few seconds.
func (p *Peers) Alive(ctx context.Context, s ServerInfo) error {
	_, err := p.db.read.ExecContext(ctx, `INSERT INTO servers (id, host, version, started_at, seen_at) VALUES (?, ?, ?, ?, `+serverNow+`)
		ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at`, s.ID, s.Host, s.Version, micros(s.Started))
	return p.db.fail("tell other servers", err)
}

// Leave records that a server stops.
func (p *Peers) Leave(ctx context.Context, id string) error {
	_, err := p.db.read.ExecContext(ctx, "DELETE FROM servers WHERE id = ?", id)
	return p.db.fail("tell other servers", err)
}

// Servers returns the servers that were alive a moment ago, the oldest first.
func (p *Peers) Servers(ctx context.Context) (all []ServerInfo, err error) {
	rows, err := p.db.read.QueryContext(ctx, `SELECT id, host, version, started_at FROM servers WHERE seen_at > `+serverNow+` - ?
		ORDER BY started_at, id`, serverAge.Microseconds())
	all, err = scanList(rows, err, func(r *sql.Rows, s *ServerInfo) error {
		var started int64
		err := r.Scan(&s.ID, &s.Host, &s.Version, &started)
		s.Started = fromMicros(started)
		return err
	})
	return all, p.db.fail("look for other servers", err)
}
