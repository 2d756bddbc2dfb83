package upstream

import (
	"context"
	"sync"
	"time"

	"parley/internal/llm"
)

// Sizes remembers what a server's list of models says of their contexts. It is safe for concurrent use.
type Sizes struct {
	List func(context.Context) ([]llm.ModelInfo, error) // set before the first use

	mu      sync.Mutex
	known   map[string]int
	until   time.Time     // when the list is to be read again
	reading chan struct{} // closed when the list has been read; nil when nobody reads it
}

const (
	sizesFor  = 10 * time.Minute // also that there is no list: many servers have none
	sizesTime = 3 * time.Second
)

// Of returns how many tokens a model takes, 0 when the server does not say. It waits for the list while that is
// being read, but no longer than ctx.
func (s *Sizes) Of(ctx context.Context, model string) int {
	if reading := s.refresh(ctx); reading != nil {
		select {
		case <-reading:
		case <-ctx.Done():
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known[llm.CleanName(model)]
}

// refresh has the list read when it is old, and returns what is closed at the end of that.
func (s *Sizes) refresh(ctx context.Context) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := time.Now(); s.reading == nil && now.After(s.until) {
		s.until = now.Add(sizesFor)
		s.reading = make(chan struct{})
		go s.read(context.WithoutCancel(ctx)) // ends after sizesTime; others may wait for it too
	}
	return s.reading
}

// read keeps what is known when there is no answer.
func (s *Sizes) read(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, sizesTime)
	defer cancel()
	models, err := s.List(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.reading)
	s.reading = nil
	if err != nil {
		return
	}
	s.known = map[string]int{}
	for _, m := range models {
		if m.Context > 0 {
			s.known[m.Name] = m.Context
		}
	}
}
