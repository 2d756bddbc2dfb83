package job_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"parley/internal/access"
	"parley/internal/documents/job"
	"parley/internal/documents/job/jobtest"
)

// asked counts how often a store is asked for a job of bob.
type asked struct {
	*jobtest.Memory
	byBob atomic.Int32
}

func (a *asked) Job(ctx context.Context, owner, id string) (job.Job, error) {
	if owner == "bob" {
		a.byBob.Add(1)
	}
	return a.Memory.Job(ctx, owner, id)
}

// Row S1: a running job of somebody else takes as long as one that does not exist.
func TestRunner_LooksForTheRunningJobsOfOthersAsForThoseThatAreNot(t *testing.T) {
	t.Parallel()
	begun, store := make(chan struct{}), &asked{Memory: &jobtest.Memory{}}
	r := job.NewRunner(job.Options{Store: store, Execute: untilCancelled(begun)})
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.Run(ctx)
	}()
	j, err := r.Add(ctx, job.Job{ID: job.NewID(), Kind: "k", Owner: "ann", Request: []byte("{}"), Files: []job.File{{Name: "a", State: job.FileQueued}}})
	if err != nil {
		t.Fatal(err)
	}
	<-begun
	for i, id := range []string{j.ID, job.NewID()} {
		if _, err := r.Job(ctx, "bob", id); !errors.Is(err, job.ErrNotFound) {
			t.Errorf("bob gets %v", err)
		}
		if n := store.byBob.Load(); n != int32(i)+1 {
			t.Errorf("after %d requests the store was asked %d times", i+1, n)
		}
	}
	stop()
	<-done
}

// of adds a job for an owner.
func (r *running) of(owner string) job.Job {
	r.t.Helper()
	j, err := r.Add(r.t.Context(), job.Job{
		ID: job.NewID(), Kind: "k", Namespace: "ns", Owner: owner, Request: []byte("{}"),
		Files: []job.File{{Name: "a", State: job.FileQueued}},
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return j
}

func TestRunner_OwnersDoNotWaitForEachOther(t *testing.T) {
	t.Parallel()
	gate, began := make(chan struct{}), make(chan string, 100)
	r := run(t, &jobtest.Memory{}, func(ctx context.Context, task *job.Task) error {
		owner := task.Job().Owner
		began <- owner
		if owner == "slow" {
			select {
			case <-gate:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		set(task, job.FileIndexed)
		return nil
	})
	first := r.of("slow")
	for range 3 {
		r.of("slow")
	}
	wait := func() string {
		select {
		case owner := <-began:
			return owner
		case <-time.After(patience):
			t.Fatal("no job begins")
			return ""
		}
	}
	if owner := wait(); owner != "slow" {
		t.Fatalf("%s begins", owner)
	}
	for i := range 6 { // more owners than can run at one time
		r.of(fmt.Sprintf("owner %d", i))
	}
	for range 6 {
		if owner := wait(); owner == "slow" {
			t.Error("two jobs of one owner run at one time")
		}
	}
	if j, err := r.Job(t.Context(), "slow", first.ID); err != nil || j.State.Final() {
		t.Errorf("the slow job is %+v, %v", j, err)
	}
	close(gate)
	for range 3 {
		if owner := wait(); owner != "slow" {
			t.Errorf("%s begins", owner)
		}
	}
}

func TestRunner_ServesManyOwnersInTurn(t *testing.T) {
	t.Parallel()
	store := &jobtest.Memory{}
	var mu sync.Mutex
	var order []string
	gate, done := make(chan struct{}), make(chan struct{}, 100)
	r := run(t, store, func(_ context.Context, task *job.Task) error {
		<-gate
		mu.Lock()
		order = append(order, task.Job().Owner)
		mu.Unlock()
		set(task, job.FileIndexed)
		done <- struct{}{}
		return nil
	})
	const many, owners = 5, 6
	for i := range owners - 1 {
		for range many {
			r.of(fmt.Sprint(i))
		}
	}
	r.of("late")
	close(gate)
	for range many*(owners-1) + 1 {
		select {
		case <-done:
		case <-time.After(patience):
			t.Fatal("the jobs do not end")
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if at := slices.Index(order, "late"); at < 0 || at > 3*owners {
		t.Errorf("the one job of the last owner came as number %d: %v", at, order)
	}
}

// Without sign-in all jobs have the same owner. The many jobs of one caller do not hold up the one job
// of another, and a caller who adds one job at a time does not overtake those who wait.
func TestRunner_CallersOfOneOwnerTakeTurns(t *testing.T) {
	t.Parallel()
	store := &jobtest.Memory{}
	began, gate := make(chan string), make(chan struct{})
	r := run(t, store, func(_ context.Context, task *job.Task) error {
		began <- task.Job().Origin
		<-gate
		set(task, job.FileIndexed)
		return nil
	})
	add := func(origin string) {
		ctx := access.WithOrigin(t.Context(), origin)
		_, err := r.Add(ctx, job.Job{ID: job.NewID(), Request: []byte("{}"), Files: []job.File{{Name: "a", State: job.FileQueued}}})
		if err != nil {
			t.Fatal(err)
		}
	}
	for range 100 {
		add("flood")
	}
	next := func() string {
		t.Helper()
		select {
		case origin := <-began:
			return origin
		case <-time.After(patience):
			t.Fatal("no job begins")
			return ""
		}
	}
	if origin := next(); origin != "flood" {
		t.Errorf("%s begins", origin)
	}
	add("one")
	for i := range 10 { // "one" comes again whenever his job has begun
		want := []string{"one", "flood"}[i%2]
		gate <- struct{}{}
		if origin := next(); origin != want {
			t.Errorf("turn %d is that of %s", i, origin)
		}
		if want == "one" {
			add("one")
		}
	}
	go func() { // let the rest go
		for range began {
		}
	}()
	close(gate)
	r.stop()
	close(began)
}
