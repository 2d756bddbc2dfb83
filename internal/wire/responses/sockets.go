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

// sockets are the open WebSockets. net/http does not wait for them when it stops.
type sockets struct {
	mu    sync.Mutex
	open  map[int]context.CancelCauseFunc
	last  int
	stop  chan struct{} // closed when idle sockets must end
	empty chan struct{} // closed when the last one has ended; nil if nothing waits for that
}

func newSockets() *sockets {
	return &sockets{open: map[int]context.CancelCauseFunc{}, stop: make(chan struct{})}
}

// enter adds a socket until leave is called.
func (s *sockets) enter(cancel context.CancelCauseFunc) (leave func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.open) >= maxSockets {
		return nil, errSockets
	}
	s.last++
	id := s.last
	s.open[id] = cancel
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.open, id)
		if len(s.open) == 0 && s.empty != nil {
			close(s.empty)
			s.empty = nil
		}
	}, nil
}

// drain ends idle sockets at once, and the others after their response. It may be called again.
func (s *sockets) drain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.stop:
	default:
		close(s.stop)
	}
}

// wait waits until all sockets have ended. When ctx ends it cancels them with cause.
func (s *sockets) wait(ctx context.Context, cause error) {
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
