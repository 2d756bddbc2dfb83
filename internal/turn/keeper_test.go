package turn_test

import (
	"context"
	"errors"
	"testing"

	"parley/internal/chat"
	"parley/internal/turn"
)

// leave runs a turn up to its first text and leaves it.
func leave(ctx context.Context, t *testing.T, r turn.Engine, req chat.Request) {
	t.Helper()
	for e, err := range r.Run(ctx, req) {
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := e.(chat.TextDelta); ok {
			return
		}
	}
	t.Fatal("the turn ended without text")
}

func TestKeeper_FinishesTurnsWhoseClientsLeave(t *testing.T) {
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
			k := turn.NewKeeper(turn.NewRunner(gated(on), db.State(), turn.Options{}), nil)
			ctx, cancel := context.WithCancel(t.Context())
			if c.policy != "" {
				ctx = turn.WithPolicy(ctx, c.policy)
			}
			leave(ctx, t, k, askTurn(c.conversation, "why?"))
			cancel()
			close(on)
			k.Drain(t.Context(), nil)
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

func TestKeeper_PassesOnEventsAndErrors(t *testing.T) {
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
		k := turn.NewKeeper(turn.NewRunner(c.engine, open(t).State(), turn.Options{}), nil)
		events := 0
		var got error
		for _, err := range k.Run(turn.WithPolicy(t.Context(), turn.Finish), ask("", "why?")) {
			if got = err; err == nil {
				events++
			}
		}
		if !errors.Is(got, c.want) || events < c.events {
			t.Errorf("%s: %d events, then %v", c.name, events, got)
		}
		k.Drain(t.Context(), nil)
	}
}

func TestKeeper_CancelsWhatRunsAtTheEndOfTheDrain(t *testing.T) {
	db := open(t)
	k := turn.NewKeeper(turn.NewRunner(gated(nil), db.State(), turn.Options{}), nil)
	leave(t.Context(), t, k, askTurn("c", "why?"))
	over, cancel := context.WithCancel(t.Context())
	cancel()
	k.Drain(over, &chat.Error{Kind: chat.Unavailable, Msg: "Stopping."})
	if rec := saved(t, db.State()); rec.Status != chat.StatusCancelled {
		t.Errorf("saved as %s", rec.Status)
	}
	_, err := followed(t, log(t, turn.NewRunner(nil, db.State(), turn.Options{})), 0)
	if e, ok := errors.AsType[*chat.Error](err); !ok || e.Msg != "Stopping." {
		t.Errorf("followers are told %v", err)
	}
	if err := run(t.Context(), k, ask("c", "why?")); chat.KindOf(err) != chat.Unavailable {
		t.Errorf("a turn after the end: %v", err)
	}
}

func TestKeeper_SurvivesAPanicOfATurn(t *testing.T) {
	db := open(t)
	k := turn.NewKeeper(turn.NewRunner(until(func(context.Context) error { panic("boom") }), db.State(), turn.Options{}), nil)
	if err := run(t.Context(), k, askTurn("c", "why?")); err == nil {
		t.Error("the turn ended without an error")
	}
	k.Drain(t.Context(), nil)
	saved(t, db.State())
}

func TestKeeper_AKeyIsInUseUntilItsTurnHasEnded(t *testing.T) {
	db := open(t)
	on := make(chan struct{})
	k := turn.NewKeeper(turn.NewRunner(gated(on), db.State(), turn.Options{}), nil)
	keys := turn.NewKeys(db.State(), nil)
	ctx, release, err := keys.Claim(t.Context(), chatKey, nil)
	if err != nil {
		t.Fatal(err)
	}
	leave(ctx, t, k, askTurn("c", "why?"))
	release()
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := keys.Claim(gone, chatKey, nil); chat.KindOf(err) != chat.Unavailable {
		t.Errorf("Claim while the turn runs: %v", err)
	}
	close(on)
	ctx, release, err = keys.Claim(t.Context(), chatKey, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if id := turn.IDOf(ctx, func() string { return "another" }); id != turnID {
		t.Errorf("the key has turn %s", id)
	}
	k.Drain(t.Context(), nil)
}
