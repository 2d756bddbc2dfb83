// Package ledger records the cost of model calls and who caused it, and limits what users and namespaces may spend.
//
//	l := ledger.New(db.State(), ledger.Options{Price: prices.Of})
//	model := l.Meter("openai", openai.New(key)) // given to the engine
//	ctx = ledger.WithTab(ctx, tab)              // a turn's calls go on its tab
//
// Before each paid call a meter commits an intent: the caller, the turn and stage, the model, and an
// estimate of the input. Afterwards it settles the entry with the usage that the upstream reported, or
// with an estimate of the tokens that arrived if the stream was cut. An intent that is still unsettled when a
// server starts was interrupted by a crash; Recover settles it with its estimate. Entries outlive their
// turns and contain no text. Built-in models cost nothing: their entries are committed with the turn,
// which therefore writes nothing before its first token.
//
// An account is identified by the client's names for its user and conversation, or by the stored
// conversation. The store updates the totals of an account in the transactions that settle entries, in
// whole tokens and micro-dollars, so that they are the sum of the ledger at any moment.
//
// Budgets refuse a turn before it makes any call when its user or namespace has reached its limit.
package ledger

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"parley/internal/llm"
)

// Options configures a Ledger. The zero value is valid.
type Options struct {
	Log          *slog.Logger     // nil discards
	Price        Price            // nil means that no price is known
	Count        Count            // counts tokens that an upstream did not report; nil means llm.EstimateTokens
	WriteTimeout time.Duration    // of one write; 0 means 30 s
	Now          func() time.Time // nil means time.Now
}

// Price returns the cost of a call.
type Price func(provider, model string, u llm.Usage) Cost

// Ledger records the cost of model calls. It is safe for concurrent use.
type Ledger struct {
	store Store
	opts  Options
}

// New returns a ledger that writes to store.
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
	opts.WriteTimeout = cmp.Or(opts.WriteTimeout, 30*time.Second)
	if opts.Now == nil {
		opts.Now = time.Now
	}
	return &Ledger{store: store, opts: opts}
}

// recoverBatch is the number of intents that Recover reads at a time.
const recoverBatch = 500

// Recover settles the entries that a crash left unsettled and that were created before the given time; the
// zero time means all. It marks them as interrupted, with the estimated input as their usage, and returns their number. If
// another process is still making such a call, that process overwrites the entry when the call ends.
func (l *Ledger) Recover(ctx context.Context, before time.Time) (int, error) {
	for total := 0; ; {
		entries, err := l.store.Unsettled(ctx, recoverBatch)
		if err != nil {
			return total, fmt.Errorf("read unsettled calls: %w", err)
		}
		for _, e := range entries {
			if !before.IsZero() && !e.CreatedAt.Before(before) {
				return total, nil // the entries that follow are newer
			}
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

// settled returns the entry to store for an ended call. The usage of e must be set.
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

// trim converts a time to the precision of the store.
func trim(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }
