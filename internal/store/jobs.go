package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"parley/internal/documents/job"
)

// Jobs stores background jobs. It implements job.Store.
type Jobs struct {
	db *database
}

var _ job.Store = (*Jobs)(nil)

// jobColumns are the columns of a list; jobFull adds the files.
const (
	jobColumns = `id, kind, namespace, owner, origin, request, state, asked, message, error, counts, runs,
	created_at, queued_at, started_at, ended_at`
	jobFull = jobColumns + `, files`
)

// scanJob reads jobColumns, or jobFull.
func scanJob(r row, full bool) (j job.Job, err error) {
	var request, counts, files string
	var created, queued, started, ended int64
	fields := []any{&j.ID, &j.Kind, &j.Namespace, &j.Owner, &j.Origin, &request, &j.State, &j.Asked, &j.Message, &j.Error,
		&counts, &j.Runs, &created, &queued, &started, &ended}
	if full {
		fields = append(fields, &files)
	}
	err = r.Scan(fields...)
	if errors.Is(err, sql.ErrNoRows) {
		return job.Job{}, job.ErrNotFound
	}
	if err != nil {
		return job.Job{}, err
	}
	j.Request = json.RawMessage(request)
	j.CreatedAt, j.QueuedAt = fromMicros(created), fromMicros(queued)
	j.StartedAt, j.EndedAt = fromMicros(started), fromMicros(ended)
	if err := json.Unmarshal([]byte(counts), &j.Counts); err != nil {
		return job.Job{}, fmt.Errorf("decode counts: %w", err)
	}
	if full {
		if err := json.Unmarshal([]byte(files), &j.Files); err != nil {
			return job.Job{}, fmt.Errorf("decode files: %w", err)
		}
	}
	return j, nil
}

// encodeJob returns the counts and files of a job as stored.
func encodeJob(j job.Job) (counts, files string, err error) {
	c, err := json.Marshal(j.Counts)
	if err != nil {
		return "", "", fmt.Errorf("encode counts: %w", err)
	}
	f, err := json.Marshal(j.Files)
	if err != nil {
		return "", "", fmt.Errorf("encode files: %w", err)
	}
	return string(c), string(f), nil
}

// Add stores a new job.
func (s *Jobs) Add(ctx context.Context, j job.Job) error {
	counts, files, err := encodeJob(j)
	if err != nil {
		return s.db.fail("add job", err)
	}
	return s.db.update(ctx, "add job", func(tx *sql.Tx) error {
		if err := writerOf(ctx, j.Owner).check(ctx, tx); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO jobs (id, kind, namespace, owner, origin, request, state, finished, asked,
		message, error, counts, files, runs, created_at, queued_at, started_at, ended_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			j.ID, j.Kind, j.Namespace, j.Owner, j.Origin, string(j.Request), string(j.State), flag(j.State.Final()), flag(j.Asked),
			j.Message, j.Error, counts, files, j.Runs,
			micros(j.CreatedAt), micros(j.QueuedAt), micros(j.StartedAt), micros(j.EndedAt))
		return err
	})
}

// Save stores the Runner's changes to an unfinished job, and reports whether somebody asked to
// cancel it. When the job ends, that request is dropped.
func (s *Jobs) Save(ctx context.Context, j job.Job) (asked bool, err error) {
	counts, files, err := encodeJob(j)
	if err != nil {
		return false, s.db.fail("save job", err)
	}
	final := flag(j.State.Final())
	err = s.db.update(ctx, "save job", func(tx *sql.Tx) error {
		err := tx.QueryRowContext(ctx, `UPDATE jobs SET state = ?, finished = ?, asked = asked * (1 - ?),
			message = ?, error = ?, counts = ?, files = ?, runs = ?, started_at = ?, ended_at = ?
			WHERE id = ? AND finished = 0 RETURNING asked`, string(j.State), final, final, j.Message, j.Error, counts, files, j.Runs,
			micros(j.StartedAt), micros(j.EndedAt), j.ID).Scan(&asked)
		if errors.Is(err, sql.ErrNoRows) {
			return job.ErrNotFound
		}
		return err
	})
	return asked, err
}

const readJob = `SELECT ` + jobFull + ` FROM jobs WHERE id = ? AND owner = ?`

// Job returns a job of an owner.
func (s *Jobs) Job(ctx context.Context, owner, id string) (job.Job, error) {
	j, err := scanJob(s.db.read.QueryRowContext(ctx, readJob, id, owner), true)
	return j, s.db.fail("read job", err)
}

// Jobs returns an owner's jobs, newest first.
func (s *Jobs) Jobs(ctx context.Context, l job.List) (all []job.Job, err error) {
	rows, err := s.db.read.QueryContext(ctx, `SELECT `+jobColumns+` FROM jobs
		WHERE owner = ? AND (? = '' OR namespace = ?) AND (? = '' OR id < ?) ORDER BY id DESC LIMIT ?`,
		l.Owner, l.Namespace, l.Namespace, l.Before, l.Before, l.Limit)
	all, err = scanList(rows, err, func(r *sql.Rows, j *job.Job) (err error) {
		*j, err = scanJob(r, false)
		return err
	})
	return all, s.db.fail("list jobs", err)
}

// Unfinished returns the unfinished jobs without Request and Files, the longest waiting first.
func (s *Jobs) Unfinished(ctx context.Context) (all []job.Job, err error) {
	rows, err := s.db.read.QueryContext(ctx, `SELECT id, kind, namespace, owner, origin, state, queued_at FROM jobs
		WHERE finished = 0 ORDER BY queued_at, id`)
	all, err = scanList(rows, err, func(r *sql.Rows, j *job.Job) error {
		var queued int64
		err := r.Scan(&j.ID, &j.Kind, &j.Namespace, &j.Owner, &j.Origin, &j.State, &queued)
		j.QueuedAt = fromMicros(queued)
		return err
	})
	return all, s.db.fail("list unfinished jobs", err)
}

// CountUnfinished returns how many jobs are unfinished, in total and of one caller.
func (s *Jobs) CountUnfinished(ctx context.Context, owner, origin string) (all, own int, err error) {
	err = s.db.read.QueryRowContext(ctx, `SELECT COUNT(*), COALESCE(SUM(CASE WHEN owner = ? AND origin = ? THEN 1 ELSE 0 END), 0) FROM jobs WHERE finished = 0`,
		owner, origin).Scan(&all, &own)
	return all, own, s.db.fail("count unfinished jobs", err)
}

// IDs returns the ids of all jobs.
func (s *Jobs) IDs(ctx context.Context) ([]string, error) {
	ids, err := column[string](s.db.read.QueryContext(ctx, "SELECT id FROM jobs ORDER BY id"))
	return ids, s.db.fail("list jobs", err)
}

// Ask requests the cancellation of a job. A queued job is cancelled at once.
func (s *Jobs) Ask(ctx context.Context, owner, id string, now time.Time) (job.Job, error) {
	return s.change(ctx, "cancel job", owner, id, func(j *job.Job) error { return j.Ask(now) })
}

// Retry queues a job again that ended in a state other than done.
func (s *Jobs) Retry(ctx context.Context, owner, id string, now time.Time) (job.Job, error) {
	return s.change(ctx, "retry job", owner, id, func(j *job.Job) error { return j.Again(now) })
}

// change reads, changes and writes a job in one transaction.
func (s *Jobs) change(ctx context.Context, doing, owner, id string, change func(*job.Job) error) (j job.Job, err error) {
	err = s.db.update(ctx, doing, func(tx *sql.Tx) error {
		// This update changes nothing. It locks the row in every database.
		var err error
		j, err = scanJob(tx.QueryRowContext(ctx, `UPDATE jobs SET runs = runs WHERE id = ? AND owner = ?
			RETURNING `+jobFull, id, owner), true)
		if err != nil {
			return err
		}
		if err := change(&j); err != nil {
			return err
		}
		counts, files, err := encodeJob(j)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `UPDATE jobs SET state = ?, finished = ?, asked = ?, message = ?, error = ?,
			counts = ?, files = ?, runs = ?, queued_at = ?, started_at = ?, ended_at = ? WHERE id = ?`,
			string(j.State), flag(j.State.Final()), flag(j.Asked), j.Message, j.Error, counts, files, j.Runs,
			micros(j.QueuedAt), micros(j.StartedAt), micros(j.EndedAt), id)
		return err
	})
	if err != nil {
		return job.Job{}, err
	}
	return j, nil
}

// Purge deletes up to limit jobs that ended before a time, the oldest first.
func (s *Jobs) Purge(ctx context.Context, before time.Time, limit int) (all []job.Job, err error) {
	err = s.db.update(ctx, "purge jobs", func(tx *sql.Tx) error {
		all = nil
		rows, err := tx.QueryContext(ctx, `DELETE FROM jobs WHERE id IN (SELECT id FROM jobs
			WHERE finished = 1 AND ended_at < ? ORDER BY ended_at LIMIT ?) RETURNING `+jobColumns, micros(before), limit)
		return scanAll(rows, err, func(r *sql.Rows) error {
			j, err := scanJob(r, false)
			all = append(all, j)
			return err
		})
	})
	return all, err
}
