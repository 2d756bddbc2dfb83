// Package job runs work that continues after its request was answered: reading files, fetching pages. A job is
// durable before the caller gets its id, survives the end of the process, and always ends in a state that says
// how it went.
//
// A Runner runs the jobs of one owner one at a time, and those of several owners at the same time. People without
// sign-in are one owner; the callers among them take turns, by origin. The content of a job is an opaque Request,
// which only the code that adds it and the Runner's Executor understand.
//
//	runner := job.NewRunner(job.Options{Store: db.Jobs(), Execute: service.Execute})
//	go runner.Run(ctx) // ends with ctx
//	err := runner.Add(ctx, job.Job{Kind: "upload", …})
//	for j, err := range runner.Watch(ctx, owner, id, time.Second) { … }
package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// State is the state of a job.
type State string

// The states. The last four are final: a job leaves them only by Retry.
const (
	Queued    State = "queued"
	Running   State = "running"
	Done      State = "done"      // all files succeeded
	Partial   State = "partial"   // some files could not be indexed
	Failed    State = "failed"    // no file could be indexed, or another error occurred: see Error
	Cancelled State = "cancelled" // on request; the work done until then stays
)

// Final reports whether the job has ended.
func (s State) Final() bool { return s != Queued && s != Running }

// FileState is the state of a file of a job.
type FileState string

// The states of files.
const (
	FileQueued    FileState = "queued"
	FileIndexed   FileState = "indexed"
	FileUnchanged FileState = "unchanged" // indexed before with the same content
	FileSkipped   FileState = "skipped"   // the file has nothing to index
	FileFailed    FileState = "failed"
	FileCancelled FileState = "cancelled" // not examined
)

// File is a file or web page that a job indexes.
type File struct {
	Name       string    `json:"name"`
	State      FileState `json:"state"`
	Reason     string    `json:"reason,omitempty"` // of docs/ingestion.md's list; "" when all is well
	Detail     string    `json:"detail,omitempty"` // one sentence for people
	Partly     bool      `json:"partly,omitempty"` // indexed, but a part could not be read: see Detail
	DocumentID string    `json:"document_id,omitempty"`
}

// Counts are the numbers of a job's files by outcome.
type Counts struct {
	Total, Done, Indexed, Unchanged, Skipped, Failed int // files
	Partly                                           int // of those indexed or unchanged
	Chunks, Tokens                                   int // of the files indexed
}

// Job is one piece of work.
type Job struct {
	ID        string // see package ident
	Kind      string // what the job does, as defined by the caller of Add
	Namespace string
	Owner     string          // the subject who requested the job and alone may see it; "" means everybody
	Origin    string          // the origin of the request, see access.Origin
	Request   json.RawMessage // for the Executor
	State     State
	Message   string // for people: what the job is doing, waiting for, or has done
	Error     string // why the job failed, for people; "" unless State is Failed
	Counts    Counts
	Files     []File
	Runs      int // number of starts

	CreatedAt, QueuedAt time.Time // QueuedAt is later than CreatedAt for a retry
	StartedAt, EndedAt  time.Time // zero before
	Asked               bool      // cancellation was requested
}

// settle sets the final state of the job from those of its files. Files that were not reached become cancelled.
// A job without an indexed file is Failed.
func (j *Job) settle(cancelled bool) {
	for i := range j.Files {
		if j.Files[i].State == FileQueued {
			j.Files[i].State = FileCancelled
		}
	}
	good, bad := j.Counts.Indexed+j.Counts.Unchanged, j.Counts.Failed+j.Counts.Skipped
	switch {
	case cancelled:
		j.State = Cancelled
	case j.Error != "":
		j.State = Failed
	case good == 0:
		j.State = Failed
	case bad > 0:
		j.State = Partial
	default:
		j.State = Done
	}
}

// Ask changes a job whose cancellation was requested, for a Store. A job that has not started ends.
func (j *Job) Ask(now time.Time) error {
	if j.State.Final() {
		return ErrState
	}
	if j.State == Running || j.Runs > 0 {
		j.Asked = true
		return nil
	}
	j.settle(true)
	j.Count()
	j.Message, j.EndedAt = "Cancelled before it began.", now
	return nil
}

// Again changes a job that is retried, for a Store. Files that are done stay done.
func (j *Job) Again(now time.Time) error {
	if !j.State.Final() || j.State == Done {
		return ErrState
	}
	j.State, j.Error, j.Message, j.Runs = Queued, "", waiting, 0
	j.QueuedAt, j.StartedAt, j.EndedAt, j.Asked = now, time.Time{}, time.Time{}, false
	for i := range j.Files {
		if f := &j.Files[i]; f.State != FileIndexed && f.State != FileUnchanged {
			*f = File{Name: f.Name, State: FileQueued}
		}
	}
	j.Count()
	return nil
}

const waiting = "Waiting for its turn."

// Count adds up the files by their states.
func (j *Job) Count() {
	c := Counts{Total: len(j.Files), Chunks: j.Counts.Chunks, Tokens: j.Counts.Tokens}
	for _, f := range j.Files {
		switch f.State {
		case FileIndexed:
			c.Indexed++
		case FileUnchanged:
			c.Unchanged++
		case FileSkipped:
			c.Skipped++
		case FileFailed:
			c.Failed++
		case FileQueued, FileCancelled:
			continue
		}
		c.Done++
		if f.Partly {
			c.Partly++
		}
	}
	j.Counts = c
}

// ErrNotFound means that the owner has no such job.
var ErrNotFound = errors.New("no such job")

// ErrState means that the state of a job does not allow a change: a retry before the job has ended, or a
// cancellation afterwards.
var ErrState = errors.New("not in this state")

// QueueError means that no more jobs are accepted until some have ended.
type QueueError struct {
	Limit int  // the most unfinished jobs
	All   bool // it is the limit for everybody, not for one caller
}

func (e *QueueError) Error() string { return fmt.Sprintf("%d jobs have not ended", e.Limit) }

// List selects a page of jobs.
type List struct {
	Owner     string
	Namespace string // "" for all
	Before    string // id of the last job of the previous page; "" for the first page
	Limit     int
}

// Store keeps jobs. Implementations pass storetest. Times are kept to the microsecond.
type Store interface {
	// Add stores a new job.
	Add(ctx context.Context, j Job) error
	// Save stores the Runner's changes of a job, except Asked, and reports whether cancellation was
	// requested. The error is ErrNotFound if the job has ended.
	Save(ctx context.Context, j Job) (asked bool, err error)
	// Job returns a job of an owner, or ErrNotFound.
	Job(ctx context.Context, owner, id string) (Job, error)
	// Jobs returns an owner's jobs without Files, newest first.
	Jobs(ctx context.Context, l List) ([]Job, error)
	// Unfinished returns the jobs of all owners that have not ended, beginning with the one that has
	// waited longest. It is called every few seconds, so it returns only ID, Kind, Namespace, Owner,
	// Origin, State and QueuedAt.
	Unfinished(ctx context.Context) ([]Job, error)
	// CountUnfinished returns the number of jobs that have not ended: of everybody, and of an owner at
	// an origin.
	CountUnfinished(ctx context.Context, owner, origin string) (all, own int, err error)
	// Ask requests the cancellation of a job. A queued job is cancelled immediately. The error is
	// ErrState if the job has ended.
	Ask(ctx context.Context, owner, id string, now time.Time) (Job, error)
	// Retry queues a job again that has ended in a state other than Done. For other jobs the error is ErrState.
	Retry(ctx context.Context, owner, id string, now time.Time) (Job, error)
}

// FailureError is an error of an Executor whose Msg the owner of the job may see. Other errors are only logged.
type FailureError struct {
	Msg string
	Err error // may be nil
}

func (e *FailureError) Error() string {
	if e.Err == nil {
		return e.Msg
	}
	return e.Msg + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *FailureError) Unwrap() error { return e.Err }
