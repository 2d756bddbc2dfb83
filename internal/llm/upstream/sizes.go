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

	mu    sync.Mutex
	known map[string]int
	until time.Time // when the list is to be read again
}

const (
	sizesFor  = 10 * time.Minute // also that there is no list: many servers have none
	sizesTime = 3 * time.Second
)

// Of returns how many tokens a model takes, 0 when the server does not say. Who asks while the list is
// being read waits for it.
func (s *Sizes) Of(ctx context.Context, model string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := time.Now(); now.After(s.until) {
		s.until = now.Add(sizesFor)
		s.read(ctx)
	}
	return s.known[llm.CleanName(model)]
}

// read keeps what is known when there is no answer. It goes on when the caller leaves, since others wait.
func (s *Sizes) read(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sizesTime)
	defer cancel()
	models, err := s.List(ctx)
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
