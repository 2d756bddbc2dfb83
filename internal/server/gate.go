package server

import (
	"container/list"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"parley/internal/access"
)

// gate is a listener that never makes a client wait because others hold connections open. It learns from
// net/http's ConnState which connections handle a request, and which wait for one.
//
// When all places are taken, a new connection replaces a waiting one: the connection that has waited
// longest, of the address with the most waiting connections. A client that hoards connections thus loses
// its own. Connections that handle a request are never closed for others. When all places handle
// requests, a new connection is accepted over the limit: it gets one response, a probe the usual one and
// other requests a 503. The same applies to requests of an address whose requests take three quarters of
// the places, so that others keep a quarter. A reverse proxy, behind which all clients have one address,
// thus has three quarters of the places.
type gate struct {
	net.Listener
	places int          // maximum number of connections, without those over the limit
	share  int          // places that requests of one address may take
	log    *slog.Logger // gets a warning now and then while places are scarce

	origins origins
	closing atomic.Pointer[lastCall] // set when the server stops

	mu        sync.Mutex
	conns     map[net.Conn]*place
	addresses map[string]*address
	over      list.List     // of *place over the limit, oldest first
	stopping  bool          // hangUp was called
	hungUp    bool          // no request has been running since; new connections are closed at once
	emptied   chan struct{} // closed when no connection is left; nil before wait
	warned    time.Time
}

// place is a connection.
type place struct {
	conn    net.Conn
	from    *address
	extra   bool          // accepted over the limit
	silent  bool          // it has not sent a whole request header yet
	waiting *list.Element // of from.waiting; nil during a request
	element *list.Element // of gate.over; nil within the limit
}

// address is the source of connections.
type address struct {
	key     string
	total   int       // places, during a request or waiting; without those over the limit
	active  int       // the places during a request
	waiting list.List // of *place, longest waiting first
}

// spare is the maximum number of connections over the limit; if there are more, the oldest is closed.
const spare = 64

// warnInterval is the minimum time between two warnings about scarce places.
const warnInterval = time.Minute

func newGate(ln net.Listener, places int, log *slog.Logger) *gate {
	return &gate{Listener: ln, places: places, share: max(1, places/4*3), log: log, origins: newOrigins(),
		conns: map[net.Conn]*place{}, addresses: map[string]*address{}}
}

// lastCall is the time between the decision to stop and the closing of the listener.
type lastCall struct {
	listener interface{ SetDeadline(t time.Time) error } // nil if Accept cannot have a deadline
	until    time.Time
	quiet    int           // consecutive waits in which no connection arrived
	ended    chan struct{} // closed when no more connections are accepted
}

// The listener is closed when no connection has arrived during quietWaits waits of quietTime, and after lastCallTime at the
// latest. A single wait proves nothing: on a busy machine its deadline may pass before Accept has looked.
const (
	quietTime    = 5 * time.Millisecond
	quietWaits   = 3
	lastCallTime = time.Second
)

// stop ends Accept, but first lets it take the connections that the system has already established. Closing the listener would
// reset them: their clients have connected and perhaps sent a request, so a proxy cannot know that it may ask another server.
func (g *gate) stop() {
	last := &lastCall{until: time.Now().Add(lastCallTime), ended: make(chan struct{})}
	last.listener, _ = g.Listener.(interface{ SetDeadline(t time.Time) error })
	g.closing.Store(last)
	if last.listener == nil || last.listener.SetDeadline(time.Now()) != nil {
		_ = g.Close() // Accept reports why it fails
		return
	}
	// The deadline has woken Accept.
	select {
	case <-last.ended:
	case <-time.After(2 * lastCallTime): // in case net/http does not call Accept any more
	}
}

// more reports whether Accept should wait once more, and sets the deadline for that. Only Accept calls it, and not again after it
// has returned false.
func (l *lastCall) more() bool {
	if l.listener != nil && l.quiet < quietWaits && time.Now().Before(l.until) && l.listener.SetDeadline(time.Now().Add(quietTime)) == nil {
		return true
	}
	close(l.ended)
	return false
}

// Accept returns the next connection without waiting for a free place. After stop, it returns the connections that have
// already arrived, and then http.ErrServerClosed.
func (g *gate) Accept() (net.Conn, error) {
	for {
		last := g.closing.Load()
		if last != nil && !last.more() {
			return nil, http.ErrServerClosed // net/http closes the listener
		}
		conn, err := g.Listener.Accept()
		if err == nil {
			if last != nil {
				last.quiet = 0
			}
			conn = &wholeConn{Conn: conn}
			g.enter(conn)
			return conn, nil
		}
		if g.closing.Load() != nil {
			if last != nil {
				last.quiet++
			}
			continue
		}
		// The system has no free file descriptor. net/http would wait up to a second before its next
		// attempt.
		if !errors.Is(err, syscall.EMFILE) && !errors.Is(err, syscall.ENFILE) || !g.makeRoom() {
			return nil, err
		}
	}
}

// enter registers a new connection, over the limit if no place is free.
func (g *gate) enter(conn net.Conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	full := len(g.conns)-g.over.Len() >= g.places && !g.evict()
	key := keyOf(conn.RemoteAddr())
	from := g.addresses[key]
	if from == nil {
		from = &address{key: key}
	}
	p := &place{conn: conn, from: from, silent: true}
	if full {
		g.addExtra(p)
		return
	}
	g.conns[conn] = p
	g.addresses[key] = from
	from.total++
	p.waiting = from.waiting.PushBack(p)
}

// addExtra accepts a connection over the limit. The caller must hold g.mu.
func (g *gate) addExtra(p *place) {
	g.conns[p.conn] = p
	p.extra, p.element = true, g.over.PushBack(p)
	if g.over.Len() > spare {
		g.drop(g.over.Front().Value.(*place))
	}
}

// makeRoom closes a waiting connection, and reports whether there was one.
func (g *gate) makeRoom() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.evict()
}

// evict closes the connection that has waited longest, of the address with the most waiting connections.
// The caller must hold g.mu.
func (g *gate) evict() bool {
	if now := time.Now(); now.Sub(g.warned) > warnInterval {
		g.warned = now
		g.log.Warn("connections are scarce; idle ones are closed", "open", len(g.conns), "limit", g.places)
	}
	var most *address
	for _, a := range g.addresses {
		if a.waiting.Len() > 0 && (most == nil || a.waiting.Len() > most.waiting.Len()) {
			most = a
		}
	}
	if most == nil {
		return false
	}
	g.drop(most.waiting.Front().Value.(*place))
	return true
}

// drop closes a connection and frees its place. The caller must hold g.mu.
func (g *gate) drop(p *place) {
	g.leave(p)
	_ = p.conn.Close() // net/http notices it when reading
}

// leave frees the place of a connection, once. The caller must hold g.mu.
func (g *gate) leave(p *place) {
	if g.conns[p.conn] != p {
		return
	}
	delete(g.conns, p.conn)
	g.checkEmptied()
	switch {
	case p.extra:
		g.over.Remove(p.element)
		return
	case p.waiting != nil:
		p.from.waiting.Remove(p.waiting)
	default:
		p.from.active--
	}
	if p.from.total--; p.from.total == 0 {
		delete(g.addresses, p.from.key)
	}
}

// track is the server's ConnState. StateActive means that a whole request header has been read.
func (g *gate) track(conn net.Conn, state http.ConnState) {
	g.mu.Lock()
	defer g.mu.Unlock()
	p := g.conns[conn]
	if p == nil {
		return // it was dropped
	}
	switch state {
	case http.StateNew:
		if g.hungUp {
			g.drop(p)
		}
	case http.StateActive:
		p.silent = false
		if p.waiting != nil {
			p.from.waiting.Remove(p.waiting)
			p.waiting = nil
			p.from.active++
		}
	case http.StateIdle:
		if !p.extra && p.waiting == nil {
			p.from.active--
			p.waiting = p.from.waiting.PushBack(p)
		}
	case http.StateHijacked, http.StateClosed:
		g.leave(p)
	}
	if g.stopping {
		g.hangUpSilent()
	}
}

// hangUp closes connections that have not sent a whole request header, and all later connections, as soon as no
// request is running. Until then slow clients may still send requests, because refusing those would gain nothing.
func (g *gate) hangUp() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stopping = true
	g.hangUpSilent()
}

// hangUpSilent closes the connections that hangUp describes, unless a request is running. The caller must hold g.mu.
func (g *gate) hangUpSilent() {
	for _, p := range g.conns {
		if !p.silent && p.waiting == nil {
			return
		}
	}
	g.hungUp = true
	for _, p := range g.conns {
		if p.silent {
			g.drop(p)
		}
	}
}

// wait waits until no connection is left, or returns ctx's error.
func (g *gate) wait(ctx context.Context) error {
	g.mu.Lock()
	emptied := make(chan struct{})
	g.emptied = emptied
	g.checkEmptied()
	g.mu.Unlock()
	select {
	case <-emptied:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// checkEmptied wakes wait if no connection is left. The caller must hold g.mu.
func (g *gate) checkEmptied() {
	if g.emptied != nil && len(g.conns) == 0 {
		close(g.emptied)
		g.emptied = nil
	}
}

// placeKey is the context key of a connection's *place.
type placeKey struct{}

// context is the server's ConnContext.
func (g *gate) context(ctx context.Context, conn net.Conn) context.Context {
	ctx = access.WithOrigin(ctx, g.origins.of(conn.RemoteAddr()))
	g.mu.Lock()
	defer g.mu.Unlock()
	whole, _ := conn.(*wholeConn)
	return context.WithValue(ctx, placeKey{}, admission{g, g.conns[conn], whole})
}

type admission struct {
	*gate
	*place // nil if the connection was dropped already
	whole  *wholeConn
}

// crowded reports whether places are so scarce that only probes are answered. The connection then has no place,
// and serves only this request.
func crowded(ctx context.Context) bool {
	a, ok := ctx.Value(placeKey{}).(admission)
	if !ok || a.place == nil {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.extra && a.from.active > a.share && a.conns[a.conn] == a.place {
		a.leave(a.place)
		a.addExtra(a.place)
	}
	return a.extra
}

// keyOf returns the key that identifies a client: its address, or for IPv6 the network in which a client
// can choose its addresses.
func keyOf(remote net.Addr) string {
	tcp, ok := remote.(*net.TCPAddr)
	if !ok {
		return remote.String()
	}
	addr := tcp.AddrPort().Addr().Unmap().WithZone("")
	if addr.Is6() {
		const network = 64 // bits
		return netip.PrefixFrom(addr, network).Masked().String()
	}
	return addr.String()
}
