package main

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"

	"parley/internal/store"
	"parley/internal/turn"
)

const (
	sessionLength = 50   // turns of a session
	sessionLoads  = 1000 // sessions that are read
	sessionBatch  = 200  // sessions of a transaction
)

// sessions measures many long sessions that are at rest: how large they are on disk, what a server
// over them takes in memory, and how long it takes to load one. The first session is made by the
// turn runner; the others are its rows again under other ids, without what turns said, which is
// forgotten after a day.
func (b *bench) sessions(ctx context.Context) error {
	dir := filepath.Join(b.work, "sessions")
	ids, err := b.makeSessions(ctx, dir)
	if err != nil {
		return err
	}
	size, err := os.Stat(filepath.Join(dir, stateFile))
	if err != nil {
		return err
	}
	name := fmt.Sprintf("%d sessions of %d turns", len(ids), sessionLength)
	b.add("size on disk, "+name, "", "%.0f MiB (%.1f KiB a turn)", float64(size.Size())/(1<<20),
		float64(size.Size())/1024/float64(len(ids)*sessionLength))
	if err := b.loadContexts(ctx, dir, name, ids); err != nil {
		return err
	}
	s, ready, err := b.parley(ctx, dir)
	if err != nil {
		return err
	}
	defer s.stop()
	b.add("start to ready, "+name, "", "%.0f ms", ms(ready))
	select {
	case <-time.After(settled):
	case <-ctx.Done():
		return ctx.Err()
	}
	before, err := s.resident()
	if err != nil {
		return err
	}
	var took []time.Duration
	for range min(sessionLoads, len(ids)) {
		began := time.Now()
		if err := history(ctx, s, ids[rand.IntN(len(ids))]); err != nil {
			return err
		}
		took = append(took, time.Since(began))
	}
	after, err := s.resident()
	if err != nil {
		return err
	}
	b.add("history of one session over HTTP, "+name+", p50 / p99", "", "%.1f / %.1f ms", ms(median(took)), ms(quantile(took, .99)))
	b.add("resident size, "+name, "", "%.1f MiB at rest, %.1f MiB once %d were read", before, after, len(took))
	return nil
}

// loadContexts measures what a turn does first: reading its session.
func (b *bench) loadContexts(ctx context.Context, dir, name string, ids []string) error {
	db, err := store.Open(ctx, dir, nil)
	if err != nil {
		return err
	}
	defer db.Close()
	var took []time.Duration
	for range min(sessionLoads, len(ids)) {
		began := time.Now()
		c, err := db.State().Conversation(ctx, turn.Scope{Namespace: namespace}, ids[rand.IntN(len(ids))], sessionLength)
		if err != nil {
			return err
		}
		if len(c.History) != 2*sessionLength {
			return fmt.Errorf("a session has %d messages", len(c.History))
		}
		took = append(took, time.Since(began))
	}
	b.add("load one session for a turn, "+name+", p50 / p99", "", "%.1f / %.1f ms", ms(median(took)), ms(quantile(took, .99)))
	return nil
}

// history reads a session as a client does.
func history(ctx context.Context, s *server, id string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url("/chat/"+id+"/history"), nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if n := strings.Count(string(body), `"role"`); err == nil && n != 2*sessionLength {
		return fmt.Errorf("a history has %d messages, status %s", n, resp.Status)
	}
	return err
}

// makeSessions fills a data folder and returns the ids of the sessions.
func (b *bench) makeSessions(ctx context.Context, dir string) ([]string, error) {
	db, err := store.Open(ctx, dir, nil)
	if err != nil {
		return nil, err
	}
	first := turn.Conversation{ID: uuid.NewString(), Scope: turn.Scope{Namespace: namespace}, Kind: sessionKind, CreatedAt: time.Now()}
	ledger := turn.NewLedger(db.State(), turn.LedgerOptions{})
	runner := turn.NewRunner(scripted{ledger.Meter("openai", saying{})}, db.State(), turn.Options{})
	err = db.State().Begin(ctx, first)
	for n := 0; n < sessionLength && err == nil; n++ {
		err = ask1(ctx, runner, first.ID, n)
	}
	if err != nil {
		_ = db.Close() // the first error says why
		return nil, err
	}
	if err := db.Close(); err != nil {
		return nil, err
	}
	raw, err := openRaw(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer raw.Close()
	for _, pragma := range []string{"synchronous = OFF", "cache_size = -200000"} { // of this connection, to be done sooner
		if _, err := raw.ExecContext(ctx, "PRAGMA "+pragma); err != nil {
			return nil, err
		}
	}
	ids := []string{first.ID}
	for len(ids) < b.sessionCount {
		n := min(sessionBatch, b.sessionCount-len(ids))
		more, err := copySessions(ctx, raw, first.ID, len(ids), n)
		if err != nil {
			return nil, fmt.Errorf("copy sessions: %w", err)
		}
		ids = append(ids, more...)
	}
	for _, query := range []string{"DELETE FROM said", "PRAGMA wal_checkpoint(TRUNCATE)"} {
		if _, err := raw.ExecContext(ctx, query); err != nil {
			return nil, fmt.Errorf("%s: %w", query, err)
		}
	}
	return ids, nil
}

// copySessions adds the rows of a session again, n times. What holds the id of the session gets a new
// one; other ids get a number in front, so that they are of the usual length and in the usual order.
func copySessions(ctx context.Context, db *sql.DB, from string, number, n int) (ids []string, err error) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer tx.Rollback() // after a commit it has nothing to do
	copies, err := copiesOf(ctx, tx)
	if err != nil {
		return nil, err
	}
	for i := range n {
		id := uuid.NewString()
		for _, c := range copies {
			if _, err := tx.ExecContext(ctx, c, sql.Named("id", id), sql.Named("part", fmt.Sprintf("02%010d", number+i)), sql.Named("from", from)); err != nil {
				return nil, fmt.Errorf("%s: %w", c, err)
			}
		}
		ids = append(ids, id)
	}
	return ids, tx.Commit()
}

// copiesOf returns the statements that copy a session, one for each table.
func copiesOf(ctx context.Context, tx *sql.Tx) (all []string, err error) {
	const another = ":part || substr(%s, 13)"
	for _, t := range []struct{ table, of, changed string }{
		{"conversations", "id = :from", "id"},
		{"turns", "conversation_id = :from", "conversation_id"},
		{"messages", "turn_id IN (SELECT id FROM turns WHERE conversation_id = :from)", ""},
		{"ledger", "conversation_id = :from", "conversation_id"},
		{"accounts", "conversation = :from", "conversation"},
	} {
		columns, err := columnsOf(ctx, tx, t.table)
		if err != nil {
			return nil, err
		}
		var values []string
		for _, name := range columns {
			value := name
			switch name {
			case t.changed:
				value = ":id"
			case "id", "turn_id":
				value = fmt.Sprintf(another, name)
			}
			values = append(values, value)
		}
		all = append(all, fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM %s WHERE %s",
			t.table, strings.Join(columns, ", "), strings.Join(values, ", "), t.table, t.of))
	}
	return all, nil
}

func columnsOf(ctx context.Context, tx *sql.Tx, table string) (names []string, err error) {
	found, err := tx.QueryContext(ctx, "SELECT name FROM pragma_table_info('"+table+"')")
	if err != nil {
		return nil, err
	}
	defer found.Close()
	for found.Next() {
		var name string
		if err := found.Scan(&name); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, found.Err()
}
