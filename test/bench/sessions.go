package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"parley/internal/ledger"
	"parley/internal/store"
	"parley/internal/turn"
)

const (
	sessionLength = 50   // turns in a session
	sessionLoads  = 1000 // sessions to read
	sessionBatch  = 200  // sessions in a transaction
)

// sessions measures many long, idle sessions: their size on disk, the memory of a server with them,
// and the time to load one. The turn runner makes the first session; the others are copies of its
// rows under other ids, without the texts of turns, which are deleted after a day.
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

// loadContexts measures the first step of a turn: reading its session.
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
	books := ledger.New(db.State(), ledger.Options{})
	runner := turn.NewRunner(scripted{books.Meter("openai", saying{})}, db.State(), turn.Options{})
	err = db.State().Begin(ctx, first)
	for n := 0; n < sessionLength && err == nil; n++ {
		err = runTurn(ctx, runner, first.ID, n)
	}
	if err != nil {
		_ = db.Close() // report the first error
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
	ids := []string{first.ID}
	copies, err := copiesOf(ctx, raw)
	if err != nil {
		return nil, err
	}
	indexes, err := dropIndexes(ctx, raw)
	if err != nil {
		return nil, err
	}
	for len(ids) < b.sessionCount {
		n := min(sessionBatch, b.sessionCount-len(ids))
		more, err := copySessions(ctx, raw, copies, len(ids), n)
		if err != nil {
			return nil, fmt.Errorf("copy sessions: %w", err)
		}
		ids = append(ids, more...)
	}
	for _, query := range append(indexes, "DELETE FROM said", "PRAGMA journal_mode = WAL") {
		if _, err := raw.ExecContext(ctx, query); err != nil {
			return nil, fmt.Errorf("%s: %w", query, err)
		}
	}
	return ids, nil
}

// dropIndexes drops the indexes of a database, so that it fills quickly, and returns the statements
// that recreate them.
func dropIndexes(ctx context.Context, db *sql.DB) (again []string, err error) {
	found, err := db.QueryContext(ctx, "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL")
	if err != nil {
		return nil, err
	}
	defer found.Close()
	drop := []string{"PRAGMA journal_mode = OFF", "PRAGMA synchronous = OFF", "PRAGMA cache_size = -100000"}
	for found.Next() {
		var name, index string
		if err := found.Scan(&name, &index); err != nil {
			return nil, err
		}
		drop, again = append(drop, "DROP INDEX "+name), append(again, index)
	}
	if err := errors.Join(found.Err(), found.Close()); err != nil {
		return nil, err
	}
	for _, query := range drop {
		if _, err := db.ExecContext(ctx, query); err != nil {
			return nil, fmt.Errorf("%s: %w", query, err)
		}
	}
	return again, nil
}

// copySessions copies the rows of the first session n times. The session gets a new id; other ids
// get a number in front, so that they keep the usual length and order.
func copySessions(ctx context.Context, db *sql.DB, copies []string, number, n int) (ids []string, err error) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer tx.Rollback() // does nothing after a commit
	for i := range n {
		id := uuid.NewString()
		for _, c := range copies {
			if _, err := tx.ExecContext(ctx, c, sql.Named("id", id), sql.Named("part", fmt.Sprintf("02%010d", number+i))); err != nil {
				return nil, fmt.Errorf("%s: %w", c, err)
			}
		}
		ids = append(ids, id)
	}
	return ids, tx.Commit()
}

// sessionTables are the tables with rows of a session, each with the column of the session's id.
var sessionTables = [][2]string{{"conversations", "id"}, {"turns", "conversation_id"}, {"messages", ""}, {"ledger", "conversation_id"}, {"accounts", "conversation"}}

// copiesOf returns the statements that copy the only session in the database, one for each table.
func copiesOf(ctx context.Context, db *sql.DB) (all []string, err error) {
	for _, t := range sessionTables {
		columns, err := columnsOf(ctx, db, t[0])
		if err != nil {
			return nil, err
		}
		if _, err := db.ExecContext(ctx, "CREATE TEMP TABLE first_"+t[0]+" AS SELECT * FROM "+t[0]); err != nil {
			return nil, fmt.Errorf("keep the first session: %w", err)
		}
		values := slices.Clone(columns)
		for i, name := range columns {
			switch name {
			case t[1]:
				values[i] = ":id"
			case "id", "turn_id":
				values[i] = ":part || substr(" + name + ", 13)"
			}
		}
		all = append(all, fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM first_%s",
			t[0], strings.Join(columns, ", "), strings.Join(values, ", "), t[0]))
	}
	return all, nil
}

func columnsOf(ctx context.Context, db *sql.DB, table string) (names []string, err error) {
	found, err := db.QueryContext(ctx, "SELECT name FROM pragma_table_info('"+table+"')")
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
