package ragchat

import (
	"context"
	"slices"
	"sync"
	"time"
)

// The bounds of what is remembered of processing steps. There are far fewer turns in progress at
// one time than runs kept, so that only ended runs are ever pushed out.
const (
	maxRuns       = 1024
	maxRunEvents  = 200         // of one run, but for its last two
	maxRunBytes   = 256 << 10   // of one run, but for its last two
	maxKeptBytes  = 16 << 20    // of ended runs
	maxWatchers   = 2048        // subscriptions at one time
	keepEnded     = time.Minute // how long an ended run can be replayed
	maxQueryID    = 256         // bytes
	maxWaiting    = 10 * time.Minute
	keepAlive     = 12 * time.Second
	replayedAfter = 2 * time.Second // see hub.watch
)

// topic is what subscribers and turns meet by: a query id is the client's own, so that two callers
// may choose the same.
type topic struct{ owner, queryID string }

// hub passes the steps of running turns on to whoever watches them. A turn never waits for a
// watcher: it appends to a bounded log, from which each watcher reads at its own pace. The methods
// may be called concurrently.
type hub struct {
	now func() time.Time

	mu       sync.Mutex
	runs     map[topic]*stepRun // the latest of each topic
	ended    []*stepRun         // in the order in which they ended
	kept     int                // bytes of ended
	waiting  map[topic]map[waiter]struct{}
	watchers int
	drained  chan struct{} // closed when draining starts
}

// waiter is a watcher that no run has reached yet: it is given the first that begins. It has room
// for one.
type waiter chan *stepRun

func newHub(now func() time.Time) *hub {
	return &hub{now: now, runs: map[topic]*stepRun{}, waiting: map[topic]map[waiter]struct{}{}, drained: make(chan struct{})}
}

// stepRun is the log of one turn's steps. A nil run takes everything and keeps nothing.
type stepRun struct {
	hub     *hub
	topic   topic
	events  [][]byte // JSON texts
	size    int
	done    bool
	doneAt  time.Time
	changed chan struct{} // closed and replaced when something comes; nil while nobody watches
}

// begin starts the run of a topic. From now on, its watchers see this run and no older one.
func (h *hub) begin(t topic) *stepRun {
	if t.queryID == "" {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sweep()
	r := &stepRun{hub: h, topic: t}
	h.runs[t] = r
	for w := range h.waiting[t] {
		w <- r
	}
	delete(h.waiting, t)
	return r
}

// sweep forgets the runs that ended too long ago, and the oldest when there are too many.
func (h *hub) sweep() {
	gone := 0
	for gone < len(h.ended) && (len(h.runs) >= maxRuns || h.kept > maxKeptBytes ||
		h.now().Sub(h.ended[gone].doneAt) >= keepEnded) {
		r := h.ended[gone]
		h.kept -= r.size
		if h.runs[r.topic] == r {
			delete(h.runs, r.topic)
		}
		gone++
	}
	h.ended = slices.Delete(h.ended, 0, gone)
}

// add appends a step. What is too much is dropped.
func (r *stepRun) add(event []byte) {
	if r == nil {
		return
	}
	r.hub.mu.Lock()
	defer r.hub.mu.Unlock()
	if r.done || len(r.events) >= maxRunEvents || r.size+len(event) > maxRunBytes {
		return
	}
	r.append(event)
}

// end appends the last steps and ends the run; later calls do nothing.
func (r *stepRun) end(events ...[]byte) {
	if r == nil {
		return
	}
	h := r.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	if r.done {
		return
	}
	r.done, r.doneAt = true, h.now()
	r.append(events...)
	h.ended = append(h.ended, r)
	h.kept += r.size
}

func (r *stepRun) append(events ...[]byte) {
	for _, e := range events {
		r.events = append(r.events, e)
		r.size += len(e)
	}
	if r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
}

// since returns the events from number n on, whether the run has ended, and if there is neither
// an event nor an end, a channel that is closed when there is.
func (r *stepRun) since(n int) (events [][]byte, done bool, changed <-chan struct{}) {
	r.hub.mu.Lock()
	defer r.hub.mu.Unlock()
	if n < len(r.events) || r.done {
		return r.events[n:], r.done, nil
	}
	if r.changed == nil {
		r.changed = make(chan struct{})
	}
	return nil, false, r.changed
}

// admit counts a watcher in; false means that there are too many, or that the server stops.
func (h *hub) admit() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.watchers >= maxWatchers || h.isDraining() {
		return false
	}
	h.watchers++
	return true
}

func (h *hub) leave() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.watchers--
}

// watch sends the steps of one run of a topic: of the one in progress, or else of the next. When
// neither comes within replayedAfter and a run has ended not long ago, that one is replayed: who
// subscribes before it posts, as clients do, and reuses a query id, so never sees an older run.
// It calls idle after each keepAlive without a step, and returns when the run has ended, when
// nothing began for too long or the server stops (all nil), or with the first error of send, idle
// or ctx.
func (h *hub) watch(ctx context.Context, t topic, send func([]byte) error, idle func() error) error {
	r, err := h.find(ctx, t, idle)
	if r == nil || err != nil {
		return err
	}
	quiet := time.NewTimer(keepAlive)
	defer quiet.Stop()
	for sent := 0; ; {
		events, done, changed := r.since(sent)
		for _, e := range events {
			if err := send(e); err != nil {
				return err
			}
		}
		if sent += len(events); done {
			return nil
		}
		if changed == nil {
			continue
		}
		quiet.Reset(keepAlive)
		if err := await(ctx, changed, quiet, idle); err != nil {
			return err
		}
	}
}

// await waits for the channel, and calls idle each time that it is quiet for too long.
func await(ctx context.Context, changed <-chan struct{}, quiet *time.Timer, idle func() error) error {
	for {
		select {
		case <-changed:
			return nil
		case <-quiet.C:
			if err := idle(); err != nil {
				return err
			}
			quiet.Reset(keepAlive)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// find waits for the run to watch. It returns nil when there is none.
func (h *hub) find(ctx context.Context, t topic, idle func() error) (*stepRun, error) {
	replay := time.NewTimer(replayedAfter)
	defer replay.Stop()
	quiet := time.NewTimer(keepAlive)
	defer quiet.Stop()
	giveUp := time.NewTimer(maxWaiting)
	defer giveUp.Stop()
	running, w := h.expect(t)
	if running != nil {
		return running, nil
	}
	defer h.expectNoMore(t, w)
	for {
		select {
		case r := <-w:
			return r, nil
		case <-replay.C:
			if r := h.latest(t); r != nil {
				return r, nil
			}
		case <-quiet.C:
			if err := idle(); err != nil {
				return nil, err
			}
			quiet.Reset(keepAlive)
		case <-h.drained:
			return nil, nil
		case <-giveUp.C:
			return nil, nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// expect returns the latest run of a topic if it is in progress, else what the next one is given to.
func (h *hub) expect(t topic) (running *stepRun, w waiter) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sweep()
	if r := h.runs[t]; r != nil && !r.done {
		return r, nil
	}
	w = make(waiter, 1)
	if h.waiting[t] == nil {
		h.waiting[t] = map[waiter]struct{}{}
	}
	h.waiting[t][w] = struct{}{}
	return nil, w
}

func (h *hub) expectNoMore(t topic, w waiter) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if delete(h.waiting[t], w); len(h.waiting[t]) == 0 {
		delete(h.waiting, t)
	}
}

func (h *hub) latest(t topic) *stepRun {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.runs[t]
}

// drain sends those away who wait for a run to begin, and lets nobody else in. Who watches a run
// stays until it ends.
func (h *hub) drain() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.isDraining() {
		close(h.drained)
	}
}

func (h *hub) isDraining() bool {
	select {
	case <-h.drained:
		return true
	default:
		return false
	}
}
