package library

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"parley/internal/shelf"
)

// ErrExpired means that a vector store has expired: it is still there, but holds nothing.
var ErrExpired = errors.New("the vector store has expired")

// deadline says what expires at the time of its item. Deadlines of all owners are one list, so that Sweep finds those
// that are due.
type deadline struct {
	Kind  shelf.Kind `json:"kind"`
	Owner string     `json:"owner"`
}

func deadlineKey(id string) shelf.Key { return shelf.Key{Kind: shelf.Deadlines, ID: id} }

// expireAt makes Sweep look at an item at a time.
func (l *Library) expireAt(ctx context.Context, key shelf.Key, at time.Time) error {
	body, err := json.Marshal(deadline{key.Kind, key.Owner})
	if err != nil {
		return fmt.Errorf("encode a deadline: %w", err)
	}
	_, err = l.cfg.Items.Save(ctx, deadlineKey(key.ID), func(i *shelf.Item, _ bool) error {
		i.CreatedAt, i.Body = at, body
		return nil
	})
	return err
}

// isOver reports whether a time has come. The zero time never comes.
func (l *Library) isOver(at time.Time) bool { return !at.IsZero() && !l.cfg.Now().Before(at) }

// sweepBatch is the number of deadlines that are read at a time.
const sweepBatch = 100

// Sweep deletes expired files and uploads, and the contents of expired vector stores, and returns how many items had
// expired. What cannot be deleted now is left for the next call.
func (l *Library) Sweep(ctx context.Context) (n int, err error) {
	list := shelf.List{Kind: shelf.Deadlines, Oldest: true, Limit: sweepBatch}
	var failed error
	for {
		due, err := l.cfg.Items.Items(ctx, list)
		if err != nil {
			return n, errors.Join(failed, err)
		}
		before := n
		for _, i := range due {
			if !l.isOver(i.CreatedAt) {
				return n, failed
			}
			gone, err := l.expire(ctx, i)
			if gone {
				n++
			}
			failed = errors.Join(failed, err)
		}
		if len(due) < sweepBatch {
			return n, failed
		}
		if list.After = due[len(due)-1].ID; n > before {
			list.After = "" // that deadline may be gone
		}
	}
}

// expire deletes what a deadline is about, or moves the deadline if the item has got another one meanwhile. A deadline
// stays until its item is gone, also when another server deletes it at the same time.
func (l *Library) expire(ctx context.Context, i shelf.Item) (gone bool, err error) {
	var d deadline
	if err := json.Unmarshal(i.Body, &d); err != nil {
		return false, fmt.Errorf("decode the deadline of %s: %w", i.ID, err)
	}
	next, err := l.due(ctx, d, i.ID)
	if err == nil && l.isOver(next) {
		gone, err = true, l.end(ctx, d, i.ID)
	}
	switch {
	case err != nil && !errors.Is(err, ErrNotFound):
		return false, fmt.Errorf("delete %s %s, which has expired: %w", d.Kind, i.ID, err)
	case err == nil && !gone && !next.IsZero():
		return false, l.expireAt(ctx, shelf.Key{Kind: d.Kind, Owner: d.Owner, ID: i.ID}, next)
	}
	if err := l.cfg.Items.Delete(ctx, i.Key); err != nil && !errors.Is(err, ErrNotFound) {
		return gone, err
	}
	return gone, nil
}

// due returns when an item expires; the zero time means never.
func (l *Library) due(ctx context.Context, d deadline, id string) (time.Time, error) {
	switch d.Kind {
	case shelf.Files:
		f, err := l.storedFile(ctx, d.Owner, id)
		return f.Expires, err
	case shelf.Stores:
		s, err := l.Store(ctx, d.Owner, id)
		return s.ExpiresAt(), err
	case shelf.Uploads:
		u, err := l.upload(ctx, d.Owner, id)
		return u.ExpiresAt(), err
	}
	return time.Time{}, nil
}

// end deletes an item that has expired, or what is in it.
func (l *Library) end(ctx context.Context, d deadline, id string) error {
	switch d.Kind {
	case shelf.Files:
		f, err := l.storedFile(ctx, d.Owner, id)
		if err != nil {
			return err
		}
		return l.deleteFile(ctx, d.Owner, f)
	case shelf.Stores:
		return l.empty(ctx, Store{ID: id, Owner: d.Owner})
	}
	return l.deleteUpload(ctx, Upload{ID: id, Owner: d.Owner})
}

// ExpiresAt returns when a store expires if nobody uses it before, or the zero time.
func (s Store) ExpiresAt() time.Time {
	if s.Days == 0 {
		return time.Time{}
	}
	return s.ActiveAt.Add(time.Duration(s.Days) * 24 * time.Hour)
}

// Expired reports whether a store has expired.
func (l *Library) Expired(s Store) bool { return l.isOver(s.ExpiresAt()) }

// useInterval is the least time between two updates of a store's last use.
const useInterval = time.Minute

// Use records a use of a store, which postpones its expiry. The error is ErrExpired if the store has expired.
func (l *Library) Use(ctx context.Context, s Store) error {
	switch {
	case l.Expired(s):
		return ErrExpired
	case s.Days == 0 || l.cfg.Now().Sub(s.ActiveAt) < useInterval:
		return nil
	}
	_, err := l.ChangeStore(ctx, s.Owner, s.ID, func(s *Store) { s.ActiveAt = l.cfg.Now().UTC() })
	return err
}

// empty deletes the documents and the members of a store. The files stay.
func (l *Library) empty(ctx context.Context, s Store) error {
	l.attaching.Lock()
	defer l.attaching.Unlock()
	if err := l.cfg.Documents.DeleteUploads(ctx, s.scope()); err != nil {
		return err
	}
	members, err := l.cfg.Items.Items(ctx, shelf.List{Kind: shelf.Members, Owner: s.Owner, Parent: s.ID})
	if err != nil {
		return err
	}
	for _, m := range members {
		if err := l.cfg.Items.Delete(ctx, m.Key); err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
	}
	return nil
}
