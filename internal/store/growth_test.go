package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/internal/chat"
	"parley/internal/ident"
	"parley/internal/llm"
	"parley/internal/retrieval"
	"parley/internal/turn"
)

// grown is how many ledger entries, turns, conversations and documents there are in BenchmarkTurnPath.
const grown = 1_000_000

// numbers is a table of the numbers from 1 to ?, with ids that are in the order of what was made over time.
const numbers = `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?), made (i, id) AS
	(SELECT i, '01JGROWN' || printf('%018d', i) FROM n) `

// grow fills the tables that a turn reads and writes, as n turns of n conversations and n documents do.
func grow(b *testing.B, db *DB, n int) {
	b.Helper()
	fill := map[*database][]string{
		db.state.db: {
			`INSERT INTO conversations (id, namespace, owner, kind, turns, completed, created_at, updated_at)
				SELECT id, 'ns', '', 'ragchat', 1, 1, i, i FROM made`,
			`INSERT INTO turns (id, namespace, owner, conversation_id, position, status, error_kind, query, requested_model, model,
				input_tokens, output_tokens, cached_tokens, reasoning_tokens, estimated, stages, first_token, started_at, finished_at)
				SELECT id, 'ns', '', id, 1, 'completed', 0, 'question', '', 'm', 1, 1, 0, 0, 0, '[]', 1, i, i FROM made`,
			`INSERT INTO messages (turn_id, position, id, role, agent, status, parts, citations, finish_reason, model, tokens,
				input_tokens, output_tokens, cached_tokens, reasoning_tokens, estimated, created_at)
				SELECT id, 0, id, 'user', '', 'completed', '[{"text":"question"}]', 'null', '', '', 1, 0, 0, 0, 0, 0, i FROM made`,
			`INSERT INTO ledger (id, namespace, owner, conversation_id, account_user, account_conversation, turn_id, stage, provider,
				model, status, estimated_input, input_tokens, output_tokens, cached_tokens, reasoning_tokens, estimated,
				cost_micros, created_at, settled_at) SELECT id, 'ns', '', id, '', '', id, 'generate', 'openai',
				'm', 'completed', 1, 1, 1, 0, 0, 0, 1, i, i FROM made`,
			`INSERT INTO accounts (owner, stored, account_user, conversation, turns, embedding_tokens, embedding_micros, input_tokens,
				output_tokens, micros, unpriced, estimated) SELECT '', 1, '', id, 1, 0, 0, 1, 1, 1, 0, 0 FROM made`,
			`INSERT INTO said (turn_id, failed, error_kind, error, finished_at, events) SELECT id, 0, 0, '', i, x'7b7d' FROM made`,
		},
		db.corpus.db: {
			`INSERT INTO documents (id, namespace, owner, revision, name, title, url, category, media_type, restricted, sha256, size,
				pages, chunks, generation, indexed_at) SELECT id, 'ns', '', i, id, '', '', '', '', 0, '', 1, 1, 1, 'g', i FROM made`,
			`INSERT INTO chunks (id, tokens, layout, body) SELECT i << 24, 10, x'0100' || x'00', 'a chunk of some words' FROM made`,
		},
	}
	for d, inserts := range fill {
		for _, insert := range inserts {
			err := d.update(b.Context(), "grow", func(tx *sql.Tx) error {
				table, rest, _ := strings.Cut(strings.TrimPrefix(insert, "INSERT INTO "), "SELECT ")
				_, err := tx.ExecContext(b.Context(), "INSERT INTO "+table+" "+numbers+"SELECT "+rest, n)
				return err
			})
			if err != nil {
				b.Fatal(err)
			}
		}
		if _, err := d.write.ExecContext(b.Context(), "PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkTurnPath runs what a turn of a session asks of the store, and views of it, by turns over an empty and a
// grown store: "grown/empty" has to be about 1.
func BenchmarkTurnPath(b *testing.B) {
	stores := []*grownStore{newGrown(b, 10), newGrown(b, grown)}
	for _, part := range []struct {
		name string
		run  func(*grownStore, context.Context) error
	}{
		{"turn", (*grownStore).turn},
		{"entries", func(a *grownStore, ctx context.Context) error { _, err := a.s.Entries(ctx, a.id); return err }},
		{"record", func(a *grownStore, ctx context.Context) error { _, err := a.s.Turn(ctx, askedScope, a.id); return err }},
		{"said", func(a *grownStore, ctx context.Context) error { _, err := a.s.Said(ctx, a.id); return err }},
		{"totals", func(a *grownStore, ctx context.Context) error { _, err := a.s.Totals(ctx, a.account); return err }},
		{"sessions", func(a *grownStore, ctx context.Context) error {
			_, err := a.s.Conversations(ctx, askedScope, "ragchat", turn.Position{UpdatedAt: fromMicros(a.middle), ID: a.id}, 5)
			return err
		}},
		{"document", func(a *grownStore, ctx context.Context) error {
			_, err := a.c.Document(ctx, askedFilter, a.id)
			return err
		}},
		{"documents", func(a *grownStore, ctx context.Context) error {
			_, err := a.c.Documents(ctx, askedFilter, a.id, 5)
			return err
		}},
	} {
		b.Run(part.name, func(b *testing.B) {
			var took [2][]time.Duration
			for b.Loop() {
				for i, a := range stores {
					began := time.Now()
					if err := part.run(a, b.Context()); err != nil {
						b.Fatal(err)
					}
					took[i] = append(took[i], time.Since(began))
				}
			}
			var median [2]float64
			for i, all := range took {
				slices.Sort(all)
				median[i] = float64(all[len(all)/2].Nanoseconds())
			}
			b.ReportMetric(0, "ns/op") // which would be that of both
			b.ReportMetric(median[0], "empty-ns")
			b.ReportMetric(median[1], "grown-ns")
			b.ReportMetric(median[1]/median[0], "grown/empty")
		})
	}
}

// grownStore is a store of so many rows, and what is asked of it: the row in the middle.
type grownStore struct {
	s       *State
	c       *Corpus
	middle  int64
	id      string
	account turn.AccountKey
	seen    int64 // turns of the conversation
}

var (
	askedScope  = turn.Scope{Namespace: "ns"}
	askedFilter = retrieval.Filter{Namespace: "ns"}
)

func newGrown(b *testing.B, rows int) *grownStore {
	db := mustOpen(b, b.TempDir())
	grow(b, db, rows)
	id := fmt.Sprintf("01JGROWN%018d", rows/2)
	return &grownStore{s: db.State(), c: db.Corpus(), middle: int64(rows / 2), id: id, seen: 1,
		account: turn.AccountOf("", id, chat.Account{})}
}

// turn is a turn with one call of a model: what is read before it and after it, and two durable commits.
func (a *grownStore) turn(ctx context.Context) error {
	at := time.Now()
	e := turn.Entry{ID: ident.New(), TurnID: ident.New(), ConversationID: a.id, Scope: askedScope,
		Stage: chat.StageGenerate, Provider: "openai", Model: "m", CreatedAt: at}
	if _, err := a.s.Conversation(ctx, askedScope, a.id, 3); err != nil {
		return err
	}
	keys := []retrieval.ChunkKey{{Revision: 3}, {Revision: a.middle}, {Revision: a.middle + 3}}
	if _, err := a.c.Chunks(ctx, "ns", keys); err != nil {
		return err
	}
	if err := a.s.Intend(ctx, e); err != nil {
		return err
	}
	e.Status, e.SettledAt, e.Cost = turn.EntryCompleted, at, turn.Cost{Micros: 1, Known: true}
	err := a.s.Save(ctx, turn.Record{ID: e.TurnID, Scope: askedScope, ConversationID: a.id, Kind: "ragchat", Seen: a.seen,
		Status: chat.StatusCompleted, Question: chat.TextMessage(llm.User, "question"), Ended: []turn.Entry{e},
		Answers: []turn.Answer{{Message: chat.TextMessage(llm.Assistant, "answer")}},
		Said:    &turn.Said{Events: []byte("{}")}, StartedAt: at, FinishedAt: at})
	if err != nil {
		return err
	}
	a.seen++
	if all, err := a.s.Entries(ctx, e.TurnID); err != nil || len(all) != 1 {
		return fmt.Errorf("%d entries, %w", len(all), err)
	}
	_, err = a.s.Totals(ctx, a.account)
	return err
}

// BenchmarkUsage adds up a grown ledger, as a report does, and as budgets do once when the program starts.
func BenchmarkUsage(b *testing.B) {
	db := mustOpen(b, b.TempDir())
	grow(b, db, grown)
	for b.Loop() {
		rows, err := db.State().Usage(b.Context(), turn.UsageQuery{By: []turn.Dimension{turn.ByNamespace, turn.ByUser}})
		if err != nil || len(rows) != 1 || rows[0].Calls != grown {
			b.Fatal(rows, err)
		}
	}
}
