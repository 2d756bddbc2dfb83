package turn_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"parley/internal/access"
	"parley/internal/chat"
	"parley/internal/ledger"
	"parley/internal/llm"
	"parley/internal/store"
	"parley/internal/turn"
)

// noon is a time of day at which a window of a day has twelve hours left.
// What administrators choose counts at once, with what was spent while nothing was limited; and what is configured counts again without it.
func TestBudgets_FollowWhatAdministratorsChoose(t *testing.T) {
	var chosen *ledger.Allowance
	s := newSpender(t, open(t), ledger.BudgetOptions{Chosen: func(context.Context) (a ledger.Allowance, ok bool, err error) {
		if chosen != nil {
			a = *chosen
		}
		return a, chosen != nil, nil
	}})
	for _, c := range []struct {
		allowance *ledger.Allowance
		want      int
	}{
		{nil, 20},
		{&ledger.Allowance{User: ledger.Limits{Requests: 23}}, 3},
		{&ledger.Allowance{Namespace: ledger.Limits{Requests: 24}}, 1},
		{&ledger.Allowance{}, 20},
	} {
		chosen, s.clock = c.allowance, s.clock.Add(time.Minute)
		if got, _ := s.spendUntilRefused(t, ask("", "why?")); got != c.want {
			t.Errorf("%+v: %d turns, want %d", c.allowance, got, c.want)
		}
	}
}

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// spender runs turns that take two calls of 59 tokens and 118 micro-dollars each.
type spender struct {
	*turn.Runner
	db    *store.DB
	books *ledger.Ledger
	clock time.Time
}

func newSpender(t *testing.T, db *store.DB, opts ledger.BudgetOptions) *spender {
	s := &spender{db: db, clock: noon}
	now := func() time.Time { return s.clock }
	opts.Now = now
	s.books = ledger.New(db.State(), ledger.Options{Price: price, Now: now})
	s.Runner = turn.NewRunner(answeringBy(s.books.Meter("openai", saying)), db.State(),
		turn.Options{Budgets: ledger.NewBudgets(db.State(), opts), Price: price, Now: now})
	return s
}

// spendUntilRefused returns how many turns were admitted, at most 20, and the refusal.
func (s *spender) spendUntilRefused(t *testing.T, req chat.Request) (admitted int, refusal error) {
	t.Helper()
	for admitted < 20 {
		if err := run(t.Context(), s.Runner, req); err != nil {
			if chat.KindOf(err) != chat.RateLimited {
				t.Fatal(err)
			}
			return admitted, err
		}
		admitted++
	}
	return admitted, nil
}

func TestBudgets_RefuseWhenWhatMayBeSpentIsSpent(t *testing.T) {
	for name, c := range map[string]struct {
		opts ledger.BudgetOptions
		want int
	}{
		"no limits":                {ledger.BudgetOptions{}, 20},
		"requests of a user":       {ledger.BudgetOptions{User: ledger.Limits{Requests: 3}}, 3},
		"tokens of a user":         {ledger.BudgetOptions{User: ledger.Limits{Tokens: 236}}, 2}, // 118 each
		"tokens of a namespace":    {ledger.BudgetOptions{Namespace: ledger.Limits{Tokens: 500}}, 5},
		"money of a user":          {ledger.BudgetOptions{User: ledger.Limits{Micros: 472}}, 2}, // 236 each
		"requests of a namespace":  {ledger.BudgetOptions{Namespace: ledger.Limits{Requests: 4}}, 4},
		"a little money":           {ledger.BudgetOptions{Namespace: ledger.Limits{Micros: 1}}, 1},
		"money of a namespace":     {ledger.BudgetOptions{Namespace: ledger.Limits{Micros: 1000}}, 5},
		"the least of both counts": {ledger.BudgetOptions{User: ledger.Limits{Requests: 5}, Namespace: ledger.Limits{Requests: 2}}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			db := open(t)
			s := newSpender(t, db, c.opts)
			got, refusal := s.spendUntilRefused(t, ask("", "why?"))
			if got != c.want {
				t.Fatalf("%d turns were admitted, want %d", got, c.want)
			}
			if c.want == 20 {
				return
			}
			if e, ok := errors.AsType[*chat.Error](refusal); !ok || e.RetryAfter != 12*time.Hour {
				t.Errorf("try again after %v, want 12h: %v", e.RetryAfter, refusal)
			}
			// A new process reads the spending from the ledger.
			if got, _ := newSpender(t, db, c.opts).spendUntilRefused(t, ask("", "why?")); got != 0 {
				t.Errorf("%d turns were admitted after a restart, want 0", got)
			}
			// The next day is a new window.
			s.clock = noon.Add(12 * time.Hour)
			if got, _ := s.spendUntilRefused(t, ask("", "why?")); got != c.want {
				t.Errorf("%d turns were admitted on the next day, want %d", got, c.want)
			}
		})
	}
}

func TestBudgets_AreOfOneUserOrNamespaceEach(t *testing.T) {
	db := open(t)
	named := func(owner, user, namespace string) chat.Request {
		req := ask("", "why?")
		req.Principal, req.Account.User, req.Namespace = access.Principal{Subject: owner}, user, namespace
		return req
	}
	s := newSpender(t, db, ledger.BudgetOptions{User: ledger.Limits{Requests: 1}})
	for _, c := range []struct {
		req  chat.Request
		want int
	}{
		{named("alice", "", "ns"), 1},
		{named("alice", "someone else", "ns"), 0}, // the sign-in counts, not the name given
		{named("alice", "", "other"), 0},
		{named("", "alice", "ns"), 1}, // a name is not a sign-in
		{named("", "u", "ns"), 1},
		{named("", "", "ns"), 1},
		{named("", "", "other"), 0},
	} {
		if got, _ := s.spendUntilRefused(t, c.req); got != c.want {
			t.Errorf("%+v: %d turns were admitted, want %d", c.req.Account, got, c.want)
		}
	}
	s = newSpender(t, open(t), ledger.BudgetOptions{Namespace: ledger.Limits{Requests: 1}})
	for namespace, want := range map[string]int{"a": 1, "b": 1} {
		if got, _ := s.spendUntilRefused(t, named("alice", "", namespace)); got != want {
			t.Errorf("%s: %d turns were admitted, want %d", namespace, got, want)
		}
	}
}

// However many turns begin at one time, the spending exceeds the limit by at most one turn.
func TestBudgets_ReserveBeforeTheCall(t *testing.T) {
	db := open(t)
	const limit, turns = 10_000, 60
	release := make(chan struct{})
	held := model(func(ctx context.Context, emit func(llm.Chunk) bool) error {
		<-release
		return saying(ctx, emit)
	})
	books := ledger.New(db.State(), ledger.Options{Price: price})
	r := turn.NewRunner(answeringBy(books.Meter("openai", held)), db.State(),
		turn.Options{Price: price, Budgets: ledger.NewBudgets(db.State(), ledger.BudgetOptions{User: ledger.Limits{Micros: limit}})})
	errs := make(chan error, turns)
	var wg sync.WaitGroup
	for range turns {
		wg.Go(func() { errs <- run(t.Context(), r, ask("", "why?")) })
	}
	refused := 0
	var first error
	for refused < turns-10 { // an estimate is over 1,000 tokens
		first = <-errs
		if chat.KindOf(first) != chat.RateLimited {
			t.Fatalf("a turn ended with %v", first)
		}
		refused++
	}
	if e, ok := errors.AsType[*chat.Error](first); !ok || e.RetryAfter != 5*time.Second {
		t.Errorf("refused for what is only reserved: %v", first)
	}
	close(release)
	wg.Wait()
	close(errs)
	for err := range errs {
		if err != nil && chat.KindOf(err) != chat.RateLimited {
			t.Error(err)
		}
	}
	rows, err := db.State().Usage(t.Context(), ledger.UsageQuery{})
	if err != nil {
		t.Fatal(err)
	}
	if took := rows[0].Micros; took == 0 || took > limit {
		t.Errorf("%d millionths of a dollar were spent of %d", took, limit)
	}
	if err := run(t.Context(), r, ask("", "why?")); err != nil {
		t.Errorf("what was only reserved is not free again: %v", err)
	}
}

func TestBudgets_WhatWasRejectedTakesNothing(t *testing.T) {
	db := open(t)
	reject := engine(func(context.Context, chat.Request, func(chat.Event) bool) error {
		return &chat.Error{Kind: chat.Invalid, Msg: "no"}
	})
	budgets := ledger.NewBudgets(db.State(), ledger.BudgetOptions{User: ledger.Limits{Requests: 1}})
	for range 3 {
		err := run(t.Context(), turn.NewRunner(reject, db.State(), turn.Options{Budgets: budgets}), ask("", "why?"))
		if chat.KindOf(err) != chat.Invalid {
			t.Fatal(err)
		}
	}
	if err := run(t.Context(), turn.NewRunner(answering(), db.State(), turn.Options{Budgets: budgets}), ask("", "why?")); err != nil {
		t.Error(err)
	}
}

func TestBudgets_KeepOnlySoManyNamesApart(t *testing.T) {
	if testing.Short() {
		t.Skip("runs 100,000 turns")
	}
	db := open(t)
	budgets := ledger.NewBudgets(db.State(), ledger.BudgetOptions{User: ledger.Limits{Requests: 2}})
	for i := range 100_000 + 1 {
		if err := turn.Spend(t.Context(), budgets, fmt.Sprintf("user %d", i)); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range []bool{true, false} { // users who come too late share one budget
		if err := turn.Spend(t.Context(), budgets, fmt.Sprintf("late %d", i)); (err == nil) != want {
			t.Errorf("turn %d of those who come too late: %v", i, err)
		}
	}
	if err := turn.Spend(t.Context(), budgets, "user 1"); err != nil {
		t.Errorf("a user who was there before: %v", err)
	}
}

func TestBudgets_OfMoneyRefuseModelsWithoutAKnownPrice(t *testing.T) {
	for _, c := range []struct {
		name   string
		opts   ledger.BudgetOptions
		models chat.Models
		want   chat.Kind
	}{
		{"of a user", ledger.BudgetOptions{User: ledger.Limits{Micros: 1_000_000}}, chat.Models{Inference: "openai:small"}, chat.Invalid},
		{"of a namespace", ledger.BudgetOptions{Namespace: ledger.Limits{Micros: 1_000_000}}, chat.Models{Inference: "openai:small"}, chat.Invalid},
		{"chosen by an administrator", ledger.BudgetOptions{Chosen: func(context.Context) (ledger.Allowance, bool, error) {
			return ledger.Allowance{User: ledger.Limits{Micros: 1_000_000}}, true, nil
		}}, chat.Models{Inference: "openai:small"}, chat.Invalid},
		{"another stage", ledger.BudgetOptions{User: ledger.Limits{Micros: 1_000_000}}, chat.Models{Inference: "openai:large", Judge: "openai:small"}, chat.Invalid},
		{"known prices", ledger.BudgetOptions{User: ledger.Limits{Micros: 1_000_000}}, chat.Models{Inference: "openai:large", Rewrite: "builtin:rules"}, chat.Internal},
		{"no limit of money", ledger.BudgetOptions{User: ledger.Limits{Requests: 1_000_000}}, chat.Models{Inference: "openai:small"}, chat.Internal},
	} {
		s := newSpender(t, open(t), c.opts)
		req := ask("", "why?")
		req.Options.Models = c.models
		for name, err := range map[string]error{
			"turn": run(t.Context(), s.Runner, req),
			"bill": run(t.Context(), s.NewBill(answeringBy(s.books.Meter("openai", saying))), req),
		} {
			if refused := err != nil; refused != (c.want != chat.Internal) || chat.KindOf(err) != c.want {
				t.Errorf("%s, %s: %v", c.name, name, err)
			}
		}
	}
}

// Calls of models without a known price count against budgets of money at the assumed price, before and
// after a restart. Their cost stays unknown.
func TestBudgets_CountAnAssumedPriceWhereNoneIsKnown(t *testing.T) {
	db := open(t)
	unknown := func(string, string, llm.Usage) ledger.Cost { return ledger.Cost{} }
	spend := func(assumed int64) (int, error) {
		s := &spender{db: db, clock: noon}
		now := func() time.Time { return s.clock }
		opts := ledger.BudgetOptions{User: ledger.Limits{Micros: 472}, Assumed: assumed, Now: now}
		s.books = ledger.New(db.State(), ledger.Options{Price: unknown, Now: now})
		s.Runner = turn.NewRunner(answeringBy(s.books.Meter("openai", saying)), db.State(),
			turn.Options{Budgets: ledger.NewBudgets(db.State(), opts), Price: unknown, Now: now})
		return s.spendUntilRefused(t, ask("", "why?"))
	}
	if got, _ := spend(2_000_000); got != 2 { // 118 tokens each, at two micro-dollars
		t.Errorf("%d turns were admitted, want 2", got)
	}
	if got, _ := spend(2_000_000); got != 0 {
		t.Errorf("%d turns were admitted after a restart, want 0", got)
	}
	rows, err := db.State().Usage(t.Context(), ledger.UsageQuery{From: noon.Truncate(24 * time.Hour)})
	if err != nil || len(rows) != 1 || rows[0].Micros != 0 || rows[0].Unpriced != 4 {
		t.Errorf("usage = %+v, %v", rows, err)
	}
}
