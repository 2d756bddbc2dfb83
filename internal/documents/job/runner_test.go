package job_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"parley/internal/access"
	"parley/internal/documents/job"
	"parley/internal/documents/job/jobtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience limits the time that a test waits for something that must happen.
const patience = time.Minute

// running is a Runner that works on a store in memory.
type running struct {
	*job.Runner
	t     *testing.T
	store *jobtest.Memory
	stop  func() // stops Run and waits for its end
}

func run(t *testing.T, store *jobtest.Memory, execute job.Executor) *running {
	t.Helper()
	r := &running{Runner: job.NewRunner(job.Options{Store: store, Execute: execute}), t: t, store: store}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.Run(ctx)
	}()
	r.stop = sync.OnceFunc(func() { cancel(); <-done })
	t.Cleanup(r.stop)
	return r
}

func (r *running) add(names ...string) job.Job {
	r.t.Helper()
	j := job.Job{ID: job.NewID(), Kind: "k", Namespace: "ns", Owner: "ann", Request: []byte("{}")}
	for _, name := range names {
		j.Files = append(j.Files, job.File{Name: name, State: job.FileQueued})
	}
	j, err := r.Add(r.t.Context(), j)
	if err != nil {
		r.t.Fatal(err)
	}
	return j
}

// ended waits for a job to end.
func (r *running) ended(id string) job.Job {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	var last job.Job
	for j, err := range r.Watch(ctx, "ann", id, time.Second) {
		if err != nil {
			r.t.Fatal(err)
		}
		last = j
	}
	if !last.State.Final() {
		r.t.Fatalf("the job does not end: %+v", last)
	}
	return last
}

// set gives all files of a job one state.
func set(t *job.Task, state job.FileState) {
	t.Update(func(j *job.Job) {
		for i := range j.Files {
			j.Files[i].State = state
		}
	})
}

func TestRunner_EveryEndHasAStateThatSaysWhy(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		execute job.Executor
		want    job.State
		err     string // the job's error
	}{
		"all indexed":  {func(_ context.Context, t *job.Task) error { set(t, job.FileIndexed); return nil }, job.Done, ""},
		"as before":    {func(_ context.Context, t *job.Task) error { set(t, job.FileUnchanged); return nil }, job.Done, ""},
		"all failed":   {func(_ context.Context, t *job.Task) error { set(t, job.FileFailed); return nil }, job.Failed, "0 of 2 indexed; 2 failed."},
		"all skipped":  {func(_ context.Context, t *job.Task) error { set(t, job.FileSkipped); return nil }, job.Failed, "0 of 2 indexed; 2 skipped."},
		"nothing done": {func(context.Context, *job.Task) error { return nil }, job.Failed, "0 of 2 indexed."},
		"some failed": {func(_ context.Context, t *job.Task) error {
			t.Update(func(j *job.Job) { j.Files[0].State, j.Files[1].State = job.FileIndexed, job.FileFailed })
			return nil
		}, job.Partial, ""},
		"a failure for people": {func(_ context.Context, t *job.Task) error {
			set(t, job.FileIndexed)
			return fmt.Errorf("x: %w", &job.FailureError{Msg: "The disk is full.", Err: errors.New("secret")})
		}, job.Failed, "The disk is full."},
		"an error for the log": {func(context.Context, *job.Task) error { return errors.New("secret") }, job.Failed,
			"Something went wrong in the server; its log says more."},
		"a panic": {func(context.Context, *job.Task) error { panic("secret") }, job.Failed,
			"Something went wrong in the server; its log says more."},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r := run(t, &jobtest.Memory{}, c.execute)
			j := r.ended(r.add("a", "b").ID)
			if j.State != c.want || j.Error != c.err || j.Message == "" || j.StartedAt.IsZero() && c.want == job.Done || j.EndedAt.IsZero() {
				t.Errorf("the job ended as %+v, want %s with the error %q", j, c.want, c.err)
			}
			for _, f := range j.Files {
				if f.State == job.FileQueued {
					t.Errorf("a file of a job that has ended waits: %+v", j.Files)
				}
			}
		})
	}
}

func TestRunner_CarriesOutOneJobAfterAnother(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var order []string
	busy := false
	gate := make(chan struct{})
	r := run(t, &jobtest.Memory{}, func(_ context.Context, task *job.Task) error {
		<-gate
		mu.Lock()
		defer mu.Unlock()
		if busy {
			t.Error("two jobs run at one time")
		}
		busy = true
		mu.Unlock()
		time.Sleep(time.Millisecond)
		mu.Lock()
		busy = false
		order = append(order, task.Job().ID)
		set(task, job.FileIndexed)
		return nil
	})
	var want []string
	for range 5 {
		want = append(want, r.add("a").ID)
	}
	close(gate)
	r.ended(want[4])
	if fmt.Sprint(order) != fmt.Sprint(want) {
		t.Errorf("the order was %v, want %v", order, want)
	}
}

// untilCancelled is an Executor that waits for the end of its context.
func untilCancelled(begun chan<- struct{}) job.Executor {
	return func(ctx context.Context, t *job.Task) error {
		t.Update(func(j *job.Job) { j.Files[0].State = job.FileIndexed })
		t.Doing("Waiting for the end.")
		begun <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	}
}

func TestRunner_CancelsWhatRunsAndWhatWaits(t *testing.T) {
	t.Parallel()
	begun := make(chan struct{}, 9)
	r := run(t, &jobtest.Memory{}, untilCancelled(begun))
	first, second := r.add("a", "b"), r.add("c")
	<-begun
	if j, err := r.Cancel(t.Context(), "ann", second.ID); err != nil || j.State != job.Cancelled {
		t.Errorf("Cancel of one that waits: %v, %v", j.State, err)
	}
	if j, err := r.Cancel(t.Context(), "ann", first.ID); err != nil || !j.Asked {
		t.Errorf("Cancel of one that runs: %+v, %v", j, err)
	}
	j := r.ended(first.ID)
	if j.State != job.Cancelled || j.Files[0].State != job.FileIndexed || j.Files[1].State != job.FileCancelled {
		t.Errorf("the job ended as %+v", j)
	}
	if _, err := r.Cancel(t.Context(), "ann", first.ID); !errors.Is(err, job.ErrState) {
		t.Errorf("Cancel of one that has ended: %v", err)
	}
	for _, owner := range []string{"bob", ""} {
		if _, err := r.Job(t.Context(), owner, first.ID); !errors.Is(err, job.ErrNotFound) {
			t.Errorf("Job by %q: %v", owner, err)
		}
	}
	if again, err := r.Retry(t.Context(), "ann", first.ID); err != nil || again.State != job.Queued {
		t.Errorf("Retry: %v, %v", again.State, err)
	}
	<-begun
	if _, err := r.Retry(t.Context(), "ann", first.ID); !errors.Is(err, job.ErrState) {
		t.Errorf("Retry of one that runs: %v", err)
	}
}

func TestRunner_HeedsTheWishOfAnotherProcess(t *testing.T) {
	t.Parallel()
	begun := make(chan struct{}, 9)
	r := run(t, &jobtest.Memory{}, untilCancelled(begun))
	j := r.add("a")
	<-begun
	if _, err := r.store.Ask(t.Context(), "ann", j.ID, time.Now()); err != nil { // as another process would
		t.Fatal(err)
	}
	if j := r.ended(j.ID); j.State != job.Cancelled {
		t.Errorf("the job ended as %+v", j)
	}
}

func TestRunner_GoesOnWithAJobThatAStopHasInterrupted(t *testing.T) {
	t.Parallel()
	begun, store := make(chan struct{}, 9), &jobtest.Memory{}
	r := run(t, store, untilCancelled(begun))
	id := r.add("a", "b").ID
	<-begun
	r.stop()
	j, err := store.Job(t.Context(), "ann", id)
	if err != nil || j.State != job.Queued || j.Runs != 0 {
		t.Fatalf("after the stop it is %+v, %v", j, err)
	}
	r = run(t, store, func(_ context.Context, t *job.Task) error { set(t, job.FileIndexed); return nil })
	if j := r.ended(id); j.State != job.Done {
		t.Errorf("the job ended as %+v", j)
	}
}

// crashed stores a job as if its process had been killed so many times while running it.
func crashed(t *testing.T, store *jobtest.Memory, runs int) string {
	t.Helper()
	j := job.Job{ID: job.NewID(), Owner: "ann", State: job.Running, Runs: runs, QueuedAt: time.Now(),
		Files: []job.File{{Name: "a", State: job.FileQueued}}}
	if err := store.Add(t.Context(), j); err != nil {
		t.Fatal(err)
	}
	return j.ID
}

func TestRunner_GoesOnAfterACrashButNotForEver(t *testing.T) {
	t.Parallel()
	execute := func(_ context.Context, t *job.Task) error { set(t, job.FileIndexed); return nil }
	for runs, want := range map[int]job.State{1: job.Done, 4: job.Done, 5: job.Failed} {
		store := &jobtest.Memory{}
		id := crashed(t, store, runs)
		j := run(t, store, execute).ended(id)
		if j.State != want || want == job.Failed && j.Error == "" {
			t.Errorf("after %d crashes the job ended as %+v, want %s", runs, j, want)
		}
	}
}

func TestRunner_LosesNoJobWhenTheStoreFailsForAWhile(t *testing.T) {
	t.Parallel()
	store := &jobtest.Memory{}
	r := run(t, store, func(_ context.Context, t *job.Task) error {
		set(t, job.FileIndexed)
		if t.Job().Runs == 1 {
			store.SetFail(errors.New("disk full"))
			time.AfterFunc(100*time.Millisecond, func() { store.SetFail(nil) })
		}
		return nil
	})
	if j := r.ended(r.add("a").ID); j.State != job.Done {
		t.Errorf("the job ended as %+v", j)
	}
	store.SetFail(errors.New("disk full"))
	if _, err := r.Add(t.Context(), job.Job{ID: job.NewID()}); err == nil {
		t.Error("a job that was not stored was accepted")
	}
	store.SetFail(nil)
}

func TestRunner_TellsWatchersEveryChangeAndTheEnd(t *testing.T) {
	t.Parallel()
	step := make(chan job.FileState)
	r := run(t, &jobtest.Memory{}, func(_ context.Context, t *job.Task) error {
		if err := t.Wait(context.Background(), "Waiting for the other one."); err != nil {
			return err
		}
		for i := range t.Job().Files {
			state := <-step
			t.Update(func(j *job.Job) { j.Files[i].State = state })
			t.Doing(fmt.Sprint("step ", i))
		}
		return nil
	})
	id := r.add("a", "b").ID
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var seen []string
	idle, given := 0, 0
	for j, err := range r.Watch(ctx, "ann", id, 300*time.Millisecond) {
		if err != nil {
			t.Fatal(err)
		}
		now := fmt.Sprintf("%s %d %s", j.State, j.Counts.Done, j.Message)
		if len(seen) > 0 && seen[len(seen)-1] == now {
			if idle++; given < 2 && j.Message != "Waiting for its turn." {
				step <- job.FileIndexed // the file changes only after the watcher has seen the same twice
				given++
			}
			continue
		}
		seen = append(seen, now)
	}
	want := []string{"queued 0 Waiting for the other one.", "running 1 step 0", "done 2 2 of 2 indexed."}
	for _, w := range want {
		found := false
		for _, s := range seen {
			found = found || s == w
		}
		if !found {
			t.Errorf("%q is missing in %q", w, seen)
		}
	}
	if seen[len(seen)-1] != want[2] || idle == 0 {
		t.Errorf("seen %q, and %d times nothing new", seen, idle)
	}
}

func TestRunner_WatchesEndWithDrainAndWithTheirContext(t *testing.T) {
	t.Parallel()
	r := job.NewRunner(job.Options{Store: &jobtest.Memory{}})
	j, err := r.Add(t.Context(), job.Job{ID: job.NewID(), Owner: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for range r.Watch(ctx, "ann", j.ID, time.Minute) {
		cancel()
	}
	n := 0
	for range r.Watch(t.Context(), "ann", j.ID, time.Minute) {
		n++
		r.Drain()
	}
	for range r.Watch(t.Context(), "ann", j.ID, time.Minute) {
		n++ // also after Drain a watcher hears how things are
	}
	if n != 2 {
		t.Errorf("%d events, want 2", n)
	}
	for _, err := range r.Watch(t.Context(), "bob", j.ID, time.Minute) {
		if !errors.Is(err, job.ErrNotFound) {
			t.Errorf("Watch by another: %v", err)
		}
	}
}

func TestRunner_OnlyWhoHasTheLockCarriesOutJobs(t *testing.T) {
	t.Parallel()
	store := &jobtest.Memory{}
	idle := job.NewRunner(job.Options{Store: store, Lock: func() (func(), error) { return nil, errors.New("taken") },
		Execute: func(context.Context, *job.Task) error { t.Error("a job ran without the lock"); return nil }})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); idle.Run(ctx) }()
	j, err := idle.Add(t.Context(), job.Job{ID: job.NewID(), Owner: "ann", Files: []job.File{{Name: "a", State: job.FileQueued}}})
	if err != nil {
		t.Fatal(err)
	}
	r := run(t, store, func(_ context.Context, t *job.Task) error { set(t, job.FileIndexed); return nil })
	if j := r.ended(j.ID); j.State != job.Done {
		t.Errorf("the job ended as %+v", j)
	}
	cancel()
	<-done
}

func TestRunner_TellsWhichJobItCarriesOut(t *testing.T) {
	t.Parallel()
	begun := make(chan struct{})
	r := run(t, &jobtest.Memory{}, untilCancelled(begun))
	if jobs := r.Running(); len(jobs) > 0 {
		t.Errorf("before there is any, it carries out %+v", jobs)
	}
	added := r.add("a.md", "b.md")
	<-begun
	if jobs := r.Running(); len(jobs) != 1 || jobs[0].ID != added.ID || jobs[0].Namespace != "ns" || jobs[0].Counts.Total != 2 || jobs[0].Counts.Done != 1 || jobs[0].Files != nil {
		t.Errorf("it carries out %+v", jobs)
	}
	if _, err := r.Cancel(t.Context(), "ann", added.ID); err != nil {
		t.Fatal(err)
	}
	r.ended(added.ID)
	r.stop()
	if jobs := r.Running(); len(jobs) > 0 {
		t.Errorf("afterwards it carries out %+v", jobs)
	}
}

func TestRunner_BoundsTheJobsThatWait(t *testing.T) {
	t.Parallel()
	store := &jobtest.Memory{}
	r := job.NewRunner(job.Options{Store: store})
	add := func(origin string) (job.Job, error) {
		return r.Add(access.WithOrigin(t.Context(), origin), job.Job{ID: job.NewID(), Request: []byte("{}"), Files: []job.File{{Name: "a", State: job.FileQueued}}})
	}
	var first job.Job
	fill := func(origin string) (accepted int, full *job.QueueError) {
		for {
			j, err := add(origin)
			if err != nil {
				if !errors.As(err, &full) {
					t.Fatal(err)
				}
				return accepted, full
			}
			if accepted++; first.ID == "" {
				first = j
			}
		}
	}
	own, full := fill("a")
	if full.All || own != full.Limit {
		t.Errorf("one caller may have %d jobs: %+v", own, full)
	}
	total := own
	for i := 0; !full.All; i++ {
		var n int
		n, full = fill(fmt.Sprint("other", i))
		total += n
	}
	if total != full.Limit || total <= own {
		t.Errorf("all may have %d jobs: %+v", total, full)
	}
	// A job that has ended makes room, also for the retry of another one.
	if _, err := r.Cancel(t.Context(), "", first.ID); err != nil {
		t.Fatal(err)
	}
	at := access.WithOrigin(t.Context(), "a")
	if _, err := r.Retry(at, "", first.ID); err != nil {
		t.Error(err)
	}
	if _, err := r.Retry(at, "", first.ID); !errors.As(err, new(*job.QueueError)) {
		t.Errorf("a retry over the limit: %v", err)
	}
}
