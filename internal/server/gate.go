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
	"syscall"
	"time"

	"parley/internal/access"
)

// gate is a listener that never keeps a client waiting because others hold connections open. It knows
// from net/http's ConnState which connections are at a request, and which wait for one.
//
// When all places are taken, a new connection takes that of one that waits: of the address with the
// most waiting connections it is the one that has waited longest. So a client that hoards
// connections loses its own. Connections at a request are never closed for others. When all places are at
// requests, a new connection is taken over the limit: it is answered once, a probe as usual and
// anything else with 503. The same holds for requests of an address that has three quarters of the
// places at requests, so that others keep a quarter. A reverse proxy, behind which all clients have
// one address, thus has three quarters of the places.
type gate struct {
	net.Listener
	places int          // at once, without those over the limit
	share  int          // of the places, that requests of one address may take
	log    *slog.Logger // told now and then that places are scarce

	origins origins

	mu        sync.Mutex
	conns     map[net.Conn]*place
	addresses map[string]*address
	over      list.List // of *place over the limit, the oldest first
	hungUp    bool      // hangUp was called; connections that come later are closed at once
	warned    time.Time
}

// place is a connection.
type place struct {
	conn    net.Conn
	from    *address
	extra   bool          // over the limit
	silent  bool          // it has not sent a whole request header yet
	waiting *list.Element // of from.waiting; nil at a request
	element *list.Element // of gate.over; nil within the limit
}

// address is where connections come from.
type address struct {
	key     string
	total   int       // places, at a request or waiting; without those over the limit
	active  int       // of them, at a request
	waiting list.List // of *place, the one that has waited longest first
}

// spare is how many connections are taken over the limit; of more the oldest is closed.
const spare = 64

// warnInterval is how often scarce places are logged at most.
const warnInterval = time.Minute

func newGate(ln net.Listener, places int, log *slog.Logger) *gate {
	return &gate{Listener: ln, places: places, share: max(1, places/4*3), log: log, origins: newOrigins(),
		conns: map[net.Conn]*place{}, addresses: map[string]*address{}}
}

// Accept returns the next connection at once, whatever others hold.
func (g *gate) Accept() (net.Conn, error) {
	for {
		conn, err := g.Listener.Accept()
		if err == nil {
			conn = &wholeConn{Conn: conn}
			g.enter(conn)
			return conn, nil
		}
		// The system has no file for it. net/http would wait up to a second before it tries again.
		if !errors.Is(err, syscall.EMFILE) && !errors.Is(err, syscall.ENFILE) || !g.makeRoom() {
			return nil, err
		}
	}
}

// enter gives a new connection a place.
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

// addExtra takes a connection over the limit. The caller holds g.mu.
func (g *gate) addExtra(p *place) {
	g.conns[p.conn] = p
	p.extra, p.element = true, g.over.PushBack(p)
	if g.over.Len() > spare {
		g.drop(g.over.Front().Value.(*place))
	}
}

// makeRoom closes a connection that waits, and reports whether there was one.
func (g *gate) makeRoom() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.evict()
}

// evict closes the connection that has waited longest of the address with the most that wait. The
// caller holds g.mu.
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

// drop closes a connection and frees its place. The caller holds g.mu.
func (g *gate) drop(p *place) {
	g.leave(p)
	_ = p.conn.Close() // net/http, which reads from it, finds out
}

// leave frees the place of a connection, once. The caller holds g.mu.
func (g *gate) leave(p *place) {
	if g.conns[p.conn] != p {
		return
	}
	delete(g.conns, p.conn)
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

// track is http.Server.ConnState. StateActive comes when a whole request header has been read.
func (g *gate) track(conn net.Conn, state http.ConnState) {
	g.mu.Lock()
	defer g.mu.Unlock()
	p := g.conns[conn]
	if p == nil {
		return // dropped
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
}

// hangUp closes the connections that have not sent a whole request header, and those that come later.
func (g *gate) hangUp() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.hungUp = true
	for _, p := range g.conns {
		if p.silent {
			g.drop(p)
		}
	}
}

// placeKey is the key of a connection's *place in the contexts of its requests.
type placeKey struct{}

// context is http.Server.ConnContext.
func (g *gate) context(ctx context.Context, conn net.Conn) context.Context {
	ctx = access.WithOrigin(ctx, g.origins.of(conn.RemoteAddr()))
	g.mu.Lock()
	defer g.mu.Unlock()
	whole, _ := conn.(*wholeConn)
	return context.WithValue(ctx, placeKey{}, admission{g, g.conns[conn], whole})
}

type admission struct {
	*gate
	*place // nil for a connection that was dropped already
	whole  *wholeConn
}

// crowded reports whether a request may not be answered because places are scarce; probes are
// answered all the same. The connection has no place then, and is good for this request only.
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

// keyOf returns what tells one client from another: the address, or the network in which an IPv6 client
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
