package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/internal/chat"
	"parley/internal/wire"
	"parley/test/needs"
)

// raw sends bytes and reads one response until the connection ends.
func raw(t testing.TB, addr, request string) (status int, body string) {
	t.Helper()
	conn := dial(t, addr)
	defer conn.Close()
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("%.80q: %v", request, err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(b)
}

func dial(t testing.TB, addr string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return conn
}

// openStream posts a question and reads the lines up to the first word of the answer.
func openStream(t testing.TB, l *live, path string) (*http.Response, *bufio.Reader) {
	t.Helper()
	res, err := l.client.Post(l.url+path, "application/json", strings.NewReader(question))
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(res.Body)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("the stream ended early: %v", err)
		}
		if strings.Contains(line, "Every") {
			return res, lines
		}
	}
}

func held() *script {
	return &script{
		words: []string{"Every", "thing."}, started: make(chan struct{}, 200),
		resume: make(chan struct{}), ended: make(chan error, 100),
	}
}

func TestServe_LetsStreamsEndByThemselvesInTheDrainWindow(t *testing.T) {
	runner := held()
	l := start(t, options{runner: runner})
	const streams = 200 // row R14 of HARDENING.md
	tails := make(chan string, streams)
	var readers sync.WaitGroup
	for range streams {
		res, lines := openStream(t, l, "/chat/stream")
		readers.Go(func() {
			defer res.Body.Close()
			rest, err := io.ReadAll(lines)
			if err != nil {
				rest = []byte(err.Error())
			}
			tails <- string(rest)
		})
	}
	l.stop()
	refused(t, l.addr)
	if w := do(l.Server, http.MethodGet, "/readyz", ""); w.Code != http.StatusServiceUnavailable ||
		!strings.Contains(w.Body.String(), `"status":"stopping"`) {
		t.Errorf("/readyz while draining: status %d, body %s", w.Code, w.Body)
	}
	if w := do(l.Server, http.MethodGet, "/healthz", ""); w.Code != http.StatusOK {
		t.Errorf("/healthz while draining: status %d", w.Code)
	}
	select {
	case err := <-l.done:
		t.Fatalf("Serve returned %v although streams are alive", err)
	default:
	}
	close(runner.resume)
	readers.Wait()
	for range streams {
		if tail := <-tails; !strings.Contains(tail, "thing.") || strings.Contains(tail, `"error"`) {
			t.Errorf("a stream ended with %q", tail)
		}
	}
}

// refused waits until nothing accepts connections at addr.
func refused(t testing.TB, addr string) {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			return
		}
		conn.Close()
	}
	t.Fatal("connections are still accepted")
}

func TestServe_EndsStreamsWithTheProtocolsErrorLineAfterTheDrainWindow(t *testing.T) {
	runner := held()
	l := start(t, options{runner: runner, cfg: Config{Drain: 20 * time.Millisecond}})
	plain, plainLines := openStream(t, l, "/chat/stream")
	defer plain.Body.Close()
	sdk, sdkLines := openStream(t, l, "/api/chat/stream")
	defer sdk.Body.Close()
	l.stop()
	for range 2 {
		if cause := wait(t, runner.ended); chat.KindOf(cause) != chat.Unavailable {
			t.Errorf("a turn was cancelled by %v", cause)
		}
	}
	sentence := string(wire.AppendString(nil, wire.InternalSentence))
	rest, err := io.ReadAll(plainLines)
	if want := `{"error":` + sentence + "}\n"; err != nil || string(rest) != want {
		t.Errorf("the stream ends with %q, %v; want %q", rest, err, want)
	}
	rest, err = io.ReadAll(sdkLines)
	if want := `{"error":{"code":"unavailable","message":` + sentence + "}}\n"; err != nil || string(rest) != want {
		t.Errorf("the SDK's stream ends with %q, %v; want %q", rest, err, want)
	}
}

func TestServe_ReturnsAtOnceWhenIdle(t *testing.T) {
	l := start(t, options{})
	res, err := l.client.Get(l.url + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, res.Body)
	res.Body.Close() // the connection is kept alive
	silent := dial(t, l.addr)
	defer silent.Close()
	half := dial(t, l.addr)
	defer half.Close()
	if _, err := io.WriteString(half, "POST /chat HTTP/1.1\r\nHost: local"); err != nil {
		t.Fatal(err)
	}
	l.stop()
	for _, conn := range []net.Conn{silent, half} {
		if _, err := conn.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("a connection without a request ended with %v", err)
		}
	}
}

func TestServe_ReportsAListenerThatFails(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln.Close()
	if err := newServer(t, options{}).Serve(t.Context(), ln); err == nil {
		t.Error("Serve returned nil on a closed listener")
	}
}

func TestServe_CancelsTheTurnWhenTheClientLeaves(t *testing.T) {
	for _, path := range []string{"/chat/stream", "/api/chat/stream", "/p/azure-0529/chat/stream", "/p/azure-0128/chat?stream=true"} {
		runner := held()
		l := start(t, options{runner: runner})
		for range 25 { // a hundred for all paths, as row R8 of HARDENING.md asks
			res, _ := openStream(t, l, path)
			wait(t, runner.started)
			res.Body.Close()
			if cause := wait(t, runner.ended); !errors.Is(cause, context.Canceled) {
				t.Fatalf("%s: the turn was cancelled by %v", path, cause)
			}
		}
	}
	// Without streaming, the reply has not begun when its client leaves.
	for _, path := range []string{"/chat", "/ask", "/api/chat/"} {
		runner := held()
		l := start(t, options{runner: runner})
		ctx, cancel := context.WithCancel(t.Context())
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.url+path, strings.NewReader(question))
		if err != nil {
			t.Fatal(err)
		}
		left := make(chan error, 1)
		go func() {
			_, err := l.client.Do(req)
			left <- err
		}()
		wait(t, runner.started)
		cancel()
		if err := wait(t, left); err == nil {
			t.Errorf("%s: an answer came", path)
		}
		if cause := wait(t, runner.ended); !errors.Is(cause, context.Canceled) {
			t.Errorf("%s: the turn was cancelled by %v", path, cause)
		}
	}
}

func TestServe_ClosesConnectionsThatNeverEndTheirHeader(t *testing.T) {
	needs.Long(t)
	t.Parallel()
	l := start(t, options{})
	const sockets = 50
	opened := time.Now()
	for i := range sockets {
		conn := dial(t, l.addr)
		defer conn.Close()
		if err := conn.SetDeadline(opened.Add(10 * time.Second)); err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Fprintf(conn, "GET /healthz HTTP/1.1\r\nX-Slow: %d\r\n", i); err != nil {
			t.Fatal(err)
		}
		defer func() {
			// The deadline, ten seconds, is the criterion of row R12.
			if _, err := io.Copy(io.Discard, conn); err != nil && !isReset(err) {
				t.Errorf("the connection was not closed: %v", err)
			}
		}()
	}
	if w, err := l.client.Get(l.url + "/healthz"); err != nil {
		t.Error(err)
	} else {
		w.Body.Close()
	}
}

func isReset(err error) bool { return strings.Contains(err.Error(), "reset") }

func TestServe_DoesNotWaitForABodyThatNobodyReads(t *testing.T) {
	needs.Long(t)
	t.Parallel()
	l := start(t, options{})
	conn := dial(t, l.addr)
	defer conn.Close()
	if _, err := io.WriteString(conn, "POST /nothing HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{"); err != nil {
		t.Fatal(err)
	}
	// The reply is a 404 or the end of the connection, within strayBodyTimeout.
	if err := conn.SetDeadline(time.Now().Add(strayBodyTimeout + 25*time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, 1)); err != nil && !errors.Is(err, io.EOF) && !isReset(err) {
		t.Errorf("the connection is held: %v", err)
	}
}

// signal is a log that tells when a request was served.
type signal chan struct{}

func (s signal) Write(b []byte) (int, error) {
	if strings.Contains(string(b), "request served") {
		s <- struct{}{}
	}
	return len(b), nil
}

func TestServe_DropsAClientThatTakesNothing(t *testing.T) {
	lib := newLibrary()
	lib.add("large", "application/octet-stream", make([]byte, 64<<20))
	served := make(signal, 1)
	l := start(t, options{library: lib, log: served, cfg: Config{WriteTimeout: 100 * time.Millisecond}})
	conn := dial(t, l.addr)
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET /content/large HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	wait(t, served)
	n, err := io.Copy(io.Discard, conn)
	if n >= 64<<20 {
		t.Errorf("the client got everything although it read nothing in time: %d bytes, %v", n, err)
	}
}

func TestServe_DoesNotDropAClientThatKeepsReading(t *testing.T) {
	needs.Long(t)
	t.Parallel()
	const size, limit = 64 << 20, 4 * time.Second
	lib := newLibrary()
	lib.add("large", "application/octet-stream", make([]byte, size))
	l := start(t, options{library: lib, cfg: Config{WriteTimeout: limit}})
	res, err := l.client.Get(l.url + "/content/large")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	read := int64(0)
	for began := time.Now(); time.Since(began) < limit+time.Second; time.Sleep(50 * time.Millisecond) {
		n, err := io.CopyN(io.Discard, res.Body, size/200)
		if read += n; err != nil {
			t.Fatalf("the client got %d bytes, then %v", read, err)
		}
	}
	if n, err := io.Copy(io.Discard, res.Body); read+n != size || err != nil {
		t.Errorf("the client got %d bytes, %v", read+n, err)
	}
}

func TestServe_RefusesHeadersThatAreTooLarge(t *testing.T) {
	l := start(t, options{})
	conn := dial(t, l.addr)
	defer conn.Close()
	// The server may reset the connection while this is still being written.
	_, _ = io.WriteString(conn, "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Large: "+strings.Repeat("a", 80<<10)+"\r\n\r\n")
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil && !isReset(err) {
		t.Fatal(err)
	}
	if err == nil && res.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("status %d, want 431", res.StatusCode)
	}
}
