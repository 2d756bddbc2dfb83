package apikey

import (
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"maps"
	"sync"
	"time"

	"parley/internal/lru"
)

// Errors of Find and FindID, in addition to those of the store.
var (
	ErrWrong   = errors.New("not a key")
	ErrExpired = errors.New("expired key")
	ErrRevoked = errors.New("revoked key")
)

// freshness is how long the book trusts what it has read about a key; a revocation by another process takes effect
// after at most that time. noteInterval is the time between two writes of the times of use.
const (
	freshness    = time.Second
	noteInterval = time.Minute
	remembered   = 4096 // keys
)

// Book checks keys against a store. Use NewBook to make one. It is safe for concurrent use. Run stores when
// keys were used.
type Book struct {
	store  Store
	log    *slog.Logger
	now    func() time.Time
	recent *lru.Cache[string, read]

	mu   sync.Mutex
	used map[string]time.Time // times of use since the last write
	any  struct {
		at   time.Time
		some bool
	}
}

type read struct {
	key Key
	at  time.Time
}

// NewBook returns a book over a store.
func NewBook(store Store, log *slog.Logger, now func() time.Time) *Book {
	return &Book{store: store, log: log, now: now, recent: lru.New[string, read](remembered, nil), used: map[string]time.Time{}}
}

// Find returns the key with the given text. If the secret is right but the key can no longer be used, the error says why.
func (b *Book) Find(ctx context.Context, text string) (Key, error) {
	id, hash, ok := parse(text)
	if !ok {
		return Key{}, ErrWrong
	}
	k, err := b.read(ctx, id)
	if errors.Is(err, ErrNotFound) {
		k, err = Key{Hash: sha256.Sum256(hash[:])}, nil // no secret opens it; so an unknown id takes as long as a wrong secret
	}
	if err != nil {
		return Key{}, err
	}
	if !k.opens(hash) {
		return Key{}, ErrWrong
	}
	return b.use(k)
}

// FindID returns the key with an id, for callers that have already proved that they know its secret.
func (b *Book) FindID(ctx context.Context, id string) (Key, error) {
	k, err := b.read(ctx, id)
	if errors.Is(err, ErrNotFound) {
		return Key{}, ErrWrong
	}
	if err != nil {
		return Key{}, err
	}
	return b.use(k)
}

// use records that a key is used, or returns why it cannot be used.
func (b *Book) use(k Key) (Key, error) {
	now := b.now()
	switch k.State(now) {
	case "revoked":
		return Key{}, ErrRevoked
	case "expired":
		return Key{}, ErrExpired
	}
	b.mu.Lock()
	b.used[k.ID] = now
	b.mu.Unlock()
	return k, nil
}

// read returns a key as it is in the store or was at most freshness ago.
func (b *Book) read(ctx context.Context, id string) (Key, error) {
	now := b.now()
	if r, ok := b.recent.Get(id); ok && now.Sub(r.at) < freshness {
		return r.key, nil
	}
	k, err := b.store.Key(ctx, id)
	if err == nil {
		b.recent.Put(id, read{k, now})
	}
	return k, err
}

// Any reports whether there is a key that can be used. The answer may be as old as freshness.
func (b *Book) Any(ctx context.Context) (bool, error) {
	now := b.now()
	b.mu.Lock()
	at, some := b.any.at, b.any.some
	b.mu.Unlock()
	if !at.IsZero() && now.Sub(at) < freshness {
		return some, nil
	}
	some, err := b.store.HasValidKey(ctx, now)
	if err != nil {
		return false, err
	}
	b.mu.Lock()
	b.any.at, b.any.some = now, some
	b.mu.Unlock()
	return some, nil
}

// Run writes the times of use once a minute until ctx ends, and then a last time.
func (b *Book) Run(ctx context.Context) {
	tick := time.NewTicker(noteInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			b.note(ctx)
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastNote)
			defer cancel()
			b.note(last)
			return
		}
	}
}

// lastNote is the time limit for writing the last times of use before a stop.
const lastNote = 5 * time.Second

func (b *Book) note(ctx context.Context) {
	b.mu.Lock()
	used := b.used
	b.used = map[string]time.Time{}
	b.mu.Unlock()
	if len(used) == 0 {
		return
	}
	if err := b.store.UsedKeys(ctx, used); err != nil {
		b.log.Warn("write down when keys were used", "error", err)
		b.mu.Lock()
		defer b.mu.Unlock()
		maps.Copy(used, b.used) // the times since are later ones
		b.used = used           // for the next write
	}
}
