package team

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"parley/internal/chat"
	"parley/internal/llm"
)

// errLeft means that the turn is over: the consumer has left, or the turn's context has ended.
var errLeft = errors.New("the turn is over")

// run is one turn of a team. Each agent runs in its own goroutine; none of them outlives the turn. Their
// events reach the consumer in the goroutine that ranges over the turn.
type run struct {
	*Team
	ctx    context.Context
	req    *chat.Request
	end    time.Time // when the agents must have ended; zero for no limit
	agents []worker  // in the order of the crew

	line   sync.Mutex // held while an event is passed on
	events chan chat.Event
	taken  chan struct{} // signals that the consumer has handled the event

	mu       sync.Mutex
	emitted  bool
	rejected error
	usage    llm.Usage
}

// worker is a running agent.
type worker struct {
	done   chan struct{} // closed when result may be read
	result result
}

// result is the result of an agent.
type result struct {
	said    said
	skipped bool
	err     error // the cause of a failure; nil when the agent completed or was skipped
}

func (t *Team) run(ctx context.Context, req *chat.Request, yield func(chat.Event, error) bool) {
	start := time.Now()
	ctx, cancel := context.WithCancel(ctx)
	r := &run{
		Team: t, ctx: ctx, req: req, agents: make([]worker, len(t.crew)),
		events: make(chan chat.Event), taken: make(chan struct{}),
	}
	if deadline, ok := ctx.Deadline(); ok {
		r.end = deadline.Add(-reserve)
	}
	var working sync.WaitGroup
	// However the range ends, even by a panic of the consumer, no agent keeps running.
	defer working.Wait()
	defer cancel()
	for i := range r.agents {
		r.agents[i].done = make(chan struct{})
		working.Go(func() { r.work(i) })
	}
	ended := make(chan struct{})
	working.Go(func() {
		for i := range r.agents {
			<-r.agents[i].done
		}
		close(ended)
	})
	if !r.relay(ended, yield) {
		return
	}
	if err := r.outcome(); err != nil {
		yield(nil, err)
		return
	}
	yield(chat.TurnFinished{Duration: time.Since(start), Usage: r.usage}, nil)
}

// relay passes the agents' events to the consumer until all agents have ended. It returns false when the
// consumer has left.
func (r *run) relay(ended <-chan struct{}, yield func(chat.Event, error) bool) bool {
	for {
		select {
		case e := <-r.events:
			if !yield(e, nil) {
				return false
			}
			select {
			case r.taken <- struct{}{}:
			case <-r.ctx.Done(): // the agent may no longer be waiting
			}
		case <-ended:
			return true
		}
	}
}

// outcome returns the error that ends the turn, or nil if at least one agent has completed.
func (r *run) outcome() error {
	if r.rejected != nil {
		return r.rejected
	}
	if err := r.ctx.Err(); err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			return &chat.Error{Kind: chat.Unavailable, Msg: "The answer took too long.", Err: err}
		}
		return fmt.Errorf("run the team: %w", err)
	}
	var first error
	for i := range r.agents {
		res := &r.agents[i].result
		if res.err == nil && !res.skipped {
			return nil
		}
		if first == nil {
			first = res.err
		}
	}
	if first == nil {
		first = &chat.Error{Kind: chat.Unavailable, Msg: "The answer took too long.", Err: errors.New("every agent was skipped")}
	}
	return first
}

// emit passes an event to the consumer and returns when the consumer has handled it, so that the ledger
// knows about a stage before anything is spent in it.
func (r *run) emit(e chat.Event) error {
	r.line.Lock()
	defer r.line.Unlock()
	if r.begin() != nil {
		return errLeft
	}
	select {
	case r.events <- e:
	case <-r.ctx.Done():
		return errLeft
	}
	select {
	case <-r.taken:
		return nil
	case <-r.ctx.Done():
		return errLeft
	}
}

// begin marks the turn as begun, unless it was rejected. It returns the rejection, or nil.
func (r *run) begin() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.emitted = r.rejected == nil
	return r.rejected
}

// spend adds u to the usage of the turn.
func (r *run) spend(u llm.Usage) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.usage = r.usage.Add(u)
}

// reject ends the turn before it begins. It returns false if an event was emitted already.
func (r *run) reject(err error) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.emitted {
		return false
	}
	if r.rejected == nil {
		r.rejected = err
	}
	return true
}

// left returns the remaining time, and false when there is no limit.
func (r *run) left() (time.Duration, bool) {
	return time.Until(r.end), !r.end.IsZero()
}

// work runs one agent.
func (r *run) work(i int) {
	m, w := &r.crew[i], &r.agents[i]
	defer close(w.done)
	defer func() {
		if p := recover(); p != nil {
			w.result.err = fmt.Errorf("agent %s: panic: %v\n%s", m.Name, p, debug.Stack())
		}
	}()
	for _, before := range m.hears {
		<-r.agents[before].done // every agent ends when the context does
	}
	if r.ctx.Err() != nil {
		w.result.skipped = true
		return
	}
	if left, limited := r.left(); limited && left < m.SkipBelow {
		r.cfg.Log.InfoContext(r.ctx, "agent skipped: time is short", "turn_id", r.req.TurnID, "agent", m.Name)
		w.result.skipped = true
		return
	}
	w.result.said, w.result.err = r.answer(m)
}

// within returns a context that ends after a part of the remaining time.
func (r *run) within(part float64) (context.Context, context.CancelFunc) {
	left, limited := r.left()
	if !limited {
		return context.WithCancel(r.ctx)
	}
	return context.WithTimeout(r.ctx, time.Duration(part*float64(left)))
}
