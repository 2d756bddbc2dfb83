package llm

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"parley/internal/interrupt"
)

// RetryOptions configures a Retrier. A zero field means its default.
type RetryOptions struct {
	Attempts int                                              // number of attempts at one call, including the first; 3
	Base     time.Duration                                    // the first wait, doubled for each further one; 250 ms
	MaxWait  time.Duration                                    // a call is not retried if the upstream asks for a longer wait; 10 s
	Sleep    func(ctx context.Context, d time.Duration) error // nil means a real wait
	Random   func() float64                                   // in [0,1); nil means math/rand's
}

// Retrier repeats failed calls, but completions only before their first token, and no calls that timed
// out without a reply. All calls of a Retrier share one budget: retries are at most a fifth of all
// calls, plus ten, so that they do not worsen the trouble of an upstream. It is safe for concurrent use.
type Retrier struct {
	opts RetryOptions

	mu     sync.Mutex
	budget int // in fifths of a retry
}

// The retry budget, in fifths of a retry: every call adds one.
const (
	retryCost = 5
	maxBudget = 10 * retryCost
)

// NewRetrier returns a retrier with a full budget.
func NewRetrier(opts RetryOptions) *Retrier {
	opts.Attempts = cmp.Or(opts.Attempts, 3)
	opts.Base = cmp.Or(opts.Base, 250*time.Millisecond)
	opts.MaxWait = cmp.Or(opts.MaxWait, 10*time.Second)
	if opts.Sleep == nil {
		opts.Sleep = interrupt.Sleep
	}
	if opts.Random == nil {
		opts.Random = rand.Float64
	}
	return &Retrier{opts: opts, budget: maxBudget}
}

// retry makes a call until it succeeds, is final, or may not be repeated.
func (g *Guards) retry(ctx context.Context, call func() (final bool, err error)) error {
	r := g.Retrier
	if r == nil {
		_, err := call()
		return err
	}
	r.earn()
	for attempt := 1; ; attempt++ {
		final, err := call()
		if err == nil || final || !r.again(ctx, attempt, err) {
			return err
		}
	}
}

// again waits for the next attempt, and reports whether to make it.
func (r *Retrier) again(ctx context.Context, attempt int, err error) bool {
	e, ok := errors.AsType[*Error](err)
	if !ok || !e.Retryable || e.Silent || e.Filtered || e.RetryAfter > r.opts.MaxWait || attempt >= r.opts.Attempts || ctx.Err() != nil {
		return false
	}
	wait := r.wait(attempt, e.RetryAfter)
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= wait {
		return false
	}
	return r.spend() && r.opts.Sleep(ctx, wait) == nil
}

// wait returns the time to wait: at least what the upstream asked for, with jitter, so that calls that
// failed together are not repeated together.
func (r *Retrier) wait(attempt int, after time.Duration) time.Duration {
	backoff := r.opts.Base << (attempt - 1)
	jitter := time.Duration(r.opts.Random() * float64(backoff))
	if after > 0 {
		return after + jitter
	}
	return (backoff + jitter) / 2
}

func (r *Retrier) earn() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.budget = min(r.budget+1, maxBudget)
}

func (r *Retrier) spend() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.budget < retryCost {
		return false
	}
	r.budget -= retryCost
	return true
}
