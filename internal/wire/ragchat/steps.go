package ragchat

import (
	"context"
	"errors"
	"sync"
	"time"

	"parley/internal/turn"
)

// Limits of processing steps. There are far fewer concurrent turns than maxRuns, so only ended runs are
// dropped.
const (
	maxRuns       = 1024
	maxWatchers   = 2048        // concurrent subscriptions
	keepEnded     = time.Minute // how long the query id of an ended run still leads to its turn
	maxQueryID    = 256         // bytes
	maxWaiting    = 10 * time.Minute
	keepAlive     = 12 * time.Second
	replayedAfter = 2 * time.Second // see hub.watch
)

// topic is the key by which watchers find turns. It includes the owner, because query ids come from
// clients and two callers may choose the same.
type topic struct{ owner, queryID string }

// hub leads watchers of processing steps to the log of the turn that they ask for. It stores no steps:
// each watcher reads them from the log at its own pace, so a turn never waits for a watcher. It is safe
// for concurrent use.
type hub struct {
	now func() time.Time
	// log returns the log of a turn that has ended or runs on another server.
	log func(ctx context.Context, owner, turnID string) (*turn.Log, error)
	// board has the turns of other servers; nil if there are none.
	board Board

	mu       sync.Mutex
	runs     map[topic]*stepRun // the latest of each topic
	ended    []*stepRun         // in the order in which they ended
	waiting  map[topic]map[waiter]struct{}
	watchers int
	drained  chan struct{} // closed when draining starts
}

// waiter is a watcher without a run. It receives the first run that begins. It has capacity 1.
type waiter chan *stepRun

func newHub(now func() time.Time, log func(ctx context.Context, owner, turnID string) (*turn.Log, error), board Board) *hub {
	return &hub{now: now, log: log, board: board, runs: map[topic]*stepRun{}, waiting: map[topic]map[waiter]struct{}{}, drained: make(chan struct{})}
}

// stepRun is one turn, or one refused request, of a topic. A nil run belongs to a request without a
// query id.
type stepRun struct {
	hub   *hub
	topic topic
	view  view          // the settings that the steps depend on besides the log
	ended chan struct{} // closed when the run has ended, after which at, fail and ok may be read
	at    time.Time
	fail  string // sentence of the error; "" for a completed turn
	ok    bool

	log    *turn.Log // nil after end; guarded by hub.mu
	turnID string
}

// begin starts a run of a topic, whose turn writes to log. From now on, watchers of the topic see this run and no
// older one. It returns nil if there is no query id.
func (h *hub) begin(t topic, v view, turnID string, log *turn.Log) *stepRun {
	if t.queryID == "" {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sweep()
	r := &stepRun{hub: h, topic: t, view: v, turnID: turnID, log: log, ended: make(chan struct{})}
	h.runs[t] = r
	for w := range h.waiting[t] {
		w <- r
	}
	delete(h.waiting, t)
	return r
}

// sweep drops runs that ended too long ago, and the oldest ones if there are too many.
func (h *hub) sweep() {
	gone := 0
	for gone < len(h.ended) && (len(h.runs) >= maxRuns || h.now().Sub(h.ended[gone].at) >= keepEnded) {
		if r := h.ended[gone]; h.runs[r.topic] == r {
			delete(h.runs, r.topic)
		}
		gone++
	}
	clear(h.ended[:gone])
	h.ended = h.ended[gone:]
}

// end ends the run as completed, or with the sentence of its error. Only the first call has an effect. r may be nil.
func (r *stepRun) end(ok bool, fail string) {
	if r == nil {
		return
	}
	h := r.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	if r.log == nil {
		return
	}
	r.log.Refuse(errEnded)
	r.log, r.ok, r.fail, r.at = nil, ok, fail, h.now()
	h.ended = append(h.ended, r)
	close(r.ended)
}

// errEnded ends the log of a request that was refused before its turn.
var errEnded = errors.New("the request was refused")

// read returns the log of the run, or nil if there is none. It reads the log of a run that has ended from the store.
func (r *stepRun) read(ctx context.Context) *turn.Log {
	r.hub.mu.Lock()
	log := r.log
	r.hub.mu.Unlock()
	if log != nil || r.turnID == "" {
		return log
	}
	// If the log cannot be read, there are no steps, but the request was answered.
	log, _ = r.hub.log(ctx, r.topic.owner, r.turnID)
	return log
}

// admit counts a new watcher, which must call leave at its end, or returns false if there are too many or the server is
// stopping.
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

// watch sends the steps of one run of a topic: the current one, or else the next. If none begins within
// replayedAfter, it replays a run that ended recently. Clients subscribe before they post, so even one that reuses a
// query id does not see an older run.
//
// It calls idle about once per keepAlive without a step. It returns nil when the run has ended, when none has begun
// for maxWaiting, or when the server is stopping; otherwise it returns the first error of send, idle or ctx.
func (h *hub) watch(ctx context.Context, t topic, send func([]byte) error, idle func() error) error {
	r, err := h.find(ctx, t, idle)
	if r == nil || err != nil {
		return err
	}
	return r.follow(ctx, send, idle)
}

// follow sends the steps of a run as they arrive, and then its last steps.
func (r *stepRun) follow(ctx context.Context, send func([]byte) error, idle func() error) error {
	p := progress{view: &r.view, id: r.topic.queryID}
	if log := r.read(ctx); log != nil {
		if err := p.follow(ctx, log, send, idle); err != nil {
			return err
		}
	}
	select {
	case <-r.ended:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return sendAll(p.last(r), send)
}

func sendAll(steps [][]byte, send func([]byte) error) error {
	for _, step := range steps {
		if err := send(step); err != nil {
			return err
		}
	}
	return nil
}

// follow sends the existing and new steps of a log until the log has ended. Text is not a step, so events may arrive
// while the client hears nothing: follow measures idleness itself, at each event and every keepAlive/4.
func (p *progress) follow(ctx context.Context, log *turn.Log, send func([]byte) error, idle func() error) error {
	sent := time.Now()
	for n, err := range log.Follow(ctx, 0, keepAlive/4) {
		if err != nil {
			return context.Cause(ctx) // nil if the error is the turn's
		}
		steps := p.observe(n)
		if len(steps) == 0 && time.Since(sent) < keepAlive {
			continue
		}
		if sent = time.Now(); len(steps) == 0 {
			err = idle()
		} else {
			err = sendAll(steps, send)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// find waits for the run to watch. It returns nil if none begins.
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
	began := h.now()
	var look <-chan time.Time
	if h.board != nil {
		ticker := time.NewTicker(lookInterval)
		defer ticker.Stop()
		look = ticker.C
	}
	for {
		select {
		case <-look:
			// If the board cannot be read, the next tick tries again.
			if r, _ := h.elsewhere(ctx, t, h.now().Sub(began) >= replayedAfter); r != nil {
				return r, nil
			}
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

// expect returns the latest run of a topic if it is in progress, or else a waiter for the next one.
func (h *hub) expect(t topic) (running *stepRun, w waiter) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sweep()
	if r := h.runs[t]; r != nil && r.log != nil {
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

// drain ends the wait of watchers without a run, and makes admit refuse new ones. Watchers of a run continue until it
// ends.
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
