// Package jobtest has a job.Store in memory, for tests.
package jobtest

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"parley/internal/documents/job"
)

// Memory is a job.Store in memory. The zero value is empty and ready.
type Memory struct {
	mu   sync.Mutex
	jobs map[string]job.Job

	Fail error // returned by all methods except Job, if not nil
}

var _ job.Store = (*Memory)(nil)

// SetFail sets Fail. It is safe while others use the store.
func (m *Memory) SetFail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.Fail = err
}

func copyOf(j job.Job) job.Job {
	j.Files = slices.Clone(j.Files)
	return j
}

// Add stores a new job.
func (m *Memory) Add(_ context.Context, j job.Job) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.Fail != nil {
		return m.Fail
	}
	if m.jobs == nil {
		m.jobs = map[string]job.Job{}
	}
	m.jobs[j.ID] = copyOf(j)
	return nil
}

// Save stores the changed fields of a job.
func (m *Memory) Save(_ context.Context, j job.Job) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	old, ok := m.jobs[j.ID]
	switch {
	case m.Fail != nil:
		return false, m.Fail
	case !ok || old.State.Final():
		return false, job.ErrNotFound
	}
	j = copyOf(j)
	j.Asked = old.Asked && !j.State.Final()
	j.CreatedAt, j.QueuedAt = old.CreatedAt, old.QueuedAt
	m.jobs[j.ID] = j
	return j.Asked, nil
}

// Job returns a job.
func (m *Memory) Job(_ context.Context, owner, id string) (job.Job, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	j, ok := m.jobs[id]
	if !ok || j.Owner != owner {
		return job.Job{}, job.ErrNotFound
	}
	return copyOf(j), nil
}

// sorted returns the jobs that keep accepts, in the given order.
func (m *Memory) sorted(order func(a, b job.Job) int, keep func(job.Job) bool) []job.Job {
	var all []job.Job
	for _, j := range m.jobs {
		if keep(j) {
			all = append(all, copyOf(j))
		}
	}
	slices.SortFunc(all, order)
	return all
}

func newest(a, b job.Job) int { return strings.Compare(b.ID, a.ID) }

// Jobs lists jobs.
func (m *Memory) Jobs(_ context.Context, l job.List) ([]job.Job, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := m.sorted(newest, func(j job.Job) bool {
		return j.Owner == l.Owner && (l.Namespace == "" || j.Namespace == l.Namespace) && (l.Before == "" || j.ID < l.Before)
	})
	for i := range all {
		all[i].Files = nil
	}
	return all[:min(len(all), l.Limit)], m.Fail
}

// Unfinished lists the jobs that have not ended.
func (m *Memory) Unfinished(context.Context) ([]job.Job, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := m.sorted(func(a, b job.Job) int {
		if c := a.QueuedAt.Compare(b.QueuedAt); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	}, func(j job.Job) bool { return !j.State.Final() })
	for i, j := range all {
		all[i] = job.Job{ID: j.ID, Kind: j.Kind, Namespace: j.Namespace, Owner: j.Owner, Origin: j.Origin, State: j.State, QueuedAt: j.QueuedAt}
	}
	return all, m.Fail
}

// CountUnfinished counts the jobs that have not ended, of everybody and of one caller.
func (m *Memory) CountUnfinished(ctx context.Context, owner, origin string) (all, own int, err error) {
	jobs, err := m.Unfinished(ctx)
	for _, j := range jobs {
		if j.Owner == owner && j.Origin == origin {
			own++
		}
	}
	return len(jobs), own, err
}

// IDs lists all ids.
func (m *Memory) IDs(context.Context) (ids []string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, j := range m.sorted(func(a, b job.Job) int { return -newest(a, b) }, func(job.Job) bool { return true }) {
		ids = append(ids, j.ID)
	}
	return ids, m.Fail
}

// Ask asks to cancel a job.
func (m *Memory) Ask(_ context.Context, owner, id string, now time.Time) (job.Job, error) {
	return m.change(owner, id, func(j *job.Job) error { return j.Ask(now) })
}

// Retry queues a job again.
func (m *Memory) Retry(_ context.Context, owner, id string, now time.Time) (job.Job, error) {
	return m.change(owner, id, func(j *job.Job) error { return j.Again(now) })
}

func (m *Memory) change(owner, id string, change func(*job.Job) error) (job.Job, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	j, ok := m.jobs[id]
	switch {
	case m.Fail != nil:
		return job.Job{}, m.Fail
	case !ok || j.Owner != owner:
		return job.Job{}, job.ErrNotFound
	}
	j = copyOf(j)
	if err := change(&j); err != nil {
		return job.Job{}, err
	}
	m.jobs[id] = j
	return copyOf(j), nil
}

// Purge deletes jobs that ended before a time.
func (m *Memory) Purge(_ context.Context, before time.Time, limit int) ([]job.Job, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := m.sorted(func(a, b job.Job) int { return a.EndedAt.Compare(b.EndedAt) },
		func(j job.Job) bool { return j.State.Final() && j.EndedAt.Before(before) })
	all = all[:min(len(all), limit)]
	for i, j := range all {
		delete(m.jobs, j.ID)
		all[i].Files = nil
	}
	return all, m.Fail
}
