package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"parley/internal/documents/job"
)

// JobStore is documents.Jobs.
type JobStore interface {
	job.Store
	IDs(ctx context.Context) ([]string, error)
	Purge(ctx context.Context, before time.Time, limit int) ([]job.Job, error)
}

// Jobs tests a store of jobs.
func Jobs(t *testing.T, open func(t *testing.T) JobStore) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, jobs)
	}{
		{"an added job comes back", testJobRoundTrip},
		{"progress is saved, the wish to cancel is not overwritten", testJobSave},
		{"a job that has ended is not saved over", testJobSaveEnded},
		{"a job is its owner's", testJobOwner},
		{"jobs are listed newest first, page by page", testJobList},
		{"unfinished jobs come in the order in which they wait", testJobUnfinished},
		{"asking to cancel", testJobAsk},
		{"trying again", testJobRetry},
		{"old jobs are purged", testJobPurge},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, jobs{tester{t}, open(t)}) })
	}
}

type jobs struct {
	tester
	JobStore
}

// aJob returns the n-th queued job, with every field set that a queued job has.
func aJob(n int) job.Job {
	j := job.Job{
		ID: id(n), Kind: "upload", Namespace: "ns", Owner: "alice", Origin: "näher", Request: json.RawMessage(`{"größe":1}`),
		State: job.Queued, Message: "Wartet \x01", CreatedAt: started.Add(time.Duration(n) * time.Microsecond),
		Files: []job.File{{Name: "a.pdf", State: job.FileQueued}, {Name: "ü.pdf", State: job.FileQueued}},
	}
	j.QueuedAt = j.CreatedAt
	j.Count()
	return j
}

func (s jobs) add(all ...job.Job) {
	s.Helper()
	for _, j := range all {
		s.must(s.Add(s.Context(), j))
	}
}

func (s jobs) get(id string) job.Job {
	s.Helper()
	j, err := s.Job(s.Context(), "alice", id)
	s.must(err)
	return j
}

func testJobRoundTrip(t *testing.T, s jobs) {
	want := aJob(1)
	s.add(want)
	s.equal("job", want, s.get(want.ID))
	ids, err := s.IDs(t.Context())
	s.must(err)
	s.equal("ids", []string{want.ID}, ids)
}

func testJobSave(t *testing.T, s jobs) {
	j := aJob(1)
	s.add(j, aJob(2))
	j.State, j.Runs, j.StartedAt, j.Message = job.Running, 1, started.Add(time.Second), "Liest."
	j.Files[0] = job.File{Name: "a.pdf", State: job.FileFailed, Reason: "damaged", Detail: "Es fehlt was.", DocumentID: "d"}
	j.Count()
	asked, err := s.Save(t.Context(), j)
	s.must(err)
	if asked {
		t.Error("nobody has asked to cancel it")
	}
	s.equal("job", j, s.get(j.ID))
	_, err = s.Ask(t.Context(), "alice", j.ID, started)
	s.must(err)
	if asked, err = s.Save(t.Context(), j); err != nil || !asked {
		t.Errorf("Save after Ask: %v, %v", asked, err)
	}
	if !s.get(j.ID).Asked {
		t.Error("Save has forgotten the wish to cancel")
	}
	j.State, j.EndedAt, j.Error = job.Failed, started.Add(time.Minute), "so ist es"
	if asked, err = s.Save(t.Context(), j); err != nil || asked {
		t.Errorf("Save of the end: %v, %v", asked, err)
	}
	s.equal("job that has ended", j, s.get(j.ID))
	s.equal("another job", aJob(2), s.get(id(2)))
}

func testJobSaveEnded(t *testing.T, s jobs) {
	j := aJob(1)
	s.add(j)
	ended, err := s.Ask(t.Context(), "alice", j.ID, started)
	s.must(err)
	j.State = job.Running
	for _, j := range []job.Job{j, aJob(2)} {
		if _, err := s.Save(t.Context(), j); !errors.Is(err, job.ErrNotFound) {
			t.Errorf("Save: %v, want ErrNotFound", err)
		}
	}
	s.equal("job", ended, s.get(j.ID))
}

func testJobOwner(t *testing.T, s jobs) {
	bobs := aJob(2)
	bobs.Owner = "bob"
	s.add(aJob(1), bobs)
	for _, owner := range []string{"bob", "", "Alice"} {
		_, job1 := s.Job(t.Context(), owner, id(1))
		_, ask := s.Ask(t.Context(), owner, id(1), started)
		_, retry := s.Retry(t.Context(), owner, id(1), started)
		for what, err := range map[string]error{"Job": job1, "Ask": ask, "Retry": retry} {
			if !errors.Is(err, job.ErrNotFound) {
				t.Errorf("%s by %q: %v, want ErrNotFound", what, owner, err)
			}
		}
	}
	all, err := s.Jobs(t.Context(), job.List{Owner: "bob", Limit: 9})
	s.must(err)
	if len(all) != 1 || all[0].ID != bobs.ID {
		t.Errorf("bob has %v", all)
	}
}

func testJobList(t *testing.T, s jobs) {
	for n := range 7 {
		j := aJob(n)
		j.Namespace = fmt.Sprint("ns", n%2)
		s.add(j)
	}
	var seen []string
	for before := ""; ; {
		page, err := s.Jobs(t.Context(), job.List{Owner: "alice", Before: before, Limit: 3})
		s.must(err)
		for _, j := range page {
			if j.Files != nil || j.Counts.Total != 2 {
				t.Errorf("a job of a list: %+v", j)
			}
			seen = append(seen, j.ID)
		}
		if len(page) < 3 {
			break
		}
		before = page[2].ID
	}
	s.equal("ids", []string{id(6), id(5), id(4), id(3), id(2), id(1), id(0)}, seen)
	page, err := s.Jobs(t.Context(), job.List{Owner: "alice", Namespace: "ns1", Limit: 9})
	s.must(err)
	if len(page) != 3 {
		t.Errorf("%d jobs of one namespace, want 3", len(page))
	}
}

func testJobUnfinished(t *testing.T, s jobs) {
	late := aJob(1)
	late.QueuedAt = started.Add(time.Hour)
	running := aJob(3)
	running.State = job.Running
	bobs := aJob(4)
	bobs.Owner = "bob"
	done := aJob(2)
	done.State = job.Done
	s.add(late, running, bobs, done)
	all, err := s.Unfinished(t.Context())
	s.must(err)
	if len(all) != 3 {
		t.Fatalf("%d unfinished jobs, want 3", len(all))
	}
	for i, want := range []job.Job{running, bobs, late} {
		want = job.Job{ID: want.ID, Kind: want.Kind, Namespace: want.Namespace, Owner: want.Owner, Origin: want.Origin, State: want.State, QueuedAt: want.QueuedAt}
		s.equal("unfinished", want, all[i])
	}
	total, own, err := s.CountUnfinished(t.Context(), "alice", "näher")
	s.must(err)
	s.equal("how many", []int{3, 2}, []int{total, own})
}

func testJobAsk(t *testing.T, s jobs) {
	begun := aJob(2)
	begun.State, begun.Runs = job.Running, 1
	waits := aJob(3)
	waits.Runs = 1 // it waits for another ingestion
	s.add(aJob(1), begun, waits)
	ended, err := s.Ask(t.Context(), "alice", id(1), started.Add(time.Minute))
	s.must(err)
	if ended.State != job.Cancelled || !ended.EndedAt.Equal(started.Add(time.Minute)) || ended.Files[0].State != job.FileCancelled {
		t.Errorf("a queued job is %+v", ended)
	}
	s.equal("as stored", ended, s.get(id(1)))
	for _, n := range []int{2, 3} {
		asked, err := s.Ask(t.Context(), "alice", id(n), started)
		s.must(err)
		if !asked.Asked || asked.State.Final() || !s.get(id(n)).Asked {
			t.Errorf("a job that was begun is %+v", asked)
		}
	}
	if _, err := s.Ask(t.Context(), "alice", id(1), started); !errors.Is(err, job.ErrState) {
		t.Errorf("Ask twice: %v, want ErrState", err)
	}
}

func testJobRetry(t *testing.T, s jobs) {
	j := aJob(1)
	j.State, j.Runs, j.Error, j.EndedAt, j.StartedAt = job.Partial, 4, "x", started, started
	j.Files[0].State = job.FileIndexed
	j.Files[1] = job.File{Name: "ü.pdf", State: job.FileFailed, Reason: "damaged", Detail: "d"}
	j.Count()
	done := aJob(2)
	done.State = job.Done
	s.add(j, done, aJob(3))
	again, err := s.Retry(t.Context(), "alice", j.ID, started.Add(time.Hour))
	s.must(err)
	want := aJob(1)
	want.QueuedAt, want.Message = started.Add(time.Hour), again.Message
	want.Files[0].State = job.FileIndexed
	want.Count()
	s.equal("job", want, again)
	s.equal("as stored", want, s.get(j.ID))
	for _, n := range []int{1, 2, 3} {
		if _, err := s.Retry(t.Context(), "alice", id(n), started); !errors.Is(err, job.ErrState) {
			t.Errorf("Retry of a job that waits or is done: %v, want ErrState", err)
		}
	}
}

func testJobPurge(t *testing.T, s jobs) {
	for n := range 5 {
		j := aJob(n)
		j.State, j.EndedAt = job.Done, started.Add(time.Duration(n)*time.Hour)
		s.add(j)
	}
	s.add(aJob(9))
	gone, err := s.Purge(t.Context(), started.Add(3*time.Hour), 2)
	s.must(err)
	if len(gone) != 2 {
		t.Fatalf("%d jobs were purged at once, want 2", len(gone))
	}
	gone, err = s.Purge(t.Context(), started.Add(3*time.Hour), 2)
	s.must(err)
	if len(gone) != 1 || gone[0].ID != id(2) {
		t.Errorf("then %v", gone)
	}
	ids, err := s.IDs(t.Context())
	s.must(err)
	s.equal("left", []string{id(3), id(4), id(9)}, ids)
}
