package turn_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/internal/chat"
	"parley/internal/ledger"
	"parley/internal/llm"
	"parley/internal/turn"
)

var chatKey = turn.Key{Owner: "alice", Route: "/chat", Value: "k1"}

// keyed runs one turn under a key and returns its id and events.
func keyed(ctx context.Context, t *testing.T, keys *turn.Keys, r *turn.Runner, k turn.Key, body string, req chat.Request) (string, []chat.Event, error) {
	t.Helper()
	claim, err := keys.Claim(ctx, k, []byte(body))
	if err != nil {
		return "", nil, err
	}
	defer claim.Release()
	ctx = turn.Steer(ctx, turn.Steering{Claim: claim})
	req.TurnID = turn.IDOf(ctx, func() string { return fmt.Sprintf("01J%023d", ids.Add(1)) })
	var events []chat.Event
	for e, err := range r.Run(ctx, &req) {
		if err != nil {
			return req.TurnID, events, err
		}
		events = append(events, e)
	}
	return req.TurnID, events, nil
}

var ids atomic.Int64

func TestKeys_ARepeatedRequestIsOneTurnAndOneCharge(t *testing.T) {
	db := open(t)
	books := ledger.New(db.State(), ledger.Options{Price: price})
	r := turn.NewRunner(answeringBy(books.Meter("openai", saying)), db.State(), turn.Options{})
	keys := turn.NewKeys(db.State(), nil)
	req := ask("c", "why?")
	id, events, err := keyed(t.Context(), t, keys, r, chatKey, "body", req)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		again, repeated, err := keyed(t.Context(), t, turn.NewKeys(db.State(), nil), r, chatKey, "body", req)
		if err != nil || again != id {
			t.Fatalf("turn %s, %v, want turn %s", again, err, id)
		}
		if diff := cmp.Diff(events, repeated); diff != "" {
			t.Errorf("events (-first +again):\n%s", diff)
		}
	}
	if got := history(t, db, "c"); len(got) != 2 {
		t.Errorf("history: %q", got)
	}
	got := totals(t, db.State(), ledger.AccountKey{Owner: "alice", Stored: true, Conversation: "c"})
	if want := (ledger.Totals{Turns: 1, InputTokens: 100, OutputTokens: 18, Micros: 236}); got != want {
		t.Errorf("charged %+v, want %+v", got, want)
	}
	if _, _, err := keyed(t.Context(), t, keys, r, chatKey, "another body", req); !errors.Is(err, turn.ErrKeyReused) {
		t.Errorf("another body: %v, want ErrKeyReused", err)
	}
	for _, other := range []turn.Key{{Owner: "bob", Route: "/chat", Value: "k1"}, {Owner: "alice", Route: "/ask", Value: "k1"}} {
		fresh, _, err := keyed(t.Context(), t, keys, r, other, "another body", ask("", "why?"))
		if err != nil || fresh == id {
			t.Errorf("%+v: turn %s, %v", other, fresh, err)
		}
	}
}

func TestKeys_OfConcurrentRequestsOneRuns(t *testing.T) {
	db := open(t)
	var runs atomic.Int64
	counted := engine(func(ctx context.Context, req chat.Request, emit func(chat.Event) bool) error {
		runs.Add(1)
		return answering()(ctx, req, emit)
	})
	r := turn.NewRunner(counted, db.State(), turn.Options{})
	keys := turn.NewKeys(db.State(), nil)
	got := make([]string, 20)
	var wg sync.WaitGroup
	for i := range got {
		wg.Go(func() {
			id, events, err := keyed(t.Context(), t, keys, r, chatKey, "body", ask("c", "why?"))
			if err != nil || len(events) != 11 {
				t.Errorf("%d events, %v", len(events), err)
			}
			got[i] = id
		})
	}
	wg.Wait()
	for _, id := range got {
		if id != got[0] {
			t.Errorf("turns %s and %s", id, got[0])
		}
	}
	if runs.Load() != 1 {
		t.Errorf("%d turns ran, want 1", runs.Load())
	}
}

func TestKeys_TheKeyOfATurnThatDidNotCompleteIsFree(t *testing.T) {
	db := open(t)
	keys := turn.NewKeys(db.State(), nil)
	failing := turn.NewRunner(until(func(context.Context) error { return errors.New("boom") }), db.State(), turn.Options{})
	if _, _, err := keyed(t.Context(), t, keys, failing, chatKey, "body", ask("", "why?")); err == nil {
		t.Fatal("the engine did not fail")
	}
	r := turn.NewRunner(answering(), db.State(), turn.Options{})
	if _, events, err := keyed(t.Context(), t, keys, r, chatKey, "body", ask("", "why?")); err != nil || len(events) != 11 {
		t.Errorf("%d events, %v", len(events), err)
	}
}

func TestKeys_WhoWaitsMayLeave(t *testing.T) {
	keys := turn.NewKeys(open(t).State(), nil)
	claim, err := keys.Claim(t.Context(), chatKey, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := keys.Claim(ctx, chatKey, nil); chat.KindOf(err) != chat.Unavailable {
		t.Errorf("Claim of a key in use: %v", err)
	}
	claim.Release()
	if claim, err = keys.Claim(t.Context(), chatKey, nil); err != nil {
		t.Fatal(err)
	}
	claim.Release()
}

func TestKeys_OnlyTheFirstTurnOfARequestIsThatOfItsKey(t *testing.T) {
	db := open(t)
	keys := turn.NewKeys(db.State(), nil)
	r := turn.NewRunner(answering(), db.State(), turn.Options{})
	claim, err := keys.Claim(t.Context(), chatKey, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer claim.Release()
	ctx := turn.Steer(t.Context(), turn.Steering{Claim: claim})
	for range 2 {
		if err := run(ctx, r, ask("", "why?")); err != nil {
			t.Fatal(err)
		}
	}
}

func TestKeys_AreForgottenAfterTheirLifetime(t *testing.T) {
	db := open(t)
	now := time.Now()
	clock := func() time.Time { return now }
	r := turn.NewRunner(answering(), db.State(), turn.Options{Now: clock})
	keys := turn.NewKeys(db.State(), clock)
	first, _, err := keyed(t.Context(), t, keys, r, chatKey, "body", ask("", "why?"))
	if err != nil {
		t.Fatal(err)
	}
	now = now.Add(turn.KeyLifetime + time.Second)
	second, _, err := keyed(t.Context(), t, keys, r, chatKey, "another body", ask("", "why?"))
	if err != nil || second == first {
		t.Errorf("turn %s after the lifetime, %v", second, err)
	}
	now = now.Add(turn.KeyLifetime + time.Second)
	if n, err := keys.Purge(t.Context()); n != 1 || err != nil {
		t.Errorf("%d keys purged, %v, want 1", n, err)
	}
}

func TestKeys_RefuseAKeyThatIsNone(t *testing.T) {
	keys := turn.NewKeys(open(t).State(), nil)
	for _, value := range []string{"", strings.Repeat("k", 256), "a\nb", "a\x7f", "\xff"} {
		if _, err := keys.Claim(t.Context(), turn.Key{Value: value}, nil); chat.KindOf(err) != chat.Invalid {
			t.Errorf("Claim(%q): %v", value, err)
		}
	}
}

// Another process may have answered the key while this one ran the turn.
func TestKeys_ATurnWhoseKeyWasAnsweredElsewhereIsAConflict(t *testing.T) {
	db := open(t)
	keys, elsewhere := turn.NewKeys(db.State(), nil), turn.NewKeys(db.State(), nil)
	fast := turn.NewRunner(answering(), db.State(), turn.Options{})
	slow := turn.NewRunner(engine(func(ctx context.Context, req chat.Request, emit func(chat.Event) bool) error {
		if _, _, err := keyed(context.WithoutCancel(t.Context()), t, elsewhere, fast, chatKey, "body", ask("", "why?")); err != nil {
			t.Error(err)
		}
		return answering()(ctx, req, emit)
	}), db.State(), turn.Options{})
	id, _, err := keyed(t.Context(), t, keys, slow, chatKey, "body", ask("", "why?"))
	if chat.KindOf(err) != chat.Conflict {
		t.Errorf("the slower turn ended with %v, want Conflict", err)
	}
	rec, err := db.State().Turn(t.Context(), alice, id)
	if err != nil || rec.Status != chat.StatusFailed {
		t.Errorf("the slower turn was saved as %s, %v", rec.Status, err)
	}
	_, events, err := keyed(t.Context(), t, keys, slow, chatKey, "body", chat.Request{Messages: []chat.Message{chat.TextMessage(llm.User, "x")}})
	if err != nil || len(events) != 11 {
		t.Errorf("again: %d events, %v", len(events), err)
	}
}
