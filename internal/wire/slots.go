package wire

import (
	"sync"

	"parley/internal/chat"
)

// Slots limits how many requests do the same work at one time: its capacity is the limit.
type Slots chan struct{}

// Take takes a slot, or returns full if all are taken. The returned function releases the slot and may be called more than
// once.
func (s Slots) Take(full *chat.Error) (release func(), err error) {
	select {
	case s <- struct{}{}:
		return sync.OnceFunc(func() { <-s }), nil
	default:
		return nil, full
	}
}

// ErrTooManyUploads is the error for a client when all slots for incoming files are taken.
var ErrTooManyUploads = &chat.Error{Kind: chat.RateLimited, Msg: "Too many files are coming in at the moment. Please try again later."}
