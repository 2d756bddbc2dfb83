package turn

import (
	"bufio"
	"bytes"
	"compress/flate"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"parley/internal/chat"
)

// Key is what a client sends with a request so that sending the request again does not run it
// again (the header Idempotency-Key).
type Key struct {
	Owner string // access.Principal.Subject
	Route string // the path of the request
	Value string
}

// Answered is a key whose request was answered by a completed turn.
type Answered struct {
	Key
	Body   [sha256.Size]byte // hash of the request's body
	TurnID string
	Events []byte // what the turn said; see packEvents
	At     time.Time
}

// KeyLifetime is how long a key is remembered.
const KeyLifetime = 24 * time.Hour

const maxKeyBytes = 255

// Keys sees to it that requests with the same key are one turn: of several at one time one runs
// and the others wait for it, and a later one gets what the first got. A key is remembered in the
// transaction that saves its turn, so that a crash cannot come between the two. The key of a turn
// that did not complete is free again.
type Keys struct {
	store Store
	now   func() time.Time

	mu   sync.Mutex
	busy map[Key]chan struct{} // closed when the request with that key has ended
}

// NewKeys returns a set of keys that is kept in store. A nil now means time.Now.
func NewKeys(store Store, now func() time.Time) *Keys {
	if now == nil {
		now = time.Now
	}
	return &Keys{store: store, now: now, busy: map[Key]chan struct{}{}}
}

// Errors of Claim that are about the key itself.
var (
	errKey = &chat.Error{Kind: chat.Invalid,
		Msg: "The Idempotency-Key must be 1 to 255 bytes of printable text."}
	// ErrKeyReused says that the key was used with another body.
	ErrKeyReused = errors.New("the key was used with another body")
)

// Claim waits until no other request with the key runs, and returns a context for the first turn
// that runs in it: that turn is remembered under the key, or, when the key has been answered,
// repeats what was answered. The caller calls release when the request has ended. The error is
// ErrKeyReused, or a *chat.Error.
func (k *Keys) Claim(ctx context.Context, key Key, body []byte) (_ context.Context, release func(), err error) {
	if !validKey(key.Value) {
		return nil, nil, errKey
	}
	if release, err = k.enter(ctx, key); err != nil {
		return nil, nil, err
	}
	c := &claim{answered: Answered{Key: key, Body: sha256.Sum256(body)}}
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
		release()
		return nil, nil, err
	}
	return context.WithValue(ctx, claimKey{}, c), release, nil
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

// Purge forgets the keys that are too old to count, and returns how many.
func (k *Keys) Purge(ctx context.Context) (int, error) {
	before := k.now().Add(-KeyLifetime)
	for total := 0; ; {
		n, err := k.store.Forget(ctx, before, purgeBatch)
		total += n
		if err != nil {
			return total, fmt.Errorf("forget keys: %w", err)
		}
		if n < purgeBatch {
			return total, nil
		}
	}
}

// claim is a key on its way from the request to the runner, in a context, because the protocol
// adapters between the two know nothing of keys.
type claim struct {
	answered Answered
	again    bool // the key has been answered
	taken    atomic.Bool
}

type claimKey struct{}

// takeClaim returns the claim of a context to the first who asks, nil to everybody else.
func takeClaim(ctx context.Context) *claim {
	c, ok := ctx.Value(claimKey{}).(*claim)
	if !ok || !c.taken.CompareAndSwap(false, true) {
		return nil
	}
	return c
}

// IDOf returns the id for the turn of a request: that of the turn which answered the request's key
// already, else a fresh one.
func IDOf(ctx context.Context, fresh func() string) string {
	if c, ok := ctx.Value(claimKey{}).(*claim); ok && c.again {
		return c.answered.TurnID
	}
	return fresh()
}

// packer collects the events of a turn, compressed, one JSON text a line.
type packer struct {
	turnID string
	seq    int
	buf    bytes.Buffer
	deflat *flate.Writer
	err    error
}

func newPacker(turnID string) *packer {
	p := &packer{turnID: turnID}
	p.deflat, p.err = flate.NewWriter(&p.buf, flate.BestSpeed)
	return p
}

func (p *packer) add(e chat.Event) {
	if p.err != nil {
		return
	}
	p.seq++
	line, err := json.Marshal(chat.Numbered{Turn: p.turnID, Seq: p.seq, Event: e})
	if err == nil {
		_, err = p.deflat.Write(append(line, '\n'))
	}
	p.err = err
}

func (p *packer) bytes() ([]byte, error) {
	if p.err == nil {
		p.err = p.deflat.Close()
	}
	return p.buf.Bytes(), p.err
}

// unpack yields the events that a packer collected.
func unpack(packed []byte) iter.Seq2[chat.Event, error] {
	return func(yield func(chat.Event, error) bool) {
		lines := bufio.NewReader(flate.NewReader(bytes.NewReader(packed)))
		for {
			line, err := lines.ReadBytes('\n')
			if errors.Is(err, io.EOF) && len(line) == 0 {
				return
			}
			var n chat.Numbered
			if err == nil {
				err = json.Unmarshal(line, &n)
			}
			if err != nil {
				yield(nil, fmt.Errorf("unpack events: %w", err))
				return
			}
			if !yield(n.Event, nil) {
				return
			}
		}
	}
}
