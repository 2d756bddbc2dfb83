package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// dialFrom connects from a loopback address, or skips the test if the system has only one.
func dialFrom(t testing.TB, from, addr string) net.Conn {
	t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: patience}
	conn, err := d.DialContext(t.Context(), "tcp", addr)
	if errors.Is(err, syscall.EADDRNOTAVAIL) {
		t.Skipf("this system has no address %s", from)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return conn
}

// getFrom requests a path on a new connection. It returns the status and the time that the request took.
func getFrom(t testing.TB, from, addr, path string) (status int, took time.Duration) {
	t.Helper()
	start := time.Now()
	conn := dialFrom(t, from, addr)
	defer conn.Close()
	if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	res.Body.Close()
	return res.StatusCode, time.Since(start)
}

const (
	greedy = "127.0.0.2"
	other  = "127.0.0.1"
)

// hoards are the ways in which a client can hold a connection.
var hoards = map[string]string{
	"nothing":       "",
	"idle":          "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
	"half a header": "GET /healthz HTTP/1.1\r\nHost: loc",
	"half a body":   "POST /chat HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{",
	"a stream":      "POST /chat/stream HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + strconv.Itoa(len(question)) + "\r\n\r\n" + question,
}

// Row R22 of HARDENING.md: while one client holds all connections that it can, others and probes are
// answered within a second. PARLEY_TEST_CROWD=4096 tests with that many places.
func TestServe_AnswersOthersAndProbesWhateverOneClientHolds(t *testing.T) {
	places, within := 32, patience // a busy machine may take long, the point is that it ends
	if n, err := strconv.Atoi(os.Getenv("PARLEY_TEST_CROWD")); err == nil {
		places, within = n, time.Second
	}
	for name, hoard := range hoards {
		t.Run(name, func(t *testing.T) {
			runner := held()
			runner.started, runner.ended = make(chan struct{}, 2*places+spare), make(chan error, 2*places+spare)
			l := start(t, options{runner: runner, cfg: Config{MaxConnections: places, Drain: -1}})
			defer close(runner.resume)
			for range places + places/8 + spare {
				conn := dialFrom(t, greedy, l.addr)
				if _, err := io.WriteString(conn, hoard); err != nil && !isReset(err) {
					t.Fatal(err)
				}
				if name == "idle" {
					_, _ = conn.Read(make([]byte, 1)) // so that it is idle by now
				}
			}
			for _, c := range []struct {
				from, path string
			}{{other, "/healthz"}, {other, "/readyz"}, {other, "/config"}, {greedy, "/healthz"}, {greedy, "/readyz"}} {
				status, took := getFrom(t, c.from, l.addr, c.path)
				if status != http.StatusOK || took > within {
					t.Errorf("%s from %s: status %d after %v", c.path, c.from, status, took)
				}
			}
		})
	}
}

func TestServe_ClosesTheConnectionsOfTheGreediestThatWaitedLongest(t *testing.T) {
	const places = 16
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := newGate(ln, places, slog.New(slog.DiscardHandler))
	srv := &http.Server{
		Handler:   http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}),
		ConnState: g.track, ConnContext: g.context, ReadHeaderTimeout: patience,
	}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(g) }()
	t.Cleanup(func() {
		srv.Close()
		<-done
	})
	idle := func(from string) (net.Conn, *bufio.Reader) {
		conn := dialFrom(t, from, ln.Addr().String())
		r := bufio.NewReader(conn)
		ask(t, conn, r)
		// net/http calls ConnState after the client has its answer, so the next connection could come first.
		awaitIdle(t, g)
		return conn, r
	}
	old, oldReader := idle(other) // has waited longer than all of the greedy client's
	var conns []net.Conn
	var readers []*bufio.Reader
	for range places + 4 {
		conn, r := idle(greedy)
		conns, readers = append(conns, conn), append(readers, r)
	}
	for i, conn := range conns {
		if i < 5 {
			if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, io.EOF) && !isReset(err) {
				t.Errorf("connection %d of the greedy client is open: %v", i, err)
			}
			continue
		}
		ask(t, conn, readers[i])
	}
	ask(t, old, oldReader)
}

// awaitIdle waits until no connection has a request in progress.
func awaitIdle(t testing.TB, g *gate) {
	t.Helper()
	active := func() (n int) {
		g.mu.Lock()
		defer g.mu.Unlock()
		for _, a := range g.addresses {
			n += a.active
		}
		return n
	}
	for deadline := time.Now().Add(patience); active() > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("a connection is at a request for ever")
		}
	}
}

// ask makes a request on a connection that must still work.
func ask(t testing.TB, conn net.Conn, r *bufio.Reader) {
	t.Helper()
	if _, err := io.WriteString(conn, hoards["idle"]); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, res.Body); err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("status %d, %v", res.StatusCode, err)
	}
}

// Behind a reverse proxy all clients have one address, as here.
func TestServe_NeverClosesAStreamForAnotherConnection(t *testing.T) {
	const places = 8
	runner := held()
	l := start(t, options{runner: runner, cfg: Config{MaxConnections: places}})
	for range 4 { // idle ones make room for streams
		idle := dial(t, l.addr)
		defer idle.Close()
		ask(t, idle, bufio.NewReader(idle))
	}
	var tails []*bufio.Reader
	for range places / 4 * 3 {
		waitForPlace(t, l)
		res, lines := openStream(t, l, "/chat/stream")
		defer res.Body.Close()
		tails = append(tails, lines)
	}
	conn := dial(t, l.addr)
	defer conn.Close()
	if _, err := io.WriteString(conn, hoards["a stream"]); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") == "" ||
		!res.Close || string(body) != `{"error":"`+errCrowded.Text+"\"}\n" {
		t.Errorf("a stream over the share: status %d, %v, body %q, %v", res.StatusCode, res.Header, body, err)
	}
	for range 2 * spare { // probes are answered, and take nothing from the streams
		if status, _ := getFrom(t, other, l.addr, "/readyz"); status != http.StatusOK {
			t.Fatalf("/readyz: status %d", status)
		}
	}
	close(runner.resume)
	for i, lines := range tails {
		if tail, err := io.ReadAll(lines); err != nil || !strings.Contains(string(tail), "thing.") {
			t.Errorf("stream %d ended with %q, %v", i, tail, err)
		}
	}
	if status, _ := getFrom(t, other, l.addr, "/config"); status != http.StatusOK {
		t.Errorf("/config after the streams: status %d", status)
	}
}

// waitForPlace waits until a request finds a place. net/http reports a connection as idle a moment after
// its client has the answer.
func waitForPlace(t testing.TB, l *live) {
	t.Helper()
	for range 1000 {
		res, err := l.client.Get(l.url + "/config")
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, res.Body)
		res.Body.Close()
		if res.StatusCode == http.StatusOK {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatal("no place was ever free")
}

// fakeConn is a connection with only an address and Close.
type fakeConn struct {
	net.Conn
	from   net.Addr
	closed bool
}

func (c *fakeConn) RemoteAddr() net.Addr { return c.from }
func (c *fakeConn) Close() error         { c.closed = true; return nil }

func TestGate_KeepsItsCountsWhateverHappens(t *testing.T) {
	for seed := range uint64(20) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		const places = 10
		g := newGate(nil, places, slog.New(slog.DiscardHandler))
		var open []*fakeConn
		for range 5000 {
			if len(open) == 0 || rnd.IntN(3) == 0 {
				c := &fakeConn{from: &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(rnd.IntN(4)))}}
				g.enter(c)
				g.track(c, http.StateNew)
				open = append(open, c)
			} else {
				i := rnd.IntN(len(open))
				c := open[i]
				ctx := g.context(t.Context(), c)
				states := []http.ConnState{http.StateActive, http.StateIdle, http.StateClosed}
				state := states[rnd.IntN(len(states))]
				p := g.conns[c]
				g.track(c, state)
				switch state {
				case http.StateActive:
					before := p
					crowded(ctx)
					if before != nil && !c.closed && g.conns[c] != before {
						t.Fatal("a request lost its connection")
					}
				case http.StateClosed:
					open = append(open[:i], open[i+1:]...)
				}
			}
			checkGate(t, g)
		}
		for _, c := range open {
			g.track(c, http.StateClosed)
		}
		if len(g.conns)+len(g.addresses)+g.over.Len() != 0 {
			t.Fatalf("%d connections, %d addresses and %d over the limit are left", len(g.conns), len(g.addresses), g.over.Len())
		}
	}
}

func checkGate(t *testing.T, g *gate) {
	t.Helper()
	total, extra := 0, 0
	for conn, p := range g.conns {
		if conn.(*fakeConn).closed {
			t.Fatal("a closed connection has a place")
		}
		if p.extra {
			extra++
		}
	}
	for key, a := range g.addresses {
		if a.total != a.active+a.waiting.Len() || a.total <= 0 || a.active < 0 {
			t.Fatalf("%s has %d places, %d at requests and %d waiting", key, a.total, a.active, a.waiting.Len())
		}
		total += a.total
	}
	if total+extra != len(g.conns) || extra != g.over.Len() || total > g.places || extra > spare {
		t.Fatalf("%d connections are %d in places and %d over the limit, listed %d", len(g.conns), total, extra, g.over.Len())
	}
}

func TestGate_HangsUpOnThoseWithoutARequestWhenNoneRuns(t *testing.T) {
	g := newGate(nil, 10, slog.New(slog.DiscardHandler))
	enter := func(states ...http.ConnState) *fakeConn {
		c := &fakeConn{from: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}}
		g.enter(c)
		for _, s := range states {
			g.track(c, s)
		}
		return c
	}
	silent := enter(http.StateNew)
	asking := enter(http.StateNew, http.StateActive)
	idle := enter(http.StateNew, http.StateActive, http.StateIdle) // net/http closes it
	g.hangUp()
	if silent.closed {
		t.Error("a silent connection was closed while a request was running")
	}
	slow := enter(http.StateNew, http.StateActive)
	g.track(asking, http.StateClosed)
	if silent.closed || slow.closed {
		t.Errorf("closed while a request was running: silent %v, slow %v", silent.closed, slow.closed)
	}
	g.track(slow, http.StateIdle)
	late := enter(http.StateNew)
	if !silent.closed || !late.closed || asking.closed || slow.closed || idle.closed {
		t.Errorf("closed: silent %v, late %v, asking %v, slow %v, idle %v", silent.closed, late.closed, asking.closed, slow.closed, idle.closed)
	}
}

// withoutFiles is a listener without free file descriptors: it accepts a connection only after another
// one was closed.
type withoutFiles struct {
	net.Listener
	held *fakeConn
}

func (l withoutFiles) Accept() (net.Conn, error) {
	if l.held != nil && !l.held.closed {
		return nil, &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", syscall.EMFILE)}
	}
	return &fakeConn{from: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}}, nil
}

func TestGate_ClosesAnIdleConnectionWhenTheSystemHasNoFileLeft(t *testing.T) {
	held := &fakeConn{from: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	g := newGate(withoutFiles{held: held}, 10, slog.New(slog.DiscardHandler))
	g.enter(held)
	if _, err := g.Accept(); err != nil || !held.closed {
		t.Errorf("Accept: %v; the idle connection is closed: %v", err, held.closed)
	}
	g = newGate(withoutFiles{held: &fakeConn{}}, 10, slog.New(slog.DiscardHandler))
	if _, err := g.Accept(); !errors.Is(err, syscall.EMFILE) {
		t.Errorf("without anything to close: %v, want the system's error", err)
	}
}

func TestKeyOf_TakesANetworkOfIPv6ForOneClient(t *testing.T) {
	for addr, want := range map[string]string{
		"192.0.2.1":           "192.0.2.1",
		"::ffff:192.0.2.1":    "192.0.2.1",
		"2001:db8:1:2:3::4":   "2001:db8:1:2::/64",
		"2001:db8:1:2:ffff::": "2001:db8:1:2::/64",
		"2001:db8:1:3::1":     "2001:db8:1:3::/64",
	} {
		if got := keyOf(&net.TCPAddr{IP: net.ParseIP(addr)}); got != want {
			t.Errorf("%s is %s, want %s", addr, got, want)
		}
	}
	if got := keyOf(&net.UnixAddr{Name: "/run/parley"}); got != "/run/parley" {
		t.Errorf("a socket is %q", got)
	}
}

// lateListener accepts nothing until it is let, as on a busy machine.
type lateListener struct {
	*net.TCPListener
	let chan struct{}
}

func (l lateListener) Accept() (net.Conn, error) {
	<-l.let
	return l.TCPListener.Accept()
}

// A client that has connected when the server stops is answered, though nobody has accepted its connection yet.
func TestServe_AnswersAtTheStopWhoeverHasConnected(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	late := lateListener{ln.(*net.TCPListener), make(chan struct{})}
	ctx, stop := context.WithCancel(t.Context())
	s, done := newServer(t, options{}), make(chan error, 1)
	go func() { done <- s.Serve(ctx, late) }()
	var conns []net.Conn
	for range 20 {
		conn := dialFrom(t, other, ln.Addr().String())
		if _, err := fmt.Fprint(conn, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		conns = append(conns, conn)
	}
	stop()
	for !s.draining.Load() {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(10 * time.Millisecond)
	close(late.let)
	for i, conn := range conns {
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatalf("connection %d: %v", i, err)
		}
		res.Body.Close()
		if res.StatusCode != http.StatusOK {
			t.Errorf("connection %d: status %d", i, res.StatusCode)
		}
	}
	if err := wait(t, done); err != nil {
		t.Errorf("Serve returned %v", err)
	}
	if conn, err := net.Dial("tcp", ln.Addr().String()); err == nil {
		conn.Close()
		t.Error("a stopped server takes connections")
	}
}

// net/http's own Shutdown would close the connection without an answer.
func TestServe_AnswersARequestWhoseEndArrivesWhileTheServerDrains(t *testing.T) {
	runner := held()
	l := start(t, options{runner: runner})
	stream, _ := openStream(t, l, "/chat/stream")
	defer stream.Body.Close()
	conn := dialFrom(t, other, l.addr)
	if _, err := fmt.Fprint(conn, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n"); err != nil {
		t.Fatal(err)
	}
	l.stop()
	refused(t, l.addr)
	time.Sleep(2 * silentTime)
	if _, err := fmt.Fprint(conn, "\r\n"); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	close(runner.resume)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK || !res.Close {
		t.Errorf("status %d, last response of the connection: %v", res.StatusCode, res.Close)
	}
}
