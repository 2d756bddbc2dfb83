package llm

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"
)

// BreakerOptions tunes Breakers. Zero fields mean the default.
type BreakerOptions struct {
	Failures int              // in a row that open the breaker of an endpoint that otherwise answers, or never did; 5
	Probe    time.Duration    // between two calls of an endpoint whose breaker is open; 10 s
	Now      func() time.Time // nil is time.Now
}

// Breakers hold back calls to endpoints that are down. A breaker opens after a row of failures that cannot be
// chance: five where failures are rare, more at an endpoint that often fails and answers in between, because
// the calls that it can answer are worth making. From then on one call at a time goes through as a probe,
// and the first one that brings a part of an answer closes the breaker. Refusals do not count as failures:
// neither rate limits, which say when they end, nor invalid requests. The methods may be called concurrently.
type Breakers struct {
	opts BreakerOptions

	mu   sync.Mutex
	down map[string]*circuit // by endpoint; those that failed last
	past map[string]*record  // by endpoint; those that have failed lately and answered since
	live map[string]int      // by endpoint: streams that have brought something and have not ended
}

// circuit counts the two rows of failures of an endpoint. The first word of an answer ends the row of
// calls that failed before it; only a complete answer ends that of streams that were cut off, since an
// endpoint that cuts every stream off is down too.
type circuit struct {
	refused, cut int
	open         bool
	next         time.Time // when the next probe may be, once open
}

func (c *circuit) failures() int { return max(c.refused, c.cut) }

// record is how often calls of an endpoint failed before the rows that its circuit counts.
type record struct{ begin, complete share }

// maxCircuits bounds the memory for endpoints, whose names may hold what clients sent.
const maxCircuits = 1000

// NewBreakers returns breakers that are all closed.
func NewBreakers(opts BreakerOptions) *Breakers {
	if opts.Failures == 0 {
		opts.Failures = 5
	}
	if opts.Probe == 0 {
		opts.Probe = 10 * time.Second
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	return &Breakers{opts: opts, down: map[string]*circuit{}, past: map[string]*record{}, live: map[string]int{}}
}

// enter returns an *Error that is not retryable when the breaker keeps a call from being made.
func (g *Guards) enter() error {
	if g.Breakers == nil {
		return nil
	}
	return g.Breakers.enter(g.Endpoint)
}

// failed counts a call that failed, before or after it had begun to answer.
func (g *Guards) failed(err error, begun bool) {
	if g.Breakers != nil && isDown(err) {
		g.Breakers.fail(g.Endpoint, begun)
	}
}

// answered counts a stream that has begun to answer. The caller calls ended when it has ended.
func (g *Guards) answered() (ended func()) {
	if g.Breakers == nil {
		return func() {}
	}
	g.Breakers.answer(g.Endpoint)
	return func() { g.Breakers.end(g.Endpoint) }
}

// completed counts a call that was answered to its end.
func (g *Guards) completed() {
	if g.Breakers != nil {
		g.Breakers.complete(g.Endpoint)
	}
}

func isDown(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Retryable && !e.Filtered && e.Status != http.StatusTooManyRequests
}

// enter returns an *Error when a call may not be made, which says in what time the next probe may.
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

// fail counts a call that failed, before or after it had begun to answer.
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
		c.cut++ // each stream that is being read may yet end the row
		due = c.cut >= max(past.complete.row(b.opts.Failures), b.live[endpoint])
	} else {
		c.refused++
		due = c.refused >= past.begin.row(b.opts.Failures)
	}
	if !c.open && due {
		c.open, c.next = true, b.opts.Now().Add(b.opts.Probe)
	}
}

// answer ends the row of calls that failed before their first word, closes an open breaker, and counts
// a stream, which calls end when it ends.
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

// began notes that a call has begun to answer. The caller holds b.mu.
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

// remember returns the record of an endpoint, nil when it has none and needs none. The caller holds
// b.mu.
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

// keep enters an endpoint, whose name may be what clients sent. To forget the others costs a few calls.
func keep[T any](m map[string]T, endpoint string, v T) {
	if len(m) >= maxCircuits {
		clear(m)
	}
	m[endpoint] = v
}
