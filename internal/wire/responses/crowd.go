package responses

import (
	"context"
	"sync"
	"time"

	"parley/internal/chat"
)

// maxSockets is the maximum number of open WebSockets, which the server's limit on connections does not
// include.
const maxSockets = 512

// finalTime is the time for interrupted responses to send their last event when the server stops.
const finalTime = 2 * time.Second

var errSockets = &chat.Error{
	Kind: chat.Unavailable,
	Msg:  "The server has as many WebSockets open as it may. Please try again in a moment.",
}

// crowd is a limited number of things for which net/http does not wait when it stops: open WebSockets, or responses in
// the background.
type crowd struct {
	most, own int   // of all owners, and of one
	full      error // of enter

	mu    sync.Mutex
	open  map[int]context.CancelCauseFunc
	each  map[string]int // how many an owner has
	last  int
	stop  chan struct{} // closed when idle ones must end
	empty chan struct{} // closed when the last one has ended; nil if nothing waits for that
}

func newCrowd(most, own int, full error) *crowd {
	return &crowd{most: most, own: own, full: full, open: map[int]context.CancelCauseFunc{}, each: map[string]int{}, stop: make(chan struct{})}
}

// enter adds one until leave is called.
func (s *crowd) enter(owner string, cancel context.CancelCauseFunc) (leave func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.open) >= s.most || s.each[owner] >= s.own {
		return nil, s.full
	}
	s.last++
	s.each[owner]++
	id := s.last
	s.open[id] = cancel
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.open, id)
		if s.each[owner]--; s.each[owner] == 0 {
			delete(s.each, owner)
		}
		if len(s.open) == 0 && s.empty != nil {
			close(s.empty)
			s.empty = nil
		}
	}, nil
}

// drain ends idle ones at once, and the others after their response. It may be called again.
func (s *crowd) drain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.stop:
	default:
		close(s.stop)
	}
}

// wait waits until all have ended. When ctx ends it cancels them with cause.
func (s *crowd) wait(ctx context.Context, cause error) {
	s.mu.Lock()
	if len(s.open) == 0 {
		s.mu.Unlock()
		return
	}
	if s.empty == nil {
		s.empty = make(chan struct{})
	}
	empty := s.empty
	s.mu.Unlock()
	select {
	case <-empty:
		return
	case <-ctx.Done():
	}
	s.mu.Lock()
	for _, cancel := range s.open {
		cancel(cause)
	}
	s.mu.Unlock()
	select {
	case <-empty:
	case <-time.After(finalTime):
	}
}
