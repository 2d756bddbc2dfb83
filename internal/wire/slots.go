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

// Receiving returns the slots for incoming files. Each of them may use its full limit of the disk.
func Receiving() Slots { return make(Slots, 8) }

// MaxUpload returns a configured limit of an upload in bytes, or its default.
func MaxUpload(configured int64) int64 {
	if configured <= 0 {
		return 200 << 20
	}
	return configured
}

// ErrTooManyUploads is the error for a client when all slots for incoming files are taken.
var ErrTooManyUploads = &chat.Error{Kind: chat.RateLimited, Msg: "Too many files are coming in at the moment. Please try again later."}
