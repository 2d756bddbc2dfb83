// Package ledger records what calls of models cost, who pays, and who may spend how much.
//
//	l := ledger.New(db.State(), ledger.Options{Price: prices.Of})
//	model := l.Meter("openai", openai.New(key)) // given to the engine
//	ctx = ledger.WithTab(ctx, tab)              // a turn's calls go on its tab
//
// Before each paid call a meter commits an intent: who asks, for which turn and stage, which model, and
// an estimate of the input. Afterwards it settles the entry with what the upstream reported, or with an
// estimate of what was received where the stream was cut. An intent that is still unsettled when a server
// starts was interrupted by a crash, and Recover settles it with its estimate. Entries outlive their turns
// and hold no text. Built-in models cost nothing: their entries are committed with the turn, which
// therefore writes nothing before its first token.
//
// Every entry names its account: what the client calls its user and conversation, or the stored
// conversation. The store keeps the totals of each account in the transactions that settle entries, in
// whole tokens and micro-dollars, so that they are the sum of the ledger at any moment.
//
// Budgets refuse a turn before it makes any call when its user or namespace has spent what it may.
package ledger

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"parley/internal/llm"
)

// Options tunes a Ledger. The zero value is good.
type Options struct {
	Log          *slog.Logger     // nil discards
	Price        Price            // nil knows no price
	Count        Count            // counts what an upstream did not; nil means llm.EstimateTokens
	WriteTimeout time.Duration    // of one write; 0 means 30 s
	Now          func() time.Time // nil means time.Now
}

// Price returns what a call costs.
type Price func(provider, model string, u llm.Usage) Cost

// Ledger records what model calls cost. Its methods may be called concurrently.
type Ledger struct {
	store Store
	opts  Options
}

// New returns a ledger that is kept in store.
func New(store Store, opts Options) *Ledger {
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	if opts.Price == nil {
		opts.Price = func(string, string, llm.Usage) Cost { return Cost{} }
	}
	if opts.Count == nil {
		opts.Count = llm.EstimateTokens
	}
	if opts.WriteTimeout == 0 {
		opts.WriteTimeout = 30 * time.Second
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	return &Ledger{store: store, opts: opts}
}

// recoverBatch is how many intents Recover reads at once.
const recoverBatch = 500

// Recover settles what a crash has left unsettled as interrupted, with the estimated input as its
// usage, and returns how many entries that were. A server calls it once when it starts. A call that
// another process is still making settles over it.
func (l *Ledger) Recover(ctx context.Context) (int, error) {
	for total := 0; ; {
		entries, err := l.store.Unsettled(ctx, recoverBatch)
		if err != nil {
			return total, fmt.Errorf("read unsettled calls: %w", err)
		}
		for _, e := range entries {
			e.Usage = llm.Usage{Input: e.EstimatedInput, Estimated: true}
			if err := l.write(ctx, l.settled(e, Interrupted)); err != nil {
				return total, err
			}
			total++
		}
		if len(entries) < recoverBatch {
			return total, nil
		}
	}
}

// settled returns an entry whose usage is known as it is written when its call has ended.
func (l *Ledger) settled(e Entry, status Status) Entry {
	e.Status = status
	e.Cost = Cost{Known: true}
	if e.Provider != Builtin {
		e.Cost = l.opts.Price(e.Provider, e.Model, e.Usage)
	}
	e.SettledAt = trim(l.opts.Now())
	return e
}

func (l *Ledger) write(ctx context.Context, e Entry) error {
	if err := l.store.Settle(ctx, e); err != nil {
		return fmt.Errorf("settle call %s: %w", e.ID, err)
	}
	return nil
}

// trim returns a time as the store keeps it.
func trim(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }
