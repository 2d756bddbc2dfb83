package upstream

import (
	"context"
	"sync"
	"time"

	"parley/internal/llm"
)

// Sizes caches the context sizes in a server's list of models. It is safe for concurrent use.
type Sizes struct {
	List func(context.Context) ([]llm.ModelInfo, error) // set before the first use

	mu      sync.Mutex
	known   map[string]int
	until   time.Time     // when to read the list again
	reading chan struct{} // closed when the list has been read; nil when nobody reads it
}

const (
	sizesFor  = 10 * time.Minute // also for a missing list: many servers have none
	sizesTime = 3 * time.Second
)

// Of returns the context size of a model in tokens, 0 if the server does not give it. It waits for a list that is
// being read, until ctx ends.
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

// refresh starts reading the list if it is old, and returns a channel that is closed when it has been read.
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

// read replaces the list, or keeps the old one if there is no answer.
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
