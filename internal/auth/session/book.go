package session

import (
	"context"
	"crypto/sha256"
	"errors"
	"time"

	"parley/internal/access"
	"parley/internal/lru"
)

// ErrEnded means that a cookie belongs to no active session.
var ErrEnded = errors.New("the session has ended")

// freshness is how long the book trusts what it has read about a session; one that another process ends is refused
// after at most that time.
const (
	freshness  = time.Second
	remembered = 4096 // sessions
	mostOfOne  = 50   // sessions of one subject
)

// Providers turns the claims of identity providers into callers.
type Providers interface {
	// Recall returns the caller whom the claims of a provider describe now, or an error if they may no longer sign in.
	Recall(issuer string, claims []byte) (access.Principal, error)
}

// Book begins, finds and ends sessions. Use NewBook to make one. It is safe for concurrent use.
type Book struct {
	store     Store
	providers Providers
	lasts     time.Duration
	now       func() time.Time
	recent    *lru.Cache[string, known]
}

type known struct {
	Found
	at time.Time
}

// Found is a session and, unless it began with a key, who holds it.
type Found struct {
	Session
	Who access.Principal
}

// NewBook returns a book whose sessions last for the given time. providers may be nil.
func NewBook(store Store, providers Providers, lasts time.Duration, now func() time.Time) *Book {
	return &Book{store: store, providers: providers, lasts: lasts, now: now, recent: lru.New[string, known](remembered, nil)}
}

// Begin stores a new session, and returns it with the text for its cookie. s must have a Subject, and a Key or an Issuer with Claims.
// token is the provider's ID token, or "".
func (b *Book) Begin(ctx context.Context, s Session, token string) (Session, string, error) {
	s, text := begin(s, token, b.now(), b.lasts)
	return s, text, b.store.AddSession(ctx, s, mostOfOne)
}

// Find returns the session with the given text, or ErrEnded.
func (b *Book) Find(ctx context.Context, text string) (Found, error) {
	id, hash, ok := parse(text)
	if !ok {
		return Found{}, ErrEnded
	}
	f, err := b.read(ctx, id)
	if errors.Is(err, ErrNotFound) {
		f, err = Found{Session: Session{Hash: sha256.Sum256(hash[:])}}, nil // no secret opens it; so an unknown id takes as long as a wrong secret
	}
	if err != nil {
		return Found{}, err
	}
	if !f.opens(hash) || !b.now().Before(f.ExpiresAt) {
		return Found{}, ErrEnded
	}
	return f, nil
}

// read returns a session as it is in the store or was at most freshness ago.
func (b *Book) read(ctx context.Context, id string) (Found, error) {
	now := b.now()
	if k, ok := b.recent.Get(id); ok && now.Sub(k.at) < freshness {
		return k.Found, nil
	}
	s, err := b.store.Session(ctx, id)
	if err != nil {
		return Found{}, err
	}
	f := Found{Session: s}
	if s.Key == "" {
		if b.providers == nil {
			return Found{}, ErrNotFound
		}
		if f.Who, err = b.providers.Recall(s.Issuer, s.Claims); err != nil {
			return Found{}, ErrNotFound
		}
	}
	b.recent.Put(id, known{f, now})
	return f, nil
}

// End ends the session with the given text and returns it. The error is ErrEnded if the session had ended already.
func (b *Book) End(ctx context.Context, text string) (Session, error) {
	f, err := b.Find(ctx, text)
	if err != nil {
		return Session{}, err
	}
	err = b.store.EndSession(ctx, f.ID)
	b.recent.Put(f.ID, known{at: b.now()}) // no secret opens it
	if errors.Is(err, ErrNotFound) {
		return Session{}, ErrEnded
	}
	return f.Session, err
}
