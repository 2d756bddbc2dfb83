package llm

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"
)

// BreakerOptions configures Breakers. A zero field means its default.
type BreakerOptions struct {
	Failures int              // consecutive failures that open the breaker of an endpoint that rarely failed before, or never answered; 5
	Probe    time.Duration    // time between two calls of an endpoint whose breaker is open; 10 s
	Now      func() time.Time // nil means time.Now
}

// Breakers hold back calls to endpoints that are down. A breaker opens after more consecutive failures
// than chance explains: five where failures are rare, more at an endpoint that often fails but answers
// in between, because some of its calls are worth making. From then on it admits one call at a time as a
// probe, and the first probe that brings a part of an answer closes it. Refusals do not count as
// failures: neither rate limits, which say when they end, nor invalid requests. Breakers are safe for
// concurrent use.
type Breakers struct {
	opts BreakerOptions

	mu   sync.Mutex
	down map[string]*circuit // endpoints whose last call failed
	past map[string]*record  // endpoints that have failed recently and answered since
	live map[string]int      // number of open streams of an endpoint that have brought something
}

// circuit counts two kinds of consecutive failures of an endpoint. The first part of an answer resets
// the count of calls that failed before answering. Only a complete answer resets the count of streams
// that were cut off, since an endpoint that cuts off every stream is down too.
type circuit struct {
	refused, cut int
	open         bool
	next         time.Time // time of the next probe, once open
}

func (c *circuit) failures() int { return max(c.refused, c.cut) }

// record is the share of an endpoint's calls that failed before those that its circuit counts.
type record struct{ begin, complete share }

// maxCircuits limits the memory for endpoints, whose names may contain input of clients.
const maxCircuits = 1000

// NewBreakers returns breakers that are all closed.
func NewBreakers(opts BreakerOptions) *Breakers {
	opts.Failures = cmp.Or(opts.Failures, 5)
	opts.Probe = cmp.Or(opts.Probe, 10*time.Second)
	if opts.Now == nil {
		opts.Now = time.Now
	}
	return &Breakers{opts: opts, down: map[string]*circuit{}, past: map[string]*record{}, live: map[string]int{}}
}

// enter returns an *Error that is not retryable if the breaker does not admit the call.
func (g *Guards) enter() error {
	if g.Breakers == nil {
		return nil
	}
	return g.Breakers.enter(g.Endpoint)
}

// failed counts a failed call. begun says that the call had begun to answer.
func (g *Guards) failed(err error, begun bool) {
	if g.Breakers != nil && isDown(err) {
		g.Breakers.fail(g.Endpoint, begun)
	}
}

// answered counts a stream that has begun to answer. The caller must call ended when the stream ends.
func (g *Guards) answered() (ended func()) {
	if g.Breakers == nil {
		return func() {}
	}
	g.Breakers.answer(g.Endpoint)
	return func() { g.Breakers.end(g.Endpoint) }
}

// completed counts a call with a complete answer.
func (g *Guards) completed() {
	if g.Breakers != nil {
		g.Breakers.complete(g.Endpoint)
	}
}

func isDown(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Retryable && !e.Filtered && e.Status != http.StatusTooManyRequests
}

// enter returns an *Error if the call is not admitted. Its RetryAfter is the time until the next probe.
func (b *Breakers) enter(endpoint string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.down[endpoint]
	if c == nil || !c.open {
		return nil
	}
	now := b.opts.Now()
	if wait := c.next.Sub(now); wait > 0 {
		err := fmt.Errorf("%s failed %d times in a row and is left alone", endpoint, c.failures())
		return &Error{RetryAfter: wait, Err: err}
	}
	c.next = now.Add(b.opts.Probe)
	return nil
}

// Open returns the endpoints whose breakers are open, sorted.
func (b *Breakers) Open() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var open []string
	for endpoint, c := range b.down {
		if c.open {
			open = append(open, endpoint)
		}
	}
	slices.Sort(open)
	return open
}

// fail counts a failed call. begun says that the call had begun to answer.
func (b *Breakers) fail(endpoint string, begun bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.down[endpoint]
	if c == nil {
		c = &circuit{}
		keep(b.down, endpoint, c)
	}
	past := b.past[endpoint]
	if past == nil {
		past = &record{}
	}
	var due bool
	if begun {
		c.cut++ // each open stream may still reset the count
		due = c.cut >= max(past.complete.row(b.opts.Failures), b.live[endpoint])
	} else {
		c.refused++
		due = c.refused >= past.begin.row(b.opts.Failures)
	}
	if !c.open && due {
		c.open, c.next = true, b.opts.Now().Add(b.opts.Probe)
	}
}

// answer counts a stream that has begun to answer; end must be called when it ends. It resets the count
// of calls that failed before answering, and closes an open breaker.
func (b *Breakers) answer(endpoint string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.live[endpoint]++
	b.began(endpoint)
}

func (b *Breakers) end(endpoint string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.live[endpoint]--; b.live[endpoint] == 0 {
		delete(b.live, endpoint)
	}
}

func (b *Breakers) complete(endpoint string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.began(endpoint)
	if past := b.remember(endpoint); past != nil {
		cut := 0
		if c := b.down[endpoint]; c != nil {
			cut = c.cut
		}
		past.complete.end(cut)
	}
	delete(b.down, endpoint)
}

// began records that a call has begun to answer. The caller must hold b.mu.
func (b *Breakers) began(endpoint string) {
	past := b.remember(endpoint)
	if past == nil {
		return
	}
	c := b.down[endpoint]
	if c == nil {
		past.begin.end(0)
		return
	}
	past.begin.end(c.refused)
	if c.refused = 0; c.open || c.cut == 0 {
		delete(b.down, endpoint)
	}
}

// remember returns the record of an endpoint, or nil if it needs none. The caller must hold b.mu.
func (b *Breakers) remember(endpoint string) *record {
	past := b.past[endpoint]
	switch {
	case past == nil && b.down[endpoint] != nil:
		past = &record{}
		keep(b.past, endpoint, past)
	case past != nil && b.down[endpoint] == nil && past.begin.rare() && past.complete.rare():
		delete(b.past, endpoint)
		return nil
	}
	return past
}

// keep adds an endpoint, whose name may contain input of clients. If there are too many, it drops all
// others, which costs only a few calls.
func keep[T any](m map[string]T, endpoint string, v T) {
	if len(m) >= maxCircuits {
		clear(m)
	}
	m[endpoint] = v
}
