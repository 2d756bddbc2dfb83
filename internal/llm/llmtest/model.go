// Package llmtest has models for tests: a scripted Model, and an Upstream, which is an HTTP server that
// speaks the protocol of a provider and fails in every way in which upstreams fail.
package llmtest

import (
	"context"
	"iter"
	"sync"

	"parley/internal/llm"
)

// Step is one step of a scripted model. Its fields apply in their order.
type Step struct {
	Do    func()          // call it
	Wait  <-chan struct{} // receive from it, or end with the context's error
	Err   error           // end with it
	Chunk llm.Chunk       // emit it
}

// Model plays the same script in every call. It is safe for concurrent use.
type Model struct {
	Steps []Step

	mu       sync.Mutex
	requests []llm.Request
	active   int
	left     int
}

var _ llm.Model = (*Model)(nil)

// Says returns a model that answers with the deltas, then with the finish reason "stop" and a usage of
// 10 input tokens and one output token for each delta.
func Says(deltas ...string) *Model {
	m := &Model{}
	for _, d := range deltas {
		m.Steps = append(m.Steps, Step{Chunk: llm.Chunk{Text: d, Model: "scripted-1"}})
	}
	m.Steps = append(m.Steps,
		Step{Chunk: llm.Chunk{FinishReason: "stop", Model: "scripted-1"}},
		Step{Chunk: llm.Chunk{Usage: &llm.Usage{Input: 10, Output: len(deltas)}}})
	return m
}

// Fails returns a model that emits the deltas and then the error.
func Fails(err error, deltas ...string) *Model {
	m := &Model{}
	for _, d := range deltas {
		m.Steps = append(m.Steps, Step{Chunk: llm.Chunk{Text: d, Model: "scripted-1"}})
	}
	m.Steps = append(m.Steps, Step{Err: err})
	return m
}

// Hangs returns a model that emits the deltas and then nothing until the context ends. After the deltas
// it calls reached, unless that is nil.
func Hangs(reached func(), deltas ...string) *Model {
	m := Fails(nil, deltas...)
	m.Steps[len(deltas)] = Step{Do: reached}
	m.Steps = append(m.Steps, Step{Wait: make(chan struct{})})
	return m
}

// Stream plays the script.
func (m *Model) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		m.enter(req)
		finished := false
		defer func() { m.leave(finished) }()
		for _, s := range m.Steps {
			if err := s.before(ctx); err != nil {
				yield(llm.Chunk{}, err)
				return
			}
			if !yield(s.Chunk, nil) {
				return
			}
		}
		finished = true
	}
}

func (s Step) before(ctx context.Context) error {
	if s.Do != nil {
		s.Do()
	}
	if s.Wait != nil {
		select {
		case <-s.Wait:
		case <-ctx.Done():
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.Err
}

func (m *Model) enter(req llm.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests = append(m.requests, req)
	m.active++
}

func (m *Model) leave(finished bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.active--
	if !finished {
		m.left++
	}
}

// Requests returns all requests so far, in order.
func (m *Model) Requests() []llm.Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]llm.Request(nil), m.requests...)
}

// Active returns the number of calls that have not ended.
func (m *Model) Active() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.active
}

// Unfinished returns the number of calls that ended before the end of the script.
func (m *Model) Unfinished() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.left
}
