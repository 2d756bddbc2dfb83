package job

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"parley/internal/interrupt"
)

// Task is a running job. Its methods may be called concurrently.
type Task struct {
	runner *Runner
	id     string
	cancel context.CancelCauseFunc

	mu      sync.Mutex
	job     Job
	unsaved bool // there are changes that are not stored yet
}

// Job returns a copy of the current state of the job.
func (t *Task) Job() Job {
	t.mu.Lock()
	defer t.mu.Unlock()
	j := t.job
	j.Files = slices.Clone(j.Files)
	return j
}

// Update changes the job's Message, Files and Counts, and notifies watchers. The counts of files follow from Files
// if these are set. Changes are saved about once a second.
func (t *Task) Update(change func(j *Job)) {
	t.mu.Lock()
	change(&t.job)
	t.job.Count()
	t.unsaved = true
	t.mu.Unlock()
	t.runner.tell()
}

// Wait reports why the job cannot continue yet, and waits a moment. Its error is ctx's.
func (t *Task) Wait(ctx context.Context, why string) error {
	t.Update(func(j *Job) { j.State, j.Message = Queued, why })
	return interrupt.Sleep(ctx, waitInterval)
}

// Doing reports what the job is doing, which ends a Wait.
func (t *Task) Doing(what string) {
	t.Update(func(j *Job) {
		j.State, j.Message = Running, what
		if j.StartedAt.IsZero() {
			j.StartedAt = now()
		}
	})
}

// begin stores that the job runs, and reports whether it does. It ends a job whose cancellation was
// requested, or that was started too often.
func (t *Task) begin(ctx context.Context) (begun bool, err error) {
	t.mu.Lock()
	t.job.Runs++
	t.mu.Unlock()
	j := t.Job()
	if j.Asked {
		return false, t.end(ctx, nil, true)
	}
	if j.Runs > maxRuns {
		return false, t.end(ctx, &FailureError{Msg: fmt.Sprintf(
			"The server has stopped %d times while it was at this job; it is not tried again by itself.", maxRuns)}, false)
	}
	asked, err := t.runner.opts.Store.Save(ctx, j)
	if errors.Is(err, ErrNotFound) {
		return false, nil // it was cancelled meanwhile
	}
	if err != nil {
		t.runner.opts.Logger.Error("begin a job", "job_id", t.id, "error", err)
		return false, err
	}
	if asked {
		t.cancel(ErrCancelled)
	}
	return true, nil
}

// heed saves progress, and cancels the job when another process has stored the request for it, until ctx
// ends.
func (t *Task) heed(ctx context.Context) {
	tick := time.NewTicker(saveInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		asked, err := t.save(ctx)
		if err != nil && ctx.Err() == nil {
			t.runner.opts.Logger.Warn("save the progress of a job", "job_id", t.id, "error", err)
		}
		if asked {
			t.cancel(ErrCancelled)
		}
	}
}

// save stores progress if there is any, and reports whether cancellation was requested.
func (t *Task) save(ctx context.Context) (asked bool, err error) {
	t.mu.Lock()
	unsaved := t.unsaved
	t.unsaved = false
	t.mu.Unlock()
	j := t.Job()
	if unsaved {
		return t.runner.opts.Store.Save(ctx, j)
	}
	j, err = t.runner.opts.Store.Job(ctx, j.Owner, j.ID)
	return j.Asked, err
}

// The result of a job must reach the store even if the server stops, or the disk is full for a moment.
const (
	endTries = 5
	endWait  = time.Second
	endTime  = 5 * time.Second // for one attempt
)

// end stores the result of the job, and then notifies watchers. After an error the job is still running
// for the store, so that it will be started again.
func (t *Task) end(ctx context.Context, err error, cancelled bool) error {
	j := t.Job()
	if err != nil && !cancelled && ctx.Err() == nil {
		t.runner.opts.Logger.Error("a job failed", "job_id", t.id, "kind", j.Kind, "namespace", j.Namespace, "error", err)
	}
	j.conclude(err, cancelled, ctx.Err() != nil)
	for i := 1; ; i++ {
		// The result must be stored even if the server stops.
		save, stop := context.WithTimeout(context.WithoutCancel(ctx), endTime)
		_, err := t.runner.opts.Store.Save(save, j)
		stop()
		if err == nil {
			t.mu.Lock()
			t.job = j
			t.mu.Unlock()
			return nil
		}
		t.runner.opts.Logger.Error("store the result of a job", "job_id", t.id, "error", err)
		if i == endTries || ctx.Err() != nil {
			return err
		}
		t.Update(func(j *Job) { j.Message = "The job has ended, but the server cannot store its result at the moment." })
		time.Sleep(endWait)
	}
}

// conclude sets the state that results from a run.
func (j *Job) conclude(err error, cancelled, stopping bool) {
	switch {
	case stopping && !cancelled:
		j.State, j.Message = Queued, "The server was stopped; the job goes on when it runs again."
		j.Runs--
		return
	case cancelled:
		j.Message = "Cancelled. What was indexed before stays."
	default:
		j.fail(err)
	}
	j.settle(cancelled)
	j.Count()
	j.EndedAt, j.Asked = now(), false
	if cancelled {
		return
	}
	if j.StartedAt.IsZero() {
		j.StartedAt = j.EndedAt
	}
	if j.Message = j.summary(); j.State == Failed {
		j.Error = j.Message
	}
}

// fail sets the job's error.
func (j *Job) fail(err error) {
	j.Error = ""
	if f, ok := errors.AsType[*FailureError](err); ok {
		j.Error = f.Msg
	} else if err != nil {
		j.Error = "Something went wrong in the server; its log says more."
	}
}

// summary describes the result of a job in a sentence.
func (j *Job) summary() string {
	if j.Error != "" {
		return j.Error
	}
	c := j.Counts
	if c.Total == 0 {
		return "There was nothing to index."
	}
	s := fmt.Sprintf("%d of %d indexed", c.Indexed+c.Unchanged, c.Total)
	if c.Unchanged > 0 {
		s += fmt.Sprintf(", %d of them as before", c.Unchanged)
	}
	if c.Partly > 0 {
		s += fmt.Sprintf("; %d read only in part", c.Partly)
	}
	if c.Skipped > 0 {
		s += fmt.Sprintf("; %d skipped", c.Skipped)
	}
	if c.Failed > 0 {
		s += fmt.Sprintf("; %d failed", c.Failed)
	}
	if c.Total == 1 && len(j.Files) == 1 && j.Files[0].Detail != "" {
		s += ": " + strings.TrimSuffix(j.Files[0].Detail, ".")
	}
	return s + "."
}
