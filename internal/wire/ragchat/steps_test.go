package ragchat

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// watching is one subscription and what it was sent.
type watching struct {
	got  []string
	idle int
	err  error
	done chan struct{}
}

// watch subscribes in a goroutine that ends with the subscription.
func watch(ctx context.Context, h *hub, t topic) *watching {
	w := &watching{done: make(chan struct{})}
	go func() {
		defer close(w.done)
		w.err = h.watch(ctx, t, func(e []byte) error {
			w.got = append(w.got, string(e))
			return nil
		}, func() error {
			w.idle++
			return nil
		})
	}()
	return w
}

func (w *watching) want(t *testing.T, events ...string) {
	t.Helper()
	<-w.done
	if diff := cmp.Diff(events, w.got); diff != "" || w.err != nil {
		t.Errorf("%v; events (-want +got):\n%s", w.err, diff)
	}
}

var q1 = topic{"alice", "q1"}

func b(s string) []byte { return []byte(s) }

func TestSteps_ReachWhoSubscribedBeforeDuringAndAfterTheTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(time.Now)
		before := []*watching{watch(t.Context(), h, q1), watch(t.Context(), h, q1)}
		stranger, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		other := []*watching{watch(stranger, h, topic{"bob", "q1"}), watch(stranger, h, topic{"alice", "q2"})}
		synctest.Wait()
		r := h.begin(q1)
		r.add(b("one"))
		during := watch(t.Context(), h, q1)
		synctest.Wait()
		r.add(b("two"))
		time.Sleep(time.Second)
		r.end(b("final"), b("done"))
		r.add(b("late"))
		r.end(b("again"))
		after := watch(t.Context(), h, q1)
		for _, w := range append(before, during, after) {
			w.want(t, "one", "two", "final", "done")
		}
		for _, w := range other {
			if <-w.done; w.got != nil || !errors.Is(w.err, context.DeadlineExceeded) {
				t.Errorf("who watches something else got %q, %v", w.got, w.err)
			}
		}
	})
}

// A client subscribes first and posts then, and may use its query id again.
func TestSteps_OfAnOlderRunAreNotReplayedToWhoWaitsForTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(time.Now)
		h.begin(q1).end(b("first"))
		time.Sleep(10 * time.Second)
		second := watch(t.Context(), h, q1)
		time.Sleep(replayedAfter - time.Millisecond)
		r := h.begin(q1)
		r.add(b("step"))
		third := h.begin(q1) // at the same time: who follows the second stays with it
		during := watch(t.Context(), h, q1)
		synctest.Wait()
		third.end(b("third"))
		r.end(b("second"))
		second.want(t, "step", "second")
		during.want(t, "third")
		late := watch(t.Context(), h, q1)
		late.want(t, "third") // the latest run, although another one ended later
	})
}

func TestSteps_AreForgottenAfterAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(time.Now)
		h.begin(q1).end(b("old"))
		time.Sleep(keepEnded)
		ctx, cancel := context.WithCancel(t.Context())
		w := watch(ctx, h, q1)
		time.Sleep(time.Minute)
		cancel()
		if <-w.done; w.got != nil {
			t.Errorf("got %q", w.got)
		}
		if len(h.runs) != 0 || len(h.ended) != 0 || h.kept != 0 || len(h.waiting) != 0 {
			t.Errorf("left are %d runs, %d ended, %d bytes, %d waiting", len(h.runs), len(h.ended), h.kept, len(h.waiting))
		}
	})
}

func TestSteps_KeepASubscriberAwake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(time.Now)
		w := watch(t.Context(), h, q1)
		time.Sleep(keepAlive*2 + time.Second) // before the run
		r := h.begin(q1)
		synctest.Wait()
		time.Sleep(keepAlive*3 - time.Second)
		r.add(b("a"))
		synctest.Wait()
		time.Sleep(keepAlive - time.Second) // not yet idle again
		r.end(b("z"))
		if w.want(t, "a", "z"); w.idle != 4 {
			t.Errorf("%d keep-alives, want 4", w.idle)
		}
	})
}

func TestSteps_WhoWaitsForNothingIsSentAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(time.Now)
		began := time.Now()
		w := watch(t.Context(), h, q1)
		if w.want(t); time.Since(began) != maxWaiting {
			t.Errorf("sent away after %v", time.Since(began))
		}
	})
}

func TestSteps_DrainSendsAwayWhoWaitsAndLetsRunsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(time.Now)
		r := h.begin(q1)
		following := watch(t.Context(), h, q1)
		waiting := watch(t.Context(), h, topic{"alice", "q2"})
		synctest.Wait()
		for range 2 {
			h.drain()
		}
		waiting.want(t)
		if h.admit() {
			t.Error("somebody was let in after the drain")
		}
		late := h.begin(topic{"alice", "q2"}) // a turn that was admitted before
		late.end(b("x"))
		r.end(b("final"))
		following.want(t, "final")
	})
}

func TestSteps_AreBounded(t *testing.T) {
	h := newHub(time.Now)
	r := h.begin(q1)
	for range 2 * maxRunEvents {
		r.add(b("step"))
	}
	r.end(b("final"), b("done"))
	if n := len(r.events); n != maxRunEvents+2 || string(r.events[n-1]) != "done" {
		t.Errorf("%d events, the last %q", n, r.events[n-1])
	}
	r = h.begin(q1)
	for range 10 {
		r.add(make([]byte, maxRunBytes/4))
	}
	if r.size > maxRunBytes {
		t.Errorf("a run of %d bytes", r.size)
	}
	r.end(b("done"))
	for i := range 3 * maxRuns {
		h.begin(topic{"", fmt.Sprint(i)}).end(make([]byte, 100))
	}
	if len(h.runs) > maxRuns || len(h.ended) > maxRuns {
		t.Errorf("%d runs, %d ended", len(h.runs), len(h.ended))
	}
	for i := range maxRuns {
		h.begin(topic{"large", fmt.Sprint(i)}).end(make([]byte, maxRunBytes))
	}
	if h.kept > maxKeptBytes+2*maxRunBytes {
		t.Errorf("%d bytes are kept", h.kept)
	}
	for range maxWatchers {
		if !h.admit() {
			t.Fatal("too few are let in")
		}
	}
	if h.admit() {
		t.Error("too many are let in")
	}
	h.leave()
	if !h.admit() {
		t.Error("a place that is free is not given")
	}
}

func TestSteps_WithoutAQueryIDThereIsNothingToFollow(t *testing.T) {
	h := newHub(time.Now)
	r := h.begin(topic{"alice", ""})
	r.add(b("step"))
	r.end(b("done"))
	if len(h.runs) != 0 {
		t.Error("a run is kept")
	}
}

// Runs and subscriptions come and go at the same time: everybody gets a whole run in order.
func TestSteps_ConcurrentRunsAndSubscriptions(t *testing.T) {
	h := newHub(time.Now)
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			id := topic{"", fmt.Sprint(i % 10)}
			r := h.begin(id)
			for n := range 20 {
				r.add(fmt.Appendf(nil, "%d/%d", i, n))
			}
			r.end(fmt.Appendf(nil, "%d/20", i))
		})
		all.Go(func() {
			w := watch(t.Context(), h, topic{"", fmt.Sprint(i % 10)})
			<-w.done
			run, _, _ := strings.Cut(w.got[0], "/")
			var want []string
			for n := range 21 {
				want = append(want, fmt.Sprintf("%s/%d", run, n))
			}
			if !slices.Equal(w.got, want) {
				t.Errorf("got %q", w.got)
			}
		})
	}
	all.Wait()
}
