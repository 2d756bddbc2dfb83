package turn

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"parley/internal/llm"
)

// LedgerOptions tunes a Ledger. The zero value is good.
type LedgerOptions struct {
	Log          *slog.Logger     // nil discards
	Price        Price            // nil knows no price
	Count        Count            // counts what an upstream did not; nil means llm.EstimateTokens
	WriteTimeout time.Duration    // of one write; 0 means 10 s
	Now          func() time.Time // nil means time.Now
}

// Price returns what a call costs.
type Price func(provider, model string, u llm.Usage) Cost

// Ledger records what model calls cost. Its methods may be called concurrently.
type Ledger struct {
	store LedgerStore
	opts  LedgerOptions
}

// NewLedger returns a ledger that is kept in store.
func NewLedger(store LedgerStore, opts LedgerOptions) *Ledger {
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
		opts.WriteTimeout = 10 * time.Second
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
			if err := l.write(ctx, l.settled(e, EntryInterrupted)); err != nil {
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
func (l *Ledger) settled(e Entry, status EntryStatus) Entry {
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
