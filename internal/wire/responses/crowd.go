package responses

import (
	"context"
	"sync"
	"time"

	"parley/internal/chat"
)

// maxSockets is the maximum number of open WebSockets. The server's limit on connections does not count
// them.
const maxSockets = 512

// finalTime is how long interrupted responses may take to send their last event when the server stops.
const finalTime = 2 * time.Second

var errSockets = &chat.Error{
	Kind: chat.Unavailable,
	Msg:  "The server has reached its limit of open WebSockets. Please try again in a moment.",
}

// crowd limits and tracks activities that net/http does not wait for when it stops: open WebSockets, or background
// responses. It is safe for concurrent use.
type crowd struct {
	most, own int   // limits for all owners together, and for each one
	full      error // returned by enter at the limit

	mu    sync.Mutex
	open  map[int]context.CancelCauseFunc
	each  map[string]int // number of open activities by owner
	last  int
	stop  chan struct{} // closed by drain
	empty chan struct{} // closed when the last activity has ended; nil unless wait is waiting
}

func newCrowd(most, own int, full error) *crowd {
	return &crowd{most: most, own: own, full: full, open: map[int]context.CancelCauseFunc{}, each: map[string]int{}, stop: make(chan struct{})}
}

// enter adds an activity, which counts until leave is called. At a limit it returns the error s.full. wait may call cancel.
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

// drain closes s.stop: idle WebSockets end at once, the others after their current response. It may be called again.
func (s *crowd) drain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.stop:
	default:
		close(s.stop)
	}
}

// wait waits until all activities have ended. When ctx ends, it cancels the rest with cause, and waits for up to finalTime more.
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
