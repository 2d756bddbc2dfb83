package turn

import (
	"context"
	"errors"
	"sync"
	"time"

	"parley/internal/chat"
	"parley/internal/ident"
	"parley/internal/interrupt"
)

// Peers connects servers that use the same store. Implementations pass the tests of package store.
type Peers interface {
	// Lock acquires the lock of that name, which no two servers hold at the same time. It waits until the lock is
	// free. The caller must call unlock.
	Lock(ctx context.Context, name string) (unlock func(), err error)

	// Want asks the server that runs a turn to publish its events and, with stop, to stop it. It reports whether
	// that server has published a part of the turn, even an empty one, within PeerPatience.
	Want(ctx context.Context, turnID string, stop bool) (running bool, err error)
	// Wanted returns the turns for which servers have called Want within PeerPatience.
	Wanted(ctx context.Context) ([]Wanted, error)
	// Publish stores a part of a turn's events. An empty part only says that the turn is still running.
	Publish(ctx context.Context, turnID string, p Part) error
	// Published returns, in order, the parts of a turn that end after a position, and the part that says that the
	// turn has ended.
	Published(ctx context.Context, turnID string, position int) ([]Part, error)
}

// Wanted is a turn that one server wants to follow while another runs it.
type Wanted struct {
	TurnID string
	Stop   bool
}

// Part is a part of the events of a running turn.
type Part struct {
	Position int // in the log; the part begins after it
	End      int // position of its last event
	Scope    Scope
	Events   []byte // see packer
	Ended    bool   // nothing follows
	Err      *chat.Error
}

// PeerPatience is the time after which a silent server is assumed to have stopped.
const PeerPatience = 6 * time.Second

// The intervals of relaying.
const (
	lookInterval    = 250 * time.Millisecond  // between two looks at what other servers want
	publishInterval = 100 * time.Millisecond  // between two parts, at least; also between two reads of a mirror
	aliveInterval   = 2 * time.Second         // between two signs of life
	answerPatience  = 1500 * time.Millisecond // until the first part; then no server is assumed to run the turn
	longestTurn     = 30 * time.Minute        // older turns no longer run
	maxMirrors      = 1000                    // turns of other servers that are looked for or followed at the same time
)

// errLost ends the log of a turn whose server died.
var errLost = &chat.Error{Kind: chat.Unavailable, Msg: "The server that wrote the answer has stopped. Please ask again."}

// relay passes the events of turns between servers.
type relay struct {
	peers Peers // nil: there are no others
	base  context.Context
	stop  context.CancelFunc

	mu        sync.Mutex
	mirrors   map[string]*mirror
	published map[string]bool
	work      sync.WaitGroup
}

// mirror is the log of a turn that another server runs.
type mirror struct {
	log   *Log
	found chan struct{} // closed when it is known whether another server runs the turn
	err   error         // why there is no such turn; set before found is closed
}

func newRelay(peers Peers) *relay {
	y := &relay{peers: peers, mirrors: map[string]*mirror{}, published: map[string]bool{}}
	y.base, y.stop = context.WithCancel(context.Background())
	return y
}

// Relay publishes the events of turns for the servers that want them, until ctx ends. Without Options.Peers
// it does nothing.
func (r *Runner) Relay(ctx context.Context) {
	y := r.relay
	defer y.work.Wait()
	defer y.stop()
	if y.peers == nil {
		return
	}
	for interrupt.Sleep(ctx, lookInterval) == nil {
		if r.live.empty() {
			continue
		}
		wanted, err := y.peers.Wanted(ctx)
		if err != nil {
			if ctx.Err() == nil {
				r.opts.Log.DebugContext(ctx, "look for turns that other servers want", "error", err)
			}
			continue
		}
		for _, w := range wanted {
			if l := r.live.find(w.TurnID); l != nil {
				if w.Stop {
					l.Stop()
				}
				r.publish(w.TurnID, l)
			}
		}
	}
}

// publish begins to publish a turn, unless that has already begun.
func (r *Runner) publish(id string, l *Log) {
	y := r.relay
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.published[id] {
		return
	}
	y.published[id] = true
	y.work.Go(func() {
		defer func() {
			y.mu.Lock()
			delete(y.published, id)
			y.mu.Unlock()
		}()
		y.publishAll(r, id, l)
	})
}

// publishAll publishes a turn until it has ended.
func (y *relay) publishAll(r *Runner, id string, l *Log) {
	sent := 0 // the position up to which events are published
	for {
		part, next, changed := l.part(sent)
		err := y.peers.Publish(y.base, id, part)
		if err == nil && part.Ended {
			return
		}
		if err == nil {
			sent = next
		} else {
			r.opts.Log.Debug("publish a turn", "turn_id", id, "error", err)
			changed = nil
		}
		if interrupt.Sleep(y.base, publishInterval) != nil {
			return
		}
		if changed != nil {
			if _, err := wait(y.base, changed, aliveInterval); err != nil {
				return
			}
		}
	}
}

// part returns the events after a position, and the position after these events. changed is closed when there
// are more; it is nil if there are more already, or if the log has ended.
func (l *Log) part(after int) (p Part, next int, changed <-chan struct{}) {
	p, next = Part{Position: after, Scope: l.scope}, after
	var events packer
	for len(events.lines) < maxPart {
		n, more, err := l.Behind(next)
		if err != nil || n.Event == nil && more == nil {
			p.Ended, p.Err = true, told(err)
		}
		if n.Event == nil {
			changed = more
			break
		}
		events.add(n.Seq, kept(n.Event), n.At)
		next = n.Seq
	}
	p.End = next
	var err error
	if p.Events, err = events.bytes(); err != nil {
		p.Ended, p.Err = true, told(err)
	}
	return p, next, changed
}

// maxPart is the approximate maximum size of a part in bytes, before compression.
const maxPart = 1 << 20

// elsewhere returns the log of a turn that another server runs, or ErrNotFound.
func (r *Runner) elsewhere(ctx context.Context, id string) (*Log, error) {
	y := r.relay
	age := r.opts.Now().Sub(Began(id))
	if y.peers == nil || age > longestTurn || age < -time.Minute || !ident.Valid(id) {
		return nil, ErrNotFound
	}
	y.mu.Lock()
	m := y.mirrors[id]
	if m == nil && len(y.mirrors) >= maxMirrors {
		y.mu.Unlock()
		return nil, errBusy
	}
	if m == nil && y.base.Err() == nil {
		m = &mirror{log: newLog(id, Scope{}), found: make(chan struct{})}
		y.mirrors[id] = m
		y.work.Go(func() {
			r.mirror(y.base, id, m)
			y.mu.Lock()
			delete(y.mirrors, id)
			y.mu.Unlock()
		})
	}
	y.mu.Unlock()
	if m == nil {
		return nil, ErrNotFound
	}
	select {
	case <-m.found:
		return m.log, m.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// mirror follows a turn of another server until it has ended.
func (r *Runner) mirror(ctx context.Context, id string, m *mirror) {
	y := r.relay
	l := m.log
	found := sync.OnceFunc(func() { close(m.found) })
	defer found()
	defer l.End(errLost) // no effect if the turn has ended otherwise
	began, heard, asked := time.Now(), time.Now(), time.Time{}
	known := false
	for {
		if time.Since(asked) >= aliveInterval {
			running, err := y.peers.Want(ctx, id, false)
			if asked = time.Now(); err == nil && running {
				heard = asked
			}
		}
		parts, err := y.peers.Published(ctx, id, l.position())
		for _, p := range parts {
			if !known {
				known = true
				l.lead(p.Scope, func(error) { r.stopElsewhere(id) })
			}
			heard = time.Now()
			if l.addPart(p) {
				return
			}
		}
		if known {
			found()
		}
		silent := known && time.Since(heard) > PeerPatience || !known && err == nil && time.Since(began) > answerPatience
		if silent || ctx.Err() != nil || time.Since(began) > longestTurn {
			if !known {
				m.err = ErrNotFound
			}
			r.lookAgain(ctx, id, m, known)
			return
		}
		if interrupt.Sleep(ctx, publishInterval) != nil {
			continue
		}
	}
}

// lookAgain completes a mirror from the store, because the turn may have been saved before its server became
// silent.
func (r *Runner) lookAgain(ctx context.Context, id string, m *mirror, known bool) {
	said, err := r.store.Said(ctx, id)
	if err != nil {
		if !errors.Is(err, ErrNotFound) && !known {
			m.err = err
		}
		return
	}
	if !known {
		m.log.lead(said.Scope, nil)
		m.err = nil
	}
	m.log.addPart(Part{Events: said.Events, Ended: true, Err: said.Err})
}

// stopElsewhere asks the server that runs a turn to stop it.
func (r *Runner) stopElsewhere(id string) {
	ctx, cancel := context.WithTimeout(r.relay.base, PeerPatience)
	defer cancel()
	if _, err := r.relay.peers.Want(ctx, id, true); err != nil {
		r.opts.Log.WarnContext(ctx, "stop a turn of another server", "turn_id", id, "error", err)
	}
}

// lead sets the owner of a turn, and the function that stops it.
func (l *Log) lead(scope Scope, stop func(error)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.scope, l.stop = scope, stop
}

func (l *Log) position() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.at
}

// addPart adds the events of a part that are not in the log yet, and reports whether the log has ended.
func (l *Log) addPart(p Part) bool {
	for n, err := range unpack(p.Events) {
		if err != nil {
			l.End(err)
			return true
		}
		if n.Seq <= l.position() {
			continue
		}
		l.add(rest(n.Event, n.Seq-l.position()), n.At)
	}
	if p.Ended {
		if p.Err != nil {
			l.End(p.Err)
		} else {
			l.End(nil)
		}
	}
	return p.Ended
}

// rest returns a delta with only its last length bytes, and any other event unchanged.
func rest(e chat.Event, length int) chat.Event {
	switch d := e.(type) {
	case chat.TextDelta:
		d.Text = d.Text[max(0, len(d.Text)-length):]
		return d
	case chat.ReasoningDelta:
		d.Text = d.Text[max(0, len(d.Text)-length):]
		return d
	}
	return e
}

// lockShared acquires the lock that the parts name, which no two servers hold at the same time. Without peers it
// does nothing.
func lockShared(ctx context.Context, peers Peers, parts ...string) (unlock func(), err error) {
	if peers == nil {
		return func() {}, nil
	}
	name := ""
	for _, p := range parts {
		name += "\x00" + p
	}
	return peers.Lock(ctx, name)
}
