package turn_test

import (
	"context"
	"errors"
	"testing"

	"parley/internal/chat"
	"parley/internal/turn"
)

// leave runs a turn and leaves it at its first text.
func leave(ctx context.Context, t *testing.T, r *turn.Runner, req chat.Request) {
	t.Helper()
	for e, err := range r.Run(ctx, &req) {
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := e.(chat.TextDelta); ok {
			return
		}
	}
	t.Fatal("the turn ended without text")
}

func TestKeep_FinishesTurnsWhoseClientsLeave(t *testing.T) {
	for _, c := range []struct {
		name, conversation string
		policy             turn.Policy
		want               chat.Status
	}{
		{"stateless", "", "", chat.StatusCancelled},
		{"conversation", "c", "", chat.StatusCompleted},
		{"stateless, to be finished", "", turn.Finish, chat.StatusCompleted},
		{"conversation, to be cancelled", "c", turn.Cancel, chat.StatusCancelled},
	} {
		t.Run(c.name, func(t *testing.T) {
			db := open(t)
			on := make(chan struct{})
			r := turn.NewRunner(gated(on), db.State(), turn.Options{Keep: true})
			ctx, cancel := context.WithCancel(t.Context())
			ctx = turn.Steer(ctx, turn.Steering{Policy: c.policy})
			leave(ctx, t, r, askTurn(c.conversation, "why?"))
			cancel()
			close(on)
			r.Drain(t.Context(), nil)
			if rec := saved(t, db.State()); rec.Status != c.want {
				t.Errorf("saved as %s, want %s", rec.Status, c.want)
			}
			want := 0
			if c.conversation != "" && c.want == chat.StatusCompleted {
				want = 2
			}
			if c.conversation != "" {
				if got := history(t, db, "c"); len(got) != want {
					t.Errorf("history: %q", got)
				}
			}
		})
	}
}

func TestKeep_PassesOnEventsAndErrors(t *testing.T) {
	boom := &chat.Error{Kind: chat.Invalid, Msg: "boom"}
	for _, c := range []struct {
		name   string
		engine engine
		events int
		want   error
	}{
		{"completed", answering(), 10, nil}, // two deltas may come as one
		{"rejected", func(context.Context, chat.Request, func(chat.Event) bool) error { return boom }, 0, boom},
		{"failed", until(func(context.Context) error { return boom }), 3, boom},
	} {
		r := turn.NewRunner(c.engine, open(t).State(), turn.Options{Keep: true})
		events := 0
		var got error
		for _, err := range r.Run(turn.Steer(t.Context(), turn.Steering{Policy: turn.Finish}), new(ask("", "why?"))) {
			if got = err; err == nil {
				events++
			}
		}
		if !errors.Is(got, c.want) || events < c.events {
			t.Errorf("%s: %d events, then %v", c.name, events, got)
		}
		r.Drain(t.Context(), nil)
	}
}

func TestKeep_CancelsWhatRunsAtTheEndOfTheDrain(t *testing.T) {
	db := open(t)
	r := turn.NewRunner(gated(nil), db.State(), turn.Options{Keep: true})
	leave(t.Context(), t, r, askTurn("c", "why?"))
	over, cancel := context.WithCancel(t.Context())
	cancel()
	r.Drain(over, &chat.Error{Kind: chat.Unavailable, Msg: "Stopping."})
	if rec := saved(t, db.State()); rec.Status != chat.StatusCancelled {
		t.Errorf("saved as %s", rec.Status)
	}
	_, err := followed(t, log(t, turn.NewRunner(nil, db.State(), turn.Options{})), 0)
	if e, ok := errors.AsType[*chat.Error](err); !ok || e.Msg != "Stopping." {
		t.Errorf("followers are told %v", err)
	}
	if err := run(t.Context(), r, ask("c", "why?")); chat.KindOf(err) != chat.Unavailable {
		t.Errorf("a turn after the end: %v", err)
	}
}

func TestKeep_SurvivesAPanicOfATurn(t *testing.T) {
	db := open(t)
	r := turn.NewRunner(until(func(context.Context) error { panic("boom") }), db.State(), turn.Options{Keep: true})
	if err := run(t.Context(), r, askTurn("c", "why?")); err == nil {
		t.Error("the turn ended without an error")
	}
	r.Drain(t.Context(), nil)
	saved(t, db.State())
}

func TestKeep_AKeyIsInUseUntilItsTurnHasEnded(t *testing.T) {
	db := open(t)
	on := make(chan struct{})
	r := turn.NewRunner(gated(on), db.State(), turn.Options{Keep: true})
	keys := turn.NewKeys(db.State(), nil)
	claim, err := keys.Claim(t.Context(), chatKey, nil)
	if err != nil {
		t.Fatal(err)
	}
	leave(turn.Steer(t.Context(), turn.Steering{Claim: claim}), t, r, askTurn("c", "why?"))
	claim.Release()
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := keys.Claim(gone, chatKey, nil); chat.KindOf(err) != chat.Unavailable {
		t.Errorf("Claim while the turn runs: %v", err)
	}
	close(on)
	claim, err = keys.Claim(t.Context(), chatKey, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer claim.Release()
	if id := turn.IDOf(turn.Steer(t.Context(), turn.Steering{Claim: claim}), func() string { return "another" }); id != turnID {
		t.Errorf("the key has turn %s", id)
	}
	r.Drain(t.Context(), nil)
}
