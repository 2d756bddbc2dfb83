package turn

import (
	"context"
	"crypto/sha256"
	"errors"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"parley/internal/chat"
)

// Key identifies a request by its header Idempotency-Key, so that a retry does not run the request again.
type Key struct {
	Owner string // access.Principal.Subject
	Route string // the path of the request
	Value string
}

// Answered is a key whose request a completed turn has answered.
type Answered struct {
	Key
	Body   [sha256.Size]byte // hash of the request's body
	TurnID string
	Events []byte // the events of the turn; see packer
	At     time.Time
}

// KeyLifetime is how long a key is remembered.
const KeyLifetime = 24 * time.Hour

const maxKeyBytes = 255

// Keys runs all requests with the same key as one turn: one request runs while concurrent ones wait, and all
// others get its result. It is safe for concurrent use. A key is stored in the transaction that saves its turn, so that a crash
// cannot separate the two. If the turn does not complete, its key becomes free again.
type Keys struct {
	store Store
	now   func() time.Time
	peers Peers // nil for none

	mu   sync.Mutex
	busy map[Key]chan struct{} // closed when the request with that key ends
}

// NewKeys returns Keys that are stored in store. A nil now means time.Now.
func NewKeys(store Store, now func() time.Time) *Keys {
	if now == nil {
		now = time.Now
	}
	return &Keys{store: store, now: now, busy: map[Key]chan struct{}{}}
}

// Share makes servers that use the same store wait for each other's requests with the same key. Call it before
// the first Claim. It returns k.
func (k *Keys) Share(peers Peers) *Keys {
	k.peers = peers
	return k
}

// Errors of Claim about the key itself.
var (
	errKey = &chat.Error{Kind: chat.Invalid,
		Msg: "The Idempotency-Key must be 1 to 255 bytes of printable text."}
	// ErrKeyReused means that the key was used with another body.
	ErrKeyReused = errors.New("the key was used with another body")
)

// Claim waits until no other request with the key is running, and returns a claim for Steering. The turn is
// then stored under the key or, if the key has been answered, repeats the stored events. The caller must
// call Release when the request ends; the key stays in use until the turn ends, too. The error is
// ErrKeyReused, or a *chat.Error.
func (k *Keys) Claim(ctx context.Context, key Key, body []byte) (*Claim, error) {
	if !validKey(key.Value) {
		return nil, errKey
	}
	leave, err := k.enter(ctx, key)
	if err != nil {
		return nil, err
	}
	unlock, err := lockShared(ctx, k.peers, "key", key.Owner, key.Route, key.Value)
	if err != nil {
		leave()
		return nil, &chat.Error{Kind: chat.Unavailable, Msg: "Another request with this Idempotency-Key is still running.", Err: err}
	}
	free := func() { unlock(); leave() }
	c := &Claim{answered: Answered{Key: key, Body: sha256.Sum256(body)}, free: free}
	c.users.Store(1)
	known, err := k.store.Answered(ctx, key)
	switch {
	case errors.Is(err, ErrNotFound), err == nil && k.now().Sub(known.At) > KeyLifetime:
		err = nil
	case err != nil:
		err = &chat.Error{Kind: chat.Unavailable, Msg: "The Idempotency-Key could not be looked up. Please try again.", Err: err}
	case known.Body != c.answered.Body:
		err = ErrKeyReused
	default:
		c.answered, c.again = known, true
	}
	if err != nil {
		free()
		return nil, err
	}
	return c, nil
}

func validKey(s string) bool {
	if s == "" || len(s) > maxKeyBytes || !utf8.ValidString(s) {
		return false
	}
	for _, r := range s {
		if r < ' ' || r == 0x7f {
			return false
		}
	}
	return true
}

func (k *Keys) enter(ctx context.Context, key Key) (release func(), err error) {
	for {
		k.mu.Lock()
		other, taken := k.busy[key]
		if !taken {
			done := make(chan struct{})
			k.busy[key] = done
			k.mu.Unlock()
			return func() {
				k.mu.Lock()
				delete(k.busy, key)
				k.mu.Unlock()
				close(done)
			}, nil
		}
		k.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, &chat.Error{Kind: chat.Unavailable,
				Msg: "Another request with this Idempotency-Key is still running.", Err: context.Cause(ctx)}
		}
	}
}

// Purge deletes keys that are older than KeyLifetime, and returns how many.
func (k *Keys) Purge(ctx context.Context) (int, error) {
	before := k.now().Add(-KeyLifetime)
	return inBatches("forget keys", func() (int, error) { return k.store.Forget(ctx, before, purgeBatch) })
}

// Claim is the use of a key by one request. Keys.Claim returns it.
type Claim struct {
	answered Answered
	again    bool // the key was answered before
	taken    atomic.Bool
	users    atomic.Int32 // the request, and the turn if it may outlive the request
	free     func()       // lets the next request with the key proceed
}

// Release ends the request's use of the key. Call it once.
func (c *Claim) Release() {
	if c.users.Add(-1) == 0 {
		c.free()
	}
}

// take returns the claim to the first caller and nil to others, because a claim is for one turn.
func (c *Claim) take() *Claim {
	if c == nil || !c.taken.CompareAndSwap(false, true) {
		return nil
	}
	return c
}

// repeats reports whether the turn only repeats the events that answered the key.
func (c *Claim) repeats() bool { return c != nil && c.again }

// Hold keeps the key of a request in use until release is called, for a turn that may begin after the request has
// ended.
func Hold(ctx context.Context) (release func()) {
	c := steeringOf(ctx).Claim
	if c == nil {
		return func() {}
	}
	c.users.Add(1)
	return c.Release
}
