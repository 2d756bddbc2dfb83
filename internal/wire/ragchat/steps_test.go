package ragchat

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/internal/chat"
	"parley/internal/turn"
)

// watching is a subscription with the events that it received: the tools' names for steps, "final" and
// "done".
type watching struct {
	got  []string
	idle int
	err  error
	done chan struct{}
}

var stepName = regexp.MustCompile(`"stage":"(?:Calling Tool: )?([^"]*)"(?:.*"finalContent":"([^"]*)")?`)

// watch subscribes in a goroutine, which ends with the subscription.
func watch(ctx context.Context, h *hub, t topic) *watching {
	w := &watching{done: make(chan struct{})}
	go func() {
		defer close(w.done)
		w.err = h.watch(ctx, t, func(e []byte) error {
			m := stepName.FindSubmatch(e)
			w.got = append(w.got, string(m[1])+string(m[2]))
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

// hubs are hubs that keep the events of ended turns.
type hubs struct {
	*hub
	mu   sync.Mutex
	logs map[string]*turn.Log
}

func newHubs() *hubs {
	h := &hubs{logs: map[string]*turn.Log{}}
	h.hub = newHub(time.Now, func(_ context.Context, _, id string) (*turn.Log, error) {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.logs[id] == nil {
			return nil, turn.ErrNotFound
		}
		return h.logs[id], nil
	}, nil)
	return h
}

// running is a turn that the test controls.
type running struct {
	*stepRun
	say  chan chat.Event
	over chan struct{}
}

// start begins a run whose turn emits the calls of add.
func (h *hubs) start(t topic) *running {
	h.mu.Lock()
	id := fmt.Sprint("turn", len(h.logs))
	log := turn.NewLog(id)
	h.logs[id] = log
	h.mu.Unlock()
	r := &running{say: make(chan chat.Event), over: make(chan struct{})}
	r.stepRun = h.begin(t, view{showSteps: true}, id, log)
	go func() {
		defer close(r.over)
		for range turn.Logged(context.Background(), said(r.say), &chat.Request{}, log, time.Now) {
		}
	}()
	return r
}

// said is a runner that emits the events of a channel.
type said chan chat.Event

func (s said) Run(context.Context, *chat.Request) iter.Seq2[chat.Event, error] {
	return func(yield func(chat.Event, error) bool) {
		for e := range s {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// add makes the turn call a tool.
func (r *running) add(tool string) {
	e := chat.ToolStarted{ID: "m"}
	e.Call.Name = tool
	r.say <- e
}

// finish ends the turn with an answer, and then the run.
func (r *running) finish(answer string) {
	r.say <- chat.MessageStarted{ID: "m"}
	r.say <- chat.MessageFinished{ID: "m", Status: chat.StatusCompleted, Text: answer}
	r.say <- chat.TurnFinished{}
	close(r.say)
	<-r.over
	r.end(true, "")
}

func TestSteps_ReachWhoSubscribedBeforeDuringAndAfterTheTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHubs()
		before := []*watching{watch(t.Context(), h.hub, q1), watch(t.Context(), h.hub, q1)}
		stranger, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		other := []*watching{watch(stranger, h.hub, topic{"bob", "q1"}), watch(stranger, h.hub, topic{"alice", "q2"})}
		synctest.Wait()
		r := h.start(q1)
		r.add("one")
		during := watch(t.Context(), h.hub, q1)
		synctest.Wait()
		r.add("two")
		time.Sleep(time.Second)
		r.finish("it is so")
		r.end(false, "again")
		after := watch(t.Context(), h.hub, q1)
		for _, w := range append(before, during, after) {
			w.want(t, "one", "two", stepFinal+"it is so", stepDone)
		}
		for _, w := range other {
			if <-w.done; w.got != nil || !errors.Is(w.err, context.DeadlineExceeded) {
				t.Errorf("who watches something else got %q, %v", w.got, w.err)
			}
		}
	})
}

// A request that is refused before its turn tells the subscribers of its steps so, and for a minute also
// later ones.
func TestSteps_OfARefusalAreItsSentence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHubs()
		before := watch(t.Context(), h.hub, q1)
		synctest.Wait()
		h.begin(q1, view{showSteps: true}, "", turn.NewLog("")).end(false, "no")
		after := watch(t.Context(), h.hub, q1)
		before.want(t, stepFinal+"no", stepDone)
		after.want(t, stepFinal+"no", stepDone)
	})
}

// A client may subscribe first and post then, and may use its query id again.
func TestSteps_OfAnOlderRunAreNotReplayedToWhoWaitsForTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHubs()
		h.start(q1).finish("first")
		time.Sleep(10 * time.Second)
		second := watch(t.Context(), h.hub, q1)
		time.Sleep(replayedAfter - time.Millisecond)
		r := h.start(q1)
		r.add("step")
		third := h.start(q1) // at the same time: followers of the second stay with it
		during := watch(t.Context(), h.hub, q1)
		synctest.Wait()
		third.finish("third")
		r.finish("second")
		second.want(t, "step", stepFinal+"second", stepDone)
		during.want(t, stepFinal+"third", stepDone)
		late := watch(t.Context(), h.hub, q1)
		late.want(t, stepFinal+"third", stepDone) // the latest run, although another one ended later
	})
}

func TestSteps_AreForgottenAfterAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHubs()
		h.start(q1).finish("old")
		time.Sleep(keepEnded)
		ctx, cancel := context.WithCancel(t.Context())
		w := watch(ctx, h.hub, q1)
		time.Sleep(time.Minute)
		cancel()
		if <-w.done; w.got != nil {
			t.Errorf("got %q", w.got)
		}
		if len(h.runs) != 0 || len(h.ended) != 0 || len(h.waiting) != 0 {
			t.Errorf("left are %d runs, %d ended, %d waiting", len(h.runs), len(h.ended), len(h.waiting))
		}
	})
}

func TestSteps_KeepASubscriberAwake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHubs()
		w := watch(t.Context(), h.hub, q1)
		time.Sleep(keepAlive*2 + time.Second) // before the run
		r := h.start(q1)
		synctest.Wait()
		time.Sleep(keepAlive*3 - time.Second)
		r.add("a")
		synctest.Wait()
		time.Sleep(keepAlive - time.Second) // not yet idle again
		r.finish("z")
		if w.want(t, "a", stepFinal+"z", stepDone); w.idle != 4 {
			t.Errorf("%d keep-alives, want 4", w.idle)
		}
	})
}

// The text of an answer is not a step. While it streams, a subscriber receives only keep-alives.
func TestSteps_KeepASubscriberAwakeWhileTheAnswerIsWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHubs()
		r := h.start(q1)
		w := watch(t.Context(), h.hub, q1)
		for range 60 {
			time.Sleep(time.Second)
			r.say <- chat.TextDelta{ID: "m", Text: "x"}
		}
		r.finish("z")
		if w.want(t, stepFinal+"z", stepDone); w.idle != 5 {
			t.Errorf("%d keep-alives in a minute, want 5", w.idle)
		}
	})
}

func TestSteps_WhoWaitsForNothingIsSentAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHubs()
		began := time.Now()
		w := watch(t.Context(), h.hub, q1)
		if w.want(t); time.Since(began) != maxWaiting {
			t.Errorf("sent away after %v", time.Since(began))
		}
	})
}

func TestSteps_DrainSendsAwayWhoWaitsAndLetsRunsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHubs()
		r := h.start(q1)
		following := watch(t.Context(), h.hub, q1)
		waiting := watch(t.Context(), h.hub, topic{"alice", "q2"})
		synctest.Wait()
		for range 2 {
			h.drain()
		}
		waiting.want(t)
		if h.admit() {
			t.Error("somebody was let in after the drain")
		}
		late := h.start(topic{"alice", "q2"}) // a turn that was admitted before
		late.finish("x")
		r.finish("y")
		following.want(t, stepFinal+"y", stepDone)
	})
}

func TestSteps_AreBounded(t *testing.T) {
	h := newHubs()
	for i := range 3 * maxRuns {
		h.begin(topic{"", fmt.Sprint(i)}, view{}, "", turn.NewLog("")).end(false, "no")
	}
	if len(h.runs) > maxRuns || len(h.ended) > maxRuns {
		t.Errorf("%d runs, %d ended", len(h.runs), len(h.ended))
	}
	for _, r := range h.runs {
		if r.log != nil {
			t.Fatal("a run that has ended holds on to its turn's log")
		}
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
	h := newHubs()
	h.begin(topic{"alice", ""}, view{}, "t", turn.NewLog("t")).end(true, "")
	if len(h.runs) != 0 {
		t.Error("a run is kept")
	}
}

// Runs and subscriptions begin and end at the same time. Every subscriber receives a whole run in order.
func TestSteps_ConcurrentRunsAndSubscriptions(t *testing.T) {
	h := newHubs()
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			r := h.start(topic{"", fmt.Sprint(i % 10)})
			for n := range 20 {
				r.add(fmt.Sprint(n))
			}
			r.finish(fmt.Sprint(i))
		})
		all.Go(func() {
			w := watch(t.Context(), h.hub, topic{"", fmt.Sprint(i % 10)})
			<-w.done
			var want []string
			for n := range 20 {
				want = append(want, fmt.Sprint(n))
			}
			if len(w.got) != 22 || !slices.Equal(w.got[:20], want) || w.got[21] != stepDone || len(w.got[20]) == len(stepFinal) {
				t.Errorf("got %q", w.got)
			}
		})
	}
	all.Wait()
}
