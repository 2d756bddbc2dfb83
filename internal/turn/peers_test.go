package turn_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/internal/chat"
	"parley/internal/ident"
	"parley/internal/store"
	"parley/internal/store/pgtest"
	"parley/internal/turn"
	"parley/test/needs"
)

// server is one of several on one database.
type server struct {
	db     *store.DB
	runner *turn.Runner
	keys   *turn.Keys
	die    func() // ends what it does for others
}

// servers returns servers on one database, which run e.
func servers(t *testing.T, n int, e engine) []server {
	t.Helper()
	url := pgtest.New(t)
	all := make([]server, n)
	for i := range all {
		db, err := store.OpenPostgres(t.Context(), url, t.TempDir(), nil)
		if err != nil {
			t.Fatal(err)
		}
		s := server{db: db, runner: turn.NewRunner(e, db.State(), turn.Options{Keep: true, Peers: db.Peers()}),
			keys: turn.NewKeys(db.State(), nil).Share(db.Peers())}
		ctx, die := context.WithCancel(t.Context())
		var relaying sync.WaitGroup
		relaying.Go(func() { s.runner.Relay(ctx) })
		s.die = func() { die(); relaying.Wait() }
		t.Cleanup(func() {
			s.runner.Drain(context.WithoutCancel(t.Context()), nil)
			s.die()
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		})
		all[i] = s
	}
	return all
}

// now returns alice's request with a turn id of this moment, since other servers are asked for young turns only.
func now(conversation, question string) chat.Request {
	req := ask(conversation, question)
	req.TurnID = ident.New()
	return req
}

// told returns what a reader hears of a turn after a position, with text in one piece, and its end.
func told(ctx context.Context, l *turn.Log, after int) (all []string, last error) {
	text := ""
	for n, err := range l.Follow(ctx, after, 0) {
		if err != nil {
			return append(all, text), err
		}
		if d, ok := n.Event.(chat.TextDelta); ok {
			text += d.Text
			continue
		}
		all = append(all, fmt.Sprintf("%d %T", n.Seq, n.Event))
	}
	return append(all, text), nil
}

// elsewhere returns the log of a turn of another server. On a busy machine that server may answer too late.
func elsewhere(t *testing.T, s server, id string) *turn.Log {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; {
		l, err := s.runner.Log(t.Context(), "alice", id)
		if err == nil {
			return l
		}
		if !errors.Is(err, turn.ErrNotFound) || time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

func TestPeers_ATurnIsFollowedAndResumedElsewhere(t *testing.T) {
	on := make(chan struct{})
	two := servers(t, 2, gated(on))
	req := now("c", "why?")
	leave(t.Context(), t, two[0].runner, req)
	there := elsewhere(t, two[1], req.TurnID)
	if there.Scope() != alice || there.Ended() {
		t.Errorf("scope %v, ended %v", there.Scope(), there.Ended())
	}
	if _, err := two[1].runner.Log(t.Context(), "bob", req.TurnID); !errors.Is(err, turn.ErrNotFound) {
		t.Errorf("somebody else's turn: %v", err)
	}
	here, err := two[0].runner.Log(t.Context(), "alice", req.TurnID)
	if err != nil {
		t.Fatal(err)
	}
	close(on)
	for _, after := range []int{0, 3, 6} {
		want, wantErr := told(t.Context(), here, after)
		got, gotErr := told(t.Context(), there, after)
		if diff := cmp.Diff(want, got); diff != "" || wantErr != nil || gotErr != nil {
			t.Errorf("after %d: %v %v (-here +there)\n%s", after, wantErr, gotErr, diff)
		}
	}
}

func TestPeers_ATurnIsStoppedElsewhere(t *testing.T) {
	two := servers(t, 2, gated(nil))
	req := now("c", "why?")
	leave(t.Context(), t, two[0].runner, req)
	there := elsewhere(t, two[1], req.TurnID)
	if !there.Stop() {
		t.Error("the turn was not running")
	}
	_, err := told(t.Context(), there, 0)
	if e, ok := errors.AsType[*chat.Error](err); !ok || e.Kind != chat.Conflict || !strings.Contains(e.Msg, "stopped") {
		t.Errorf("the turn ended with %v", err)
	}
	if r, err := two[1].db.State().Turn(t.Context(), alice, req.TurnID); err != nil || r.Status != chat.StatusCancelled {
		t.Errorf("saved as %v, %v", r.Status, err)
	}
}

func TestPeers_AFollowerHearsThatTheServerHasDied(t *testing.T) {
	needs.Long(t)
	two := servers(t, 2, gated(nil))
	req := now("c", "why?")
	leave(t.Context(), t, two[0].runner, req)
	there := elsewhere(t, two[1], req.TurnID)
	two[0].die()
	_, err := told(t.Context(), there, 0)
	if e, ok := errors.AsType[*chat.Error](err); !ok || e.Kind != chat.Unavailable {
		t.Errorf("the turn ended with %v, want an error that says to ask again", err)
	}
	if l, err := two[0].runner.Log(t.Context(), "alice", req.TurnID); err != nil || !l.Stop() {
		t.Errorf("%v", err)
	}
}

func TestPeers_ATurnThatNobodyRunsIsNotFound(t *testing.T) {
	one := servers(t, 1, gated(nil))[0]
	for _, id := range []string{ident.New(), ident.At(time.Now().Add(-time.Hour)), "x", ""} {
		if _, err := one.runner.Log(t.Context(), "alice", id); !errors.Is(err, turn.ErrNotFound) {
			t.Errorf("%q: %v", id, err)
		}
	}
}

func TestPeers_TurnsOfAConversationRunOneAfterTheOther(t *testing.T) {
	var running, most atomic.Int32
	slow := engine(func(ctx context.Context, req chat.Request, emit func(chat.Event) bool) error {
		most.Store(max(most.Load(), running.Add(1)))
		defer running.Add(-1)
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
		}
		return answering()(ctx, req, emit)
	})
	three := servers(t, 3, slow)
	var turns sync.WaitGroup
	const each = 4
	for _, s := range three {
		for range each {
			turns.Go(func() {
				req := now("c", "why?")
				for _, err := range s.runner.Run(t.Context(), &req) {
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	turns.Wait()
	if got := history(t, three[0].db, "c"); most.Load() != 1 || len(got) != 2*len(three)*each {
		t.Errorf("%d turns at a time, %d messages", most.Load(), len(got))
	}
}

func TestPeers_AKeyIsAnsweredByOneTurn(t *testing.T) {
	var runs atomic.Int32
	three := servers(t, 3, func(ctx context.Context, req chat.Request, emit func(chat.Event) bool) error {
		runs.Add(1)
		return answering()(ctx, req, emit)
	})
	ids := make([]string, 9)
	var requests sync.WaitGroup
	for i := range ids {
		requests.Go(func() {
			s := three[i%len(three)]
			var err error
			if ids[i], _, err = keyed(t.Context(), t, s.keys, s.runner, chatKey, "body", ask("", "why?")); err != nil {
				t.Error(err)
			}
		})
	}
	requests.Wait()
	if slices.Sort(ids); ids[0] != ids[len(ids)-1] || runs.Load() != 1 {
		t.Errorf("%d runs: %v", runs.Load(), ids)
	}
}

func TestPeers_ALockIsHeldByOneServerAtATime(t *testing.T) {
	two := servers(t, 2, nil)
	ctx := t.Context()
	unlock, err := two[0].db.Peers().Lock(ctx, "a")
	if err != nil {
		t.Fatal(err)
	}
	var waited sync.WaitGroup
	var got atomic.Bool
	waited.Go(func() {
		free, err := two[1].db.Peers().Lock(ctx, "a")
		if err != nil {
			t.Error(err)
			return
		}
		got.Store(true)
		free()
	})
	other, err := two[0].db.Peers().Lock(ctx, "b") // others do not wait
	if err != nil || got.Load() {
		t.Fatalf("%v; a lock that is taken was given out: %v", err, got.Load())
	}
	other()
	unlock()
	unlock()
	waited.Wait()
	short, cancel := context.WithTimeout(ctx, 30*time.Millisecond)
	defer cancel()
	hold, err := two[1].db.Peers().Lock(ctx, "a")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := two[0].db.Peers().Lock(short, "a"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	hold()
}
