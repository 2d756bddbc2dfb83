package ledger

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"parley/internal/chat"
)

// Limits say how much may be spent in one period. 0 means no limit.
type Limits struct {
	Requests int64 // turns
	Tokens   int64 // that models read and write, including built-in models
	Micros   int64 // millionths of a US dollar; see BudgetOptions.Assumed
}

// Allowance is what may be spent in one period.
type Allowance struct {
	User      Limits // of each user
	Namespace Limits // of each namespace
}

func (a Allowance) limitsMoney() bool { return a.User.Micros > 0 || a.Namespace.Micros > 0 }

// BudgetOptions configures budgets.
type BudgetOptions struct {
	User      Limits // for each user: the caller, or the user that an anonymous caller names
	Namespace Limits // for each namespace
	// Chosen returns the limits that administrators have set in place of User and Namespace, and whether they have set any.
	// Optional.
	Chosen func(context.Context) (Allowance, bool, error)
	// Assumed is the price, in millionths of a US dollar per million tokens, at which budgets of money count
	// models without a known price. If it is 0, a server that limits money refuses such models. The recorded
	// cost remains unknown.
	Assumed int64
	Shared  bool             // other servers spend from the same budgets
	Window  time.Duration    // length of a period, counted from midnight UTC; 0 means 24 h
	Now     func() time.Time // nil means time.Now
}

// Budgets refuse turns when the budget of their user or namespace is used up. A turn reserves an
// estimate before it makes any call, and reservations count as spent, so a period is overspent by at
// most the turn that was admitted last, if estimates are not too low. Spending from before the process
// started is read from the ledger. Later spending of other processes is counted only with
// BudgetOptions.Shared, and only once it is in the ledger: a period may then also be overspent by the turns
// that are running elsewhere. Zero limits refuse nothing. Budgets are safe for concurrent use.
type Budgets struct {
	store Store
	opts  BudgetOptions

	mu       sync.Mutex
	allowed  Allowance
	asked    time.Time // when allowed was last read; zero for never
	window   time.Time // beginning of the period that used covers
	stale    time.Time // when used must be read again, if budgets are shared
	used     map[budgetKey]*Amount
	reserved map[budgetKey]*Amount
}

// budgetKey identifies the budget of a namespace or of a user.
type budgetKey struct {
	namespace   string
	ofUser      bool
	owner, user string // only with ofUser
}

// Amount is an amount that counts against Limits.
type Amount struct{ Requests, Tokens, Micros int64 }

func (a *Amount) add(o Amount, sign int64) {
	a.Requests += sign * o.Requests
	a.Tokens += sign * o.Tokens
	a.Micros += sign * o.Micros
}

// NewBudgets returns budgets that start from the spending in the ledger of store.
func NewBudgets(store Store, opts BudgetOptions) *Budgets {
	opts.Window = cmp.Or(opts.Window, 24*time.Hour)
	if opts.Now == nil {
		opts.Now = time.Now
	}
	return &Budgets{store: store, opts: opts, allowed: Allowance{opts.User, opts.Namespace}, reserved: map[budgetKey]*Amount{}}
}

// RefusesUnpriced reports whether models without a known price are refused: money is limited, and no
// price is assumed for them.
func (b *Budgets) RefusesUnpriced(ctx context.Context) (bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.followChoice(ctx); err != nil {
		return false, unreadable(err)
	}
	return b.allowed.limitsMoney() && b.opts.Assumed == 0, nil
}

func unreadable(err error) error {
	return &chat.Error{Kind: chat.Unavailable, Msg: "The budget could not be read. Please try again.", Err: err}
}

// allowance returns what may be spent now, and whether administrators have set it.
func (b *Budgets) allowance(ctx context.Context) (a Allowance, chosen bool, err error) {
	if b.opts.Chosen != nil {
		a, chosen, err = b.opts.Chosen(ctx)
	}
	if !chosen {
		a = Allowance{b.opts.User, b.opts.Namespace}
	}
	return a, chosen, err
}

// followChoice reads the limits set by administrators, at most once per rereadAfter. The caller must hold b.mu.
func (b *Budgets) followChoice(ctx context.Context) error {
	now := b.opts.Now()
	if b.opts.Chosen == nil || now.Sub(b.asked) < rereadAfter {
		return nil
	}
	a, _, err := b.allowance(ctx)
	if err != nil {
		return fmt.Errorf("read the chosen budgets: %w", err)
	}
	if a != b.allowed {
		b.allowed, b.used = a, nil // read the spending again, which is not counted without limits
	}
	b.asked = now
	return nil
}

// Micros returns how much a call counts against budgets of money, in millionths of a US dollar.
func (b *Budgets) Micros(provider string, cost Cost, tokens int64) int64 {
	if cost.Known || provider == Builtin {
		return cost.Micros
	}
	return cost.Micros + assumed(b.opts.Assumed, tokens)
}

// assumed returns the price of a number of tokens, rounded up.
func assumed(perMillion, tokens int64) int64 { return (perMillion*tokens + 999_999) / 1_000_000 }

// retryReserved is the retry time when only reservations of other turns exceed the budget.
const retryReserved = 5 * time.Second

// Reserve admits a turn with an estimate of its spending. It refuses the turn with a *chat.Error, of kind
// RateLimited if a budget is used up, or Unavailable if the spending cannot be read. The caller must call
// settle once, with the actual spending.
func (b *Budgets) Reserve(ctx context.Context, scope Scope, user string, estimate Amount) (settle func(Amount), err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	err = b.followChoice(ctx)
	if err == nil && b.allowed == (Allowance{}) {
		return func(Amount) {}, nil
	}
	if err == nil {
		err = b.turnWindow(ctx)
	}
	if err != nil {
		return nil, unreadable(err)
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
			if b.used != nil { // otherwise it will be read from the ledger
				of(b.used, key).add(took, 1)
			}
		}
	}, nil
}

func (b *Budgets) limitsOf(scope Scope, user string) map[budgetKey]Limits {
	limits := map[budgetKey]Limits{}
	if b.allowed.Namespace != (Limits{}) {
		limits[b.tracked(budgetKey{namespace: scope.Namespace})] = b.allowed.Namespace
	}
	if b.allowed.User != (Limits{}) {
		limits[b.tracked(userKey(scope.Owner, user))] = b.allowed.User
	}
	return limits
}

// maxTracked limits the number of budgets in a period, because anonymous callers can make up names.
const maxTracked = 100_000

// tracked returns the key, or a key shared by many if there are too many budgets already.
func (b *Budgets) tracked(key budgetKey) budgetKey {
	if _, ok := b.used[key]; ok || len(b.used) < maxTracked {
		return key
	}
	return budgetKey{ofUser: key.ofUser}
}

// userKey returns the budget key of a user. A signed-in caller is the user, whatever user the request
// names.
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

// rereadAfter is the time between two reads of the limits set by administrators, and of the spending of other servers. If
// reading the spending is slow, it is read less often: each read is followed by a pause of at least rereadShare times its
// duration.
const (
	rereadAfter = time.Second
	rereadShare = 20
)

// turnWindow begins a new period when the last one is over. Unless budgets are shared, it reads the ledger only for
// the first period and after a change of the limits: this process itself has counted all other spending.
func (b *Budgets) turnWindow(ctx context.Context) error {
	window := b.opts.Now().UTC().Truncate(b.opts.Window)
	began := time.Now()
	again := b.used == nil || b.opts.Shared && began.After(b.stale)
	if !again && !window.After(b.window) {
		return nil
	}
	used := map[budgetKey]*Amount{}
	if again {
		var err error
		if used, err = b.spentSince(ctx, window, b.allowed); err != nil {
			return err
		}
	}
	b.window, b.used = window, used
	took := time.Since(began)
	b.stale = began.Add(took + max(rereadAfter, rereadShare*took))
	return nil
}

// spentSince reads the spending of each user and namespace from the ledger. If the allowance limits money, it
// adds the assumed cost of models without a price.
func (b *Budgets) spentSince(ctx context.Context, from time.Time, a Allowance) (map[budgetKey]*Amount, error) {
	used := map[budgetKey]*Amount{}
	rows, err := b.store.Usage(ctx, UsageQuery{By: []Dimension{ByNamespace, ByUser}, From: from})
	if err != nil {
		return nil, fmt.Errorf("read what was spent: %w", err)
	}
	for _, row := range rows { // all rows of a turn have the same namespace and user
		for _, key := range []budgetKey{{namespace: row.Namespace}, userKey(row.Owner, row.User)} {
			of(used, key).add(Amount{row.Turns, row.Input + row.Output, row.Micros}, 1)
		}
	}
	if a.limitsMoney() && b.opts.Assumed > 0 {
		err = b.addUnpriced(ctx, used, from)
	}
	return used, err
}

// Spending is what one user or namespace has spent in a period.
type Spending struct {
	Namespace   string
	OfUser      bool
	Owner, User string // only with OfUser
	Amount
}

// Period is the current period of budgets.
type Period struct {
	From, Until time.Time
	Allowance
	Chosen bool // administrators have set Allowance
	Spent  []Spending
}

// Period reads the spending of the current period from the ledger, in no particular order. It does not include turns that
// have not ended.
func (b *Budgets) Period(ctx context.Context) (Period, error) {
	from := b.opts.Now().UTC().Truncate(b.opts.Window)
	a, chosen, err := b.allowance(ctx)
	if err != nil {
		return Period{}, err
	}
	p := Period{From: from, Until: from.Add(b.opts.Window), Allowance: a, Chosen: chosen}
	used, err := b.spentSince(ctx, from, a)
	for key, a := range used {
		p.Spent = append(p.Spent, Spending{Namespace: key.namespace, OfUser: key.ofUser, Owner: key.owner, User: key.user, Amount: *a})
	}
	return p, err
}

// addUnpriced adds the assumed cost of models without a price. If only some calls of a model have a
// price, it counts the tokens of all of them.
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

// check refuses a turn when spending and reservations reach a limit.
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
		{"tokens", limit.Tokens, used.Tokens, all.Tokens},
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
