package turn

import (
	"cmp"
	"context"
	"iter"
	"sync"

	"parley/internal/chat"
	"parley/internal/ident"
	"parley/internal/ledger"
)

// Bill runs an engine several times and charges the runs together, for example for an evaluation. It saves
// no turns. The ledger records the model calls of all runs under one id, like those of a turn. Budgets admit
// each run separately, so at most one run overspends them, and count all runs as one request. A Bill is safe
// for concurrent use.
type Bill struct {
	runner *Runner
	engine chat.Runner
	id     string

	mu      sync.Mutex
	counted bool // a run has been counted as the request
}

// NewBill returns a bill for runs of an engine, which may differ from the Runner's.
func (r *Runner) NewBill(engine chat.Runner) *Bill {
	return &Bill{runner: r, engine: engine, id: ident.At(r.opts.Now())}
}

// ID returns the id under which the ledger records the calls.
func (b *Bill) ID() string { return b.id }

// Run runs the engine in the caller's goroutine, as Runner.Run does, but saves no turn.
func (b *Bill) Run(ctx context.Context, req *chat.Request) iter.Seq2[chat.Event, error] {
	return func(yield func(chat.Event, error) bool) {
		r, own := b.runner, *req
		own.TurnID = b.id
		own.Namespace = cmp.Or(own.Namespace, r.opts.Namespace)
		t := r.begin(Scope{Namespace: own.Namespace, Owner: own.Principal.Subject}, &own)
		estimate, first := r.estimate(&own), b.count()
		if !first {
			estimate.Requests = 0
		}
		settle, err := r.reserve(ctx, t, &own, estimate)
		if err != nil {
			b.uncount(first)
			yield(nil, err)
			return
		}
		defer func() {
			took := t.took()
			if !first {
				took.Requests = 0
			} else if !t.started {
				b.uncount(first)
			}
			settle(took)
		}()
		if err := r.opts.Allow.Check(own.Options.Models); err != nil {
			yield(nil, err)
			return
		}
		defer t.tab.Close(ctx)
		for e, err := range b.engine.Run(ledger.WithTab(ctx, t.tab), &own) {
			if err == nil {
				t.add(e, r.opts.Now())
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// count reports whether this run counts as the request. Only the first one does.
func (b *Bill) count() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	first := !b.counted
	b.counted = true
	return first
}

// uncount undoes count for a run that was refused.
func (b *Bill) uncount(first bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.counted = b.counted && !first
}
