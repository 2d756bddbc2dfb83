package documents

import (
	"context"
	"errors"
	"fmt"
	"io"

	"parley/internal/documents/job"
)

// Quota limits the bytes of uploads, including waiting ones; 0 means no limit.
type Quota struct {
	All   int64 // of all owners together
	Owner int64 // of each owner, in all namespaces
}

// QuotaError says that an upload would exceed a quota.
type QuotaError struct {
	Limit int64 // in bytes
	All   bool  // the limit of all owners together was exceeded
}

func (e *QuotaError) Error() string {
	return fmt.Sprintf("the uploads would take more than %d bytes", e.Limit)
}

// Used returns the bytes of an owner's uploads and their limit, which is 0 if there is none.
func (s *Service) Used(ctx context.Context, owner string) (used, limit int64, err error) {
	_, used, err = s.used(ctx, owner, "")
	return used, s.cfg.Quota.Owner, err
}

// used returns the bytes of all uploads and of an owner's, without those that are staged for one job.
func (s *Service) used(ctx context.Context, owner, except string) (all, own int64, err error) {
	u, err := s.files.Usage(owner)
	if err != nil {
		return 0, 0, err
	}
	own = u.Owner
	for id, n := range u.Staged {
		if id == except {
			u.All -= n
			continue
		}
		_, err := s.cfg.Jobs.Job(ctx, owner, id)
		switch {
		case err == nil:
			own += n
		case !errors.Is(err, job.ErrNotFound):
			return 0, 0, fmt.Errorf("look for the owner of an upload: %w", err)
		}
	}
	return u.All, own, nil
}

// left returns how many bytes a batch of an owner may have, and the error for a larger one, which is nil if
// there is no limit.
func (s *Service) left(ctx context.Context, owner, batch string) (left int64, over *QuotaError, err error) {
	q := s.cfg.Quota
	if q.All == 0 && q.Owner == 0 {
		return 0, nil, nil
	}
	all, own, err := s.used(ctx, owner, batch)
	if err != nil {
		return 0, nil, err
	}
	if q.Owner > 0 {
		left, over = q.Owner-own, &QuotaError{Limit: q.Owner}
	}
	if q.All > 0 && (over == nil || q.All-all < left) {
		left, over = q.All-all, &QuotaError{Limit: q.All, All: true}
	}
	return left, over, nil
}

// within returns a reader that fails when a file of the batch exceeds a quota. The size of a file that it
// replaces does not count.
func (b *Batch) within(ctx context.Context, name string, r io.Reader) (io.Reader, error) {
	if !b.counted {
		left, over, err := b.service.left(ctx, b.at.Owner, b.id)
		if err != nil {
			return nil, err
		}
		b.counted, b.left, b.over = true, left, over
	}
	if b.over == nil {
		return r, nil
	}
	return &quotaReader{r: r, left: b.left - b.bytes + b.freed + b.service.files.Size(b.at, name), over: b.over}, nil
}

// quotaReader fails at the first byte over the limit.
type quotaReader struct {
	r    io.Reader
	left int64
	over *QuotaError
}

func (q *quotaReader) Read(p []byte) (int, error) {
	n, err := q.r.Read(p)
	if q.left -= int64(n); n > 0 && q.left < 0 {
		return n, q.over
	}
	return n, err
}

// admit checks the quotas again when a batch becomes a job, since other uploads may have arrived
// meanwhile. The caller must hold admission.
func (b *Batch) admit(ctx context.Context) error {
	left, over, err := b.service.left(ctx, b.at.Owner, b.id)
	if err != nil || over == nil {
		return err
	}
	for _, f := range b.files {
		left += b.service.files.Size(b.at, f.Name)
	}
	if b.bytes > left {
		return over
	}
	return nil
}
