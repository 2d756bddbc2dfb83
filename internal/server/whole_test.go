package server

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"parley/internal/wire"
)

// counting is a listener whose connections record the length of each write.
type counting struct {
	net.Listener
	mu     sync.Mutex
	writes []int
}

func (l *counting) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	return countedConn{conn, l}, err
}

type countedConn struct {
	net.Conn
	l *counting
}

func (c countedConn) Write(b []byte) (int, error) {
	c.l.mu.Lock()
	c.l.writes = append(c.l.writes, len(b))
	c.l.mu.Unlock()
	return c.Conn.Write(b)
}

// Some clients take each read for a whole event, so an event must be sent in one write.
func TestStream_SendsEachEventInOneWrite(t *testing.T) {
	sizes := []int{10, 3000, 4090, 5000, 20_000, 60_000}
	events := wire.Protocol{Routes: []wire.Route{{Pattern: "GET /events", Right: wire.Ask, Events: true, Fail: wire.PlainError,
		Handle: func(w http.ResponseWriter, _ *wire.Request) error {
			s := wire.SSE(w)
			for _, n := range sizes {
				if err := s.Send(append(s.Line(), strings.Repeat("x", n)...)); err != nil {
					return err
				}
			}
			return nil
		}}, {Pattern: "GET /whole", Right: wire.Ask, Fail: wire.PlainError,
		Handle: func(w http.ResponseWriter, _ *wire.Request) error {
			for range 10 {
				if _, err := io.WriteString(w, strings.Repeat("y", 30_000)); err != nil {
					return err
				}
			}
			return nil
		}}}}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &counting{Listener: ln}
	s := New(Config{Drain: -1}, Deps{Protocols: []wire.Protocol{events}, Documents: newLibrary(), Status: &state{}})
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	defer func() { stop(); <-done }()
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	get := func(path string) string {
		resp, err := client.Get(fmt.Sprintf("http://%s%s", ln.Addr(), path))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(body)
	}
	if got := get("/events"); len(got) < 90_000 || strings.Count(got, "data: ") != len(sizes) {
		t.Errorf("%d bytes", len(got))
	}
	l.mu.Lock()
	writes := slices.Clone(l.writes)
	l.mu.Unlock()
	if len(writes) > len(sizes)+1 { // and the end of the body
		t.Errorf("%d events came in the writes %v", len(sizes), writes)
	}
	if got := get("/whole"); got != strings.Repeat("y", 300_000) {
		t.Errorf("%d bytes of an answer that is not streamed", len(got))
	}
}
