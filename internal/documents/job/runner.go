package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"parley/internal/access"
	"parley/internal/ident"
)

// Executor runs a job. It reports progress with t.Update. Failed files are not an error: their states say so. It
// returns soon after ctx has ended. A job may be started more than once, for example after a crash, so running it
// again must be harmless.
type Executor func(ctx context.Context, t *Task) error

// Options configure a Runner. Store and Execute are required.
type Options struct {
	Store   Store
	Execute Executor
	// Lock takes the lock for running the jobs of this store, so that only one of several processes does. It
	// returns an error if another process has it. Nil is for stores of one process.
	Lock func() (unlock func(), err error)
	// Beside reports whether jobs of a kind run beside other jobs of their owner, because they take long. Such jobs run one
	// at a time for all owners together. Nil means that no kind does.
	Beside func(kind string) bool
	Logger *slog.Logger // nil discards
}

// The intervals of a Runner.
const (
	pollInterval = 2 * time.Second        // between two checks for jobs and cancellations of other processes
	waitInterval = 500 * time.Millisecond // between two checks of the reason why a job waits
	saveInterval = time.Second            // between two saves of progress
	tellInterval = 200 * time.Millisecond // between two events of a watcher
)

// maxRuns is the maximum number of starts of a job whose process ends during the run.
const maxRuns = 5

// The maximum numbers of unfinished jobs: of one caller, which is an owner at an origin, and of all.
const (
	maxOfCaller = 200
	maxOfAll    = 1000
)

// parallel is the number of owners whose jobs run at the same time.
const parallel = 4

// Runner runs the jobs of a store. The jobs of one owner run one at a time. Owners wait for each other only if
// there are many; then the one whose last turn was longest ago comes first. Its methods may be called
// concurrently. If Run was not called, another process has to run the jobs.
type Runner struct {
	opts Options
	wake chan struct{} // has a value when there is something to do

	admission sync.Mutex // held while a job is added to the queue

	mu      sync.Mutex
	tasks   []*Task          // running jobs, in the order of their start
	served  map[string]int64 // when lanes and callers had their last turn, counted in turns
	turns   int64
	changed chan struct{} // closed and replaced when a job changes
	drained chan struct{}
	once    sync.Once
}

// NewRunner returns a Runner.
func NewRunner(opts Options) *Runner {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.Beside == nil {
		opts.Beside = func(string) bool { return false }
	}
	if opts.Lock == nil {
		opts.Lock = func() (func(), error) { return func() {}, nil }
	}
	return &Runner{
		opts: opts, wake: make(chan struct{}, 1), changed: make(chan struct{}), drained: make(chan struct{}),
		served: map[string]int64{},
	}
}

// NewID returns an id for a new job. Later ids are greater.
func NewID() string { return ident.New() }

// Add stores a new job durably and returns it. The caller sets ID, Kind, Namespace, Owner, Origin, Request and
// Files; Add sets the rest. A *QueueError says that too many jobs are waiting.
func (r *Runner) Add(ctx context.Context, j Job) (Job, error) {
	r.admission.Lock()
	defer r.admission.Unlock()
	j.Origin = access.Origin(ctx)
	if err := r.admit(ctx, j.Owner, j.Origin); err != nil {
		return Job{}, err
	}
	j.CreatedAt = now()
	j.State, j.QueuedAt, j.Message = Queued, j.CreatedAt, waiting
	j.Count()
	if err := r.opts.Store.Add(ctx, j); err != nil {
		return Job{}, fmt.Errorf("store job %s: %w", j.ID, err)
	}
	r.stir()
	return j, nil
}

// admit returns a *QueueError if the caller may have no more jobs. The caller of admit must hold
// admission.
func (r *Runner) admit(ctx context.Context, owner, origin string) error {
	all, own, err := r.opts.Store.CountUnfinished(ctx, owner, origin)
	switch {
	case err != nil:
		return fmt.Errorf("count the jobs that wait: %w", err)
	case own >= maxOfCaller:
		return &QueueError{Limit: maxOfCaller}
	case all >= maxOfAll:
		return &QueueError{Limit: maxOfAll, All: true}
	}
	return nil
}

// Job returns the current state of an owner's job, or ErrNotFound.
func (r *Runner) Job(ctx context.Context, owner, id string) (Job, error) {
	if t := r.running(id); t != nil {
		if j := t.Job(); j.Owner == owner {
			return j, nil
		}
	}
	// Asking the store for the running job of another owner takes as long as for a job that does not exist (row S1).
	return r.opts.Store.Job(ctx, owner, id)
}

// Jobs returns a page of an owner's jobs without Files, newest first.
func (r *Runner) Jobs(ctx context.Context, l List) ([]Job, error) {
	all, err := r.opts.Store.Jobs(ctx, l)
	for i := range all {
		if t := r.running(all[i].ID); t != nil {
			all[i] = t.Job()
			all[i].Files = nil
		}
	}
	return all, err
}

// Running returns the running jobs without Files, in the order in which they started.
func (r *Runner) Running() []Job {
	r.mu.Lock()
	tasks := slices.Clone(r.tasks)
	r.mu.Unlock()
	var jobs []Job
	for _, t := range tasks {
		t.mu.Lock()
		j := t.job
		t.mu.Unlock()
		j.Files = nil
		if !j.State.Final() {
			jobs = append(jobs, j)
		}
	}
	return jobs
}

// Cancel requests the cancellation of a job. A running job ends soon after. The error is ErrState if the job has
// ended.
func (r *Runner) Cancel(ctx context.Context, owner, id string) (Job, error) {
	j, err := r.opts.Store.Ask(ctx, owner, id, now())
	if err != nil {
		return Job{}, err
	}
	if t := r.running(id); t != nil {
		t.cancel(ErrCancelled)
		j = t.Job()
		j.Asked = true
	}
	r.stir()
	return j, nil
}

// Retry queues a job again. What it has indexed stays, and costs nothing the second time. A *QueueError says that
// too many jobs are waiting.
func (r *Runner) Retry(ctx context.Context, owner, id string) (Job, error) {
	r.admission.Lock()
	defer r.admission.Unlock()
	if err := r.admit(ctx, owner, access.Origin(ctx)); err != nil {
		return Job{}, err
	}
	j, err := r.opts.Store.Retry(ctx, owner, id, now())
	if err == nil {
		r.stir()
	}
	return j, err
}

// Watch yields the current state of a job, then each change, at most a few times a second, and last its end. If
// nothing changes for a while it yields the same state again, so that the caller can keep its connection alive. It
// ends early with ctx, after Drain, or with an error, which it yields. It can be ranged over once.
func (r *Runner) Watch(ctx context.Context, owner, id string, idle time.Duration) iter.Seq2[Job, error] {
	return func(yield func(Job, error) bool) {
		var last Job
		var told time.Time
		for {
			changed := r.changes()
			j, err := r.Job(ctx, owner, id)
			if err != nil {
				yield(Job{}, err)
				return
			}
			if !same(last, j) || time.Since(told) >= idle {
				last, told = j, time.Now()
				if !yield(j, nil) || j.State.Final() {
					return
				}
			}
			if !r.await(ctx, changed, min(idle, pollInterval)) {
				return
			}
		}
	}
}

// await waits until something changes or the time most has passed, but at least tellInterval. It reports
// whether the watch continues.
func (r *Runner) await(ctx context.Context, changed <-chan struct{}, most time.Duration) bool {
	least, timer := time.After(tellInterval), time.NewTimer(most)
	defer timer.Stop()
	for waited := false; ; {
		select {
		case <-changed:
			changed = nil
			if waited {
				return true
			}
		case <-least:
			waited = true
			if changed == nil {
				return true
			}
		case <-timer.C:
			return true
		case <-ctx.Done():
			return false
		case <-r.drained:
			return false
		}
	}
}

// same reports whether watchers need no notification of the difference.
func same(a, b Job) bool {
	return a.ID == b.ID && a.State == b.State && a.Message == b.Message && a.Counts == b.Counts && a.Asked == b.Asked
}

// Drain ends all watches, present and future.
func (r *Runner) Drain() { r.once.Do(func() { close(r.drained) }) }

func (r *Runner) changes() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.changed
}

// tell notifies the watchers.
func (r *Runner) tell() {
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.changed)
	r.changed = make(chan struct{})
}

// stir notifies the watchers and Run.
func (r *Runner) stir() {
	r.tell()
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

func (r *Runner) running(id string) *Task {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range r.tasks {
		if t.id == id {
			return t
		}
	}
	return nil
}

// Run runs jobs until ctx ends. It queues a job that is running at that moment again, so that the next Run
// continues it.
func (r *Runner) Run(ctx context.Context) {
	var unlock func()
	var jobs sync.WaitGroup
	defer func() {
		jobs.Wait()
		if unlock != nil {
			unlock()
		}
	}()
	for {
		if unlock == nil {
			got, err := r.opts.Lock()
			if err == nil {
				unlock = got
			} else {
				r.opts.Logger.Debug("another process carries out the jobs", "error", err)
			}
		}
		if unlock != nil {
			r.start(ctx, &jobs)
		}
		select {
		case <-ctx.Done():
			return
		case <-r.wake:
		case <-time.After(pollInterval):
		}
	}
}

// start starts the jobs whose turn it is.
func (r *Runner) start(ctx context.Context, jobs *sync.WaitGroup) {
	busy := r.busy() // read before the jobs, so that a job that ends meanwhile is considered next time
	all, err := r.opts.Store.Unfinished(ctx)
	if err != nil {
		if ctx.Err() == nil {
			r.opts.Logger.Error("read the jobs", "error", err)
		}
		return
	}
	if ctx.Err() != nil {
		return
	}
	for _, j := range r.choose(all, busy) {
		j, err := r.opts.Store.Job(ctx, j.Owner, j.ID)
		if errors.Is(err, ErrNotFound) || err == nil && j.State.Final() {
			continue // it was cancelled meanwhile
		}
		if err != nil {
			r.opts.Logger.Error("read a job", "job_id", j.ID, "error", err)
			continue
		}
		inner, cancel := context.WithCancelCause(ctx)
		t := &Task{runner: r, id: j.ID, job: j, cancel: cancel}
		r.begun(t)
		jobs.Go(func() {
			defer r.finished(t)
			heard := r.carryOut(ctx, inner, t)
			cancel(nil)
			if !heard { // it will be started again
				select {
				case <-time.After(pollInterval):
				case <-ctx.Done():
				}
			}
		})
	}
}

// choose returns the jobs to start, as many as there is room for: at most one for each idle lane. It
// prefers the caller whose last turn was longest ago, and of its jobs the one that has waited longest.
func (r *Runner) choose(all []Job, busy map[string]bool) []Job {
	r.mu.Lock()
	defer r.mu.Unlock()
	var next []Job
	places := map[string]int{} // indexes in next, by lane
	waiting := map[string]bool{}
	for _, j := range all {
		lane := r.laneOf(j)
		waiting[lane], waiting[callerOf(j)] = true, true
		if busy[lane] {
			continue
		}
		if at, known := places[lane]; !known {
			places[lane] = len(next)
			next = append(next, j)
		} else if r.served[callerOf(j)] < r.served[callerOf(next[at])] {
			next[at] = j
		}
	}
	// Callers without waiting jobs are remembered for a while, so that a caller that adds one job at a
	// time is not always first.
	maps.DeleteFunc(r.served, func(who string, turn int64) bool { return !waiting[who] && r.turns-turn > maxOfAll })
	slices.SortStableFunc(next, func(a, b Job) int { return cmp.Compare(r.served[r.laneOf(a)], r.served[r.laneOf(b)]) })
	next = next[:min(len(next), max(0, parallel-len(r.tasks)))]
	for _, j := range next {
		r.turns++
		r.served[r.laneOf(j)], r.served[callerOf(j)] = r.turns, r.turns
	}
	return next
}

// laneOf returns the lane of a job. The jobs of a lane run one at a time. Each owner has a lane, and all jobs that run
// beside others share one.
func (r *Runner) laneOf(j Job) string {
	if r.opts.Beside(j.Kind) {
		return "\x00beside"
	}
	return j.Owner
}

// busy returns the lanes of the running jobs.
func (r *Runner) busy() map[string]bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	lanes := make(map[string]bool)
	for _, t := range r.tasks {
		lanes[r.laneOf(t.Job())] = true
	}
	return lanes
}

// callerOf identifies the owner of a job at an origin, as a key of Runner.served.
func callerOf(j Job) string { return j.Owner + "\x00" + j.Origin }

// ErrCancelled is the cause of the context of a cancelled job.
var ErrCancelled = errors.New("cancelled")

// carryOut runs one job, whose own context is inner. It reports whether the result was stored.
func (r *Runner) carryOut(ctx, inner context.Context, t *Task) bool {
	if begun, err := t.begin(ctx); err != nil || !begun {
		return err == nil
	}
	heeding := make(chan struct{})
	go func() {
		defer close(heeding)
		t.heed(inner)
	}()
	err := r.execute(inner, t)
	cancelled := errors.Is(context.Cause(inner), ErrCancelled)
	t.cancel(nil)
	<-heeding
	return t.end(ctx, err, cancelled) == nil
}

func (r *Runner) begun(t *Task) {
	r.mu.Lock()
	r.tasks = append(r.tasks, t)
	r.mu.Unlock()
	r.tell()
}

// finished makes room for the next job.
func (r *Runner) finished(t *Task) {
	r.mu.Lock()
	r.tasks = slices.DeleteFunc(r.tasks, func(other *Task) bool { return other == t })
	r.mu.Unlock()
	r.stir()
}

// execute calls the Executor. It turns a panic into an error of the job.
func (r *Runner) execute(ctx context.Context, t *Task) (err error) {
	defer func() {
		if v := recover(); v != nil {
			r.opts.Logger.Error("a job panicked", "job_id", t.id, "panic", v, "stack", string(debug.Stack()))
			err = errors.New("panicked")
		}
	}()
	return r.opts.Execute(ctx, t)
}

// now returns the time in the precision of stores.
func now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }
