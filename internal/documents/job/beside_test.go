package job_test

import (
	"context"
	"testing"
	"time"

	"parley/internal/documents/job"
	"parley/internal/documents/job/jobtest"
)

// A job that takes long does not keep its owner's other jobs waiting, and those of its kind run one at a time.
func TestRunner_LongJobsRunBesideTheOthers(t *testing.T) {
	t.Parallel()
	begun, end := make(chan string, 4), make(chan struct{})
	r := job.NewRunner(job.Options{
		Store:  &jobtest.Memory{},
		Beside: func(kind string) bool { return kind == "long" },
		Execute: func(ctx context.Context, task *job.Task) error {
			if task.Job().Kind == "long" {
				begun <- task.Job().ID
				select {
				case <-end:
				case <-ctx.Done():
				}
			}
			set(task, job.FileIndexed)
			return nil
		},
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.Run(ctx)
	}()
	t.Cleanup(func() { cancel(); <-done })
	running := &running{Runner: r, t: t}
	add := func(kind, owner string) job.Job {
		j, err := r.Add(t.Context(), job.Job{ID: job.NewID(), Kind: kind, Namespace: "ns", Owner: owner, Request: []byte("{}"),
			Files: []job.File{{Name: "a", State: job.FileQueued}}})
		if err != nil {
			t.Fatal(err)
		}
		return j
	}
	first := add("long", "ann")
	select {
	case <-begun:
	case <-time.After(patience):
		t.Fatal("the long job does not begin")
	}
	second := add("long", "ann")
	if short := running.ended(add("short", "ann").ID); short.State != job.Done {
		t.Errorf("the short job: %+v", short)
	}
	select {
	case id := <-begun:
		t.Errorf("job %s runs beside another long one", id)
	default:
	}
	close(end)
	for _, j := range []job.Job{first, second} {
		if j = running.ended(j.ID); j.State != job.Done {
			t.Errorf("a long job: %+v", j)
		}
	}
}
