package turn_test

import (
	"context"
	"errors"
	"testing"

	"parley/internal/chat"
	"parley/internal/ledger"
	"parley/internal/turn"
)

func TestBill_ChargesAllRunsUnderOneIDAsOneRequestAndSavesNoTurn(t *testing.T) {
	db := open(t)
	s := newSpender(t, db, ledger.BudgetOptions{User: ledger.Limits{Requests: 2}})
	bill := s.NewBill(answeringBy(s.books.Meter("openai", saying)))
	for range 3 {
		if err := run(t.Context(), bill, ask("", "why?")); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := db.State().Entries(t.Context(), bill.ID())
	if err != nil || len(entries) != 6 {
		t.Fatalf("%d calls are in the ledger, want 6: %v", len(entries), err)
	}
	for _, e := range entries {
		if e.Status != ledger.Completed || e.Stage == "" || e.Cost.Micros == 0 {
			t.Errorf("entry %+v", e)
		}
	}
	if _, err := db.State().Turn(t.Context(), alice, bill.ID()); !errors.Is(err, turn.ErrNotFound) {
		t.Errorf("a turn was saved: %v", err)
	}
	// The bill was one request of two, for this process and for the next.
	if got, _ := s.spendUntilRefused(t, ask("", "why?")); got != 1 {
		t.Errorf("%d turns were admitted after the bill, want 1", got)
	}
	if got, _ := newSpender(t, db, ledger.BudgetOptions{User: ledger.Limits{Requests: 3}}).spendUntilRefused(t, ask("", "why?")); got != 1 {
		t.Errorf("%d turns were admitted after a restart, want 1", got)
	}
}

func TestBill_IsRefusedWhenTheBudgetIsUsedUp(t *testing.T) {
	s := newSpender(t, open(t), ledger.BudgetOptions{User: ledger.Limits{Micros: 600}}) // 236 each
	bill := s.NewBill(answeringBy(s.books.Meter("openai", saying)))
	var err error
	runs := 0
	for ; err == nil && runs < 20; runs++ {
		err = run(t.Context(), bill, ask("", "why?"))
	}
	if runs != 4 || chat.KindOf(err) != chat.RateLimited {
		t.Errorf("run %d ended with %v, want the fourth to be refused", runs, err)
	}
	if got, _ := s.spendUntilRefused(t, ask("", "why?")); got != 0 {
		t.Errorf("%d turns were admitted afterwards", got)
	}
}

func TestBill_ARejectedRunIsNoRequest(t *testing.T) {
	s := newSpender(t, open(t), ledger.BudgetOptions{User: ledger.Limits{Requests: 1}})
	bill := s.NewBill(engine(func(context.Context, chat.Request, func(chat.Event) bool) error {
		return &chat.Error{Kind: chat.Invalid, Msg: "no"}
	}))
	if err := run(t.Context(), bill, ask("", "why?")); chat.KindOf(err) != chat.Invalid {
		t.Fatal(err)
	}
	if got, _ := s.spendUntilRefused(t, ask("", "why?")); got != 1 {
		t.Errorf("%d turns were admitted, want 1", got)
	}
}
