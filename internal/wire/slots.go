package wire

import (
	"sync"

	"parley/internal/chat"
)

// Slots limits how many requests do the same work at the same time. Its capacity is the limit.
type Slots chan struct{}

// Take takes a slot without waiting, or returns the error full if all are taken. release frees the slot, and may be called
// more than once.
func (s Slots) Take(full *chat.Error) (release func(), err error) {
	select {
	case s <- struct{}{}:
		return sync.OnceFunc(func() { <-s }), nil
	default:
		return nil, full
	}
}

// Receiving returns slots for uploads. Their number is small, because each upload may fill its whole size limit on the disk.
func Receiving() Slots { return make(Slots, 8) }

// MaxUpload returns the configured maximum size of an upload in bytes, or 200 MiB if it is not positive.
func MaxUpload(configured int64) int64 {
	if configured <= 0 {
		return 200 << 20
	}
	return configured
}

// ErrTooManyUploads is the error for Slots.Take when all slots of Receiving are taken.
var ErrTooManyUploads = &chat.Error{Kind: chat.RateLimited, Msg: "Too many files are being uploaded at the moment. Please try again later."}
