package ledger

import (
	"context"
	"fmt"
	"sync"
	"time"

	"parley/internal/chat"
)

// Limits are what may be spent in one period. 0 means no limit.
type Limits struct {
	Requests int64 // turns
	Micros   int64 // millionths of a US dollar; see BudgetOptions.Assumed
}

// BudgetOptions says what may be spent.
type BudgetOptions struct {
	User      Limits // each user: the caller, or the user that an anonymous caller names
	Namespace Limits // each namespace
	// Assumed is the price, in millionths of a US dollar for a million tokens, that budgets of money count for
	// models without a known price. 0 refuses such models where money is limited. The recorded cost stays
	// unknown.
	Assumed int64
	Window  time.Duration    // over which spending is added up; 0 means 24 h, from midnight UTC
	Now     func() time.Time // nil means time.Now
}

// Budgets refuse turns when the budget of their user or namespace is used up. A turn reserves an estimate
// before it makes any call, and reservations count as spent. So a period is overspent by at most the turn
// that was admitted last, as long as estimates are not too low. Spending from before the process started is
// read from the ledger once; what other processes spend meanwhile is not seen. Zero limits refuse nothing.
type Budgets struct {
	store Store
	opts  BudgetOptions

	mu       sync.Mutex
	window   time.Time // the beginning of the one that used is of
	used     map[budgetKey]*Amount
	reserved map[budgetKey]*Amount
}

// budgetKey names a budget: a namespace's, or a user's.
type budgetKey struct {
	namespace   string
	ofUser      bool
	owner, user string // with ofUser
}

// Amount is what is counted against Limits.
type Amount struct{ Requests, Micros int64 }

func (a *Amount) add(o Amount, sign int64) {
	a.Requests += sign * o.Requests
	a.Micros += sign * o.Micros
}

// NewBudgets returns budgets that begin with what the ledger in store has.
func NewBudgets(store Store, opts BudgetOptions) *Budgets {
	if opts.Window == 0 {
		opts.Window = 24 * time.Hour
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	return &Budgets{store: store, opts: opts, reserved: map[budgetKey]*Amount{}}
}

// limitsMoney reports whether any budget is one of money.
func (b *Budgets) limitsMoney() bool { return b.opts.User.Micros > 0 || b.opts.Namespace.Micros > 0 }

// RefusesUnpriced reports whether models without a known price are refused: a budget of money would not
// limit them, and nothing is assumed of their price.
func (b *Budgets) RefusesUnpriced() bool { return b.limitsMoney() && b.opts.Assumed == 0 }

// Micros returns what a call counts against budgets of money.
func (b *Budgets) Micros(provider string, cost Cost, tokens int64) int64 {
	if cost.Known || provider == Builtin {
		return cost.Micros
	}
	return cost.Micros + assumed(b.opts.Assumed, tokens)
}

// assumed returns the price of tokens, rounded up.
func assumed(perMillion, tokens int64) int64 { return (perMillion*tokens + 999_999) / 1_000_000 }

// retryReserved is when to ask again if only what others have reserved stands in the way.
const retryReserved = 5 * time.Second

// Reserve admits a turn with an estimate of what it will take, or refuses it with a *chat.Error of kind
// RateLimited. The caller calls settle once, with what the turn really took.
func (b *Budgets) Reserve(ctx context.Context, scope Scope, user string, estimate Amount) (settle func(Amount), err error) {
	if b.opts.User == (Limits{}) && b.opts.Namespace == (Limits{}) {
		return func(Amount) {}, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.turnWindow(ctx); err != nil {
		return nil, &chat.Error{Kind: chat.Unavailable, Msg: "The budget could not be read. Please try again.", Err: err}
	}
	limits := b.limitsOf(scope, user)
	for key, limit := range limits {
		if estimate.Requests == 0 {
			limit.Requests = 0 // the request has been admitted already; see turn.Bill
		}
		if err := b.check(key, limit); err != nil {
			return nil, err
		}
	}
	for key := range limits {
		of(b.reserved, key).add(estimate, 1)
	}
	return func(took Amount) {
		b.mu.Lock()
		defer b.mu.Unlock()
		for key := range limits {
			r := of(b.reserved, key)
			if r.add(estimate, -1); *r == (Amount{}) {
				delete(b.reserved, key)
			}
			of(b.used, key).add(took, 1)
		}
	}, nil
}

func (b *Budgets) limitsOf(scope Scope, user string) map[budgetKey]Limits {
	limits := map[budgetKey]Limits{}
	if b.opts.Namespace != (Limits{}) {
		limits[b.tracked(budgetKey{namespace: scope.Namespace})] = b.opts.Namespace
	}
	if b.opts.User != (Limits{}) {
		limits[b.tracked(userKey(scope.Owner, user))] = b.opts.User
	}
	return limits
}

// maxTracked is how many budgets a window keeps apart. Anybody can make up names.
const maxTracked = 100_000

// tracked returns the key, or that of the nameless when there are too many already.
func (b *Budgets) tracked(key budgetKey) budgetKey {
	if _, ok := b.used[key]; ok || len(b.used) < maxTracked {
		return key
	}
	return budgetKey{ofUser: key.ofUser}
}

// userKey returns the budget of a user. A caller who has signed in is the user, whatever the
// request says.
func userKey(owner, user string) budgetKey {
	if owner != "" {
		user = ""
	}
	return budgetKey{ofUser: true, owner: owner, user: user}
}

func of(m map[budgetKey]*Amount, key budgetKey) *Amount {
	s, ok := m[key]
	if !ok {
		s = &Amount{}
		m[key] = s
	}
	return s
}

// turnWindow begins a new window when the last one is over. Only the first reads the ledger: of the others this
// process has seen the beginning.
func (b *Budgets) turnWindow(ctx context.Context) error {
	window := b.opts.Now().UTC().Truncate(b.opts.Window)
	if b.used != nil && !window.After(b.window) {
		return nil
	}
	used := map[budgetKey]*Amount{}
	if b.used == nil {
		rows, err := b.store.Usage(ctx, UsageQuery{By: []Dimension{ByNamespace, ByUser}, From: window})
		if err != nil {
			return fmt.Errorf("read what was spent: %w", err)
		}
		for _, row := range rows { // of a turn all rows are of one namespace and user
			for _, key := range []budgetKey{{namespace: row.Namespace}, userKey(row.Owner, row.User)} {
				of(used, key).add(Amount{row.Turns, row.Micros}, 1)
			}
		}
	}
	if b.used == nil && b.limitsMoney() && b.opts.Assumed > 0 {
		if err := b.addUnpriced(ctx, used, window); err != nil {
			return err
		}
	}
	b.window, b.used = window, used
	return nil
}

// addUnpriced adds what is assumed of models without a price. Of a model only some of whose calls have one,
// all tokens count.
func (b *Budgets) addUnpriced(ctx context.Context, used map[budgetKey]*Amount, from time.Time) error {
	rows, err := b.store.Usage(ctx, UsageQuery{By: []Dimension{ByNamespace, ByUser, ByModel}, From: from})
	if err != nil {
		return fmt.Errorf("read what was spent on models: %w", err)
	}
	for _, row := range rows {
		if row.Unpriced == 0 {
			continue
		}
		for _, key := range []budgetKey{{namespace: row.Namespace}, userKey(row.Owner, row.User)} {
			of(used, key).Micros += assumed(b.opts.Assumed, row.Input+row.Output)
		}
	}
	return nil
}

// check refuses when what is used and reserved reaches a limit.
func (b *Budgets) check(key budgetKey, limit Limits) error {
	used := *of(b.used, key)
	all := used
	if r, ok := b.reserved[key]; ok {
		all.add(*r, 1)
	}
	for _, c := range []struct {
		what             string
		limit, used, all int64
	}{
		{"requests", limit.Requests, used.Requests, all.Requests},
		{"money", limit.Micros, used.Micros, all.Micros},
	} {
		if c.limit == 0 || c.all < c.limit {
			continue
		}
		wait := retryReserved
		if c.used >= c.limit {
			wait = b.window.Add(b.opts.Window).Sub(b.opts.Now())
		}
		whose := "this namespace"
		if key.ofUser {
			whose = "this user"
		}
		return &chat.Error{Kind: chat.RateLimited, RetryAfter: max(wait, time.Second),
			Msg: fmt.Sprintf("The budget of %s for %s is used up. Please try again later.", c.what, whose)}
	}
	return nil
}
