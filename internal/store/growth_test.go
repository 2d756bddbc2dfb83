package store

import (
	"context"
	"fmt"
	"testing"
	"time"

	"parley/internal/chat"
	"parley/internal/ident"
	"parley/internal/ledger"
	"parley/internal/llm"
	"parley/internal/retrieval"
	"parley/internal/store/storetest"
	"parley/internal/turn"
)

// grown is the number of ledger entries, turns, conversations and documents in BenchmarkTurnPath.
const grown = 1_000_000

// BenchmarkTurnPath runs a turn's store calls alternately on an empty and a grown store; see
// CompareGrown.
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
			storetest.CompareGrown(b, func() error { return part.run(stores[0], b.Context()) },
				func() error { return part.run(stores[1], b.Context()) })
		})
	}
}

// grownStore is a store with many rows, and the row in the middle, which the calls ask for.
type grownStore struct {
	s       *State
	c       *Corpus
	middle  int64
	id      string
	account ledger.AccountKey
	seen    int64 // turns of the conversation
}

var (
	askedScope  = turn.Scope{Namespace: "ns"}
	askedFilter = retrieval.Filter{Namespace: "ns"}
)

func newGrown(b *testing.B, rows int) *grownStore {
	dir := b.TempDir()
	db := mustOpen(b, dir)
	storetest.Grow(b, dir, askedScope.Namespace, rows)
	id := storetest.GrownID(rows / 2)
	return &grownStore{s: db.State(), c: db.Corpus(), middle: int64(rows / 2), id: id, seen: 1,
		account: ledger.AccountOf("", id, chat.Account{})}
}

// turn makes the store calls of a turn with one model call: its reads and two durable commits.
func (a *grownStore) turn(ctx context.Context) error {
	at := time.Now()
	e := ledger.Entry{ID: ident.New(), TurnID: ident.New(), ConversationID: a.id, Scope: askedScope,
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
	e.Status, e.SettledAt, e.Cost = ledger.Completed, at, ledger.Cost{Micros: 1, Known: true}
	err := a.s.Save(ctx, turn.Record{ID: e.TurnID, Scope: askedScope, ConversationID: a.id, Kind: "ragchat", Seen: a.seen,
		Status: chat.StatusCompleted, Question: chat.TextMessage(llm.User, "question"), Ended: []ledger.Entry{e},
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

// BenchmarkUsage sums a grown ledger, as a usage report does, and as budgets do at start.
func BenchmarkUsage(b *testing.B) {
	dir := b.TempDir()
	db := mustOpen(b, dir)
	storetest.Grow(b, dir, "ns", grown)
	for b.Loop() {
		rows, err := db.State().Usage(b.Context(), ledger.UsageQuery{By: []ledger.Dimension{ledger.ByNamespace, ledger.ByUser}})
		if err != nil || len(rows) != 1 || rows[0].Calls != grown {
			b.Fatal(rows, err)
		}
	}
}
