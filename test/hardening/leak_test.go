package hardening

import (
	"context"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/internal/chat"
	"parley/internal/llm/llmtest"
	"parley/test/needs"
)

// After many requests, including every fault and clients that leave, no goroutine or socket is
// left. PARLEY_HARDENING_REQUESTS sets a larger number of requests.
func TestR15_MixedRequestsLeaveNothingBehind(t *testing.T) {
	needs.Long(t)
	requests := 2000
	if n, err := strconv.Atoi(os.Getenv("PARLEY_HARDENING_REQUESTS")); err == nil {
		requests = n
	} else if testing.Short() {
		requests = 300
	}
	onEachDatabase(t, func(t *testing.T, url string) { leavesNothing(t, url, requests) })
}

func leavesNothing(t *testing.T, url string, requests int) {
	s := newStack(t, options{url: url, idle: 50 * time.Millisecond, count: func(int) string {
		return llmtest.Faults[rand.IntN(len(llmtest.Faults))]
	}})
	s.mixed(t, 200) // opens what stays open, such as connections to the database
	goroutines, sockets := s.atRest(t, 0, 0)
	s.mixed(t, requests)
	if g, n := s.atRest(t, goroutines+2, sockets+2); g > goroutines+2 || n > sockets+2 {
		stacks := make([]byte, 1<<20)
		t.Errorf("%d goroutines and %d sockets, %d and %d before\n%s", g, n, goroutines, sockets, stacks[:runtime.Stack(stacks, true)])
	}
	for len(s.saved) > 0 {
		if r := <-s.saved; r.Status == "" || r.FinishedAt.IsZero() {
			t.Errorf("a turn was saved as %+v", r)
		}
	}
}

// mixed makes requests; every eighth client leaves early.
func (s *stack) mixed(t *testing.T, requests int) {
	var wg sync.WaitGroup
	next := make(chan int)
	for range 16 {
		wg.Go(func() {
			for i := range next {
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				if i%8 == 0 {
					cancel()
					ctx, cancel = context.WithTimeout(t.Context(), time.Duration(rand.IntN(20))*time.Millisecond)
				}
				if _, err := s.ask(ctx, protocols[rand.IntN(len(protocols))]); err != nil && i%8 != 0 {
					t.Errorf("request %d: %v", i, err)
				}
				cancel()
			}
		})
	}
	for i := range requests {
		next <- i
	}
	close(next)
	wg.Wait()
}

// atRest closes idle connections, and returns the numbers of goroutines and of sockets (0 if the
// system does not report them) once they are at most the given ones, or after a wait. Other open
// files belong to the databases, whose pools have their own limits.
func (s *stack) atRest(t *testing.T, goroutines, sockets int) (g, n int) {
	t.Helper()
	deadline := time.Now().Add(patience)
	if goroutines == 0 {
		deadline = time.Now().Add(time.Second)
	}
	for {
		s.client.CloseIdleConnections()
		s.toUp.CloseIdleConnections()
		g, n = runtime.NumGoroutine(), openSockets()
		if g <= goroutines && n <= sockets || time.Now().After(deadline) {
			return g, n
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func openSockets() (n int) {
	const files = "/proc/self/fd"
	entries, _ := os.ReadDir(files)
	for _, e := range entries {
		if target, err := os.Readlink(files + "/" + e.Name()); err == nil && strings.HasPrefix(target, "socket:") {
			n++
		}
	}
	return n
}

// Clients that read slowly, or not at all, use limited memory, do not slow others down for ever,
// and are disconnected.
func TestR10_ClientsThatDoNotReadAreDropped(t *testing.T) {
	needs.Long(t)
	slow := rounds(12, 200)
	// Long enough for all of them to fill the buffers before the first is disconnected.
	s := newStack(t, options{write: 4*time.Second + time.Duration(slow)*150*time.Millisecond, idle: time.Minute})
	s.fault.Store("never")
	runtime.GC()
	var before, during runtime.MemStats
	runtime.ReadMemStats(&before)
	for range slow {
		conn := s.dial(t)
		defer conn.Close()
	}
	for begun := time.Now(); s.up.Calls() < slow; time.Sleep(time.Millisecond) {
		if time.Since(begun) > patience {
			t.Fatalf("%d of %d turns have begun", s.up.Calls(), slow)
		}
	}
	s.fault.Store("none")
	if got, err := s.ask(t.Context(), protocols[1]); err != nil || !got.completed {
		t.Errorf("another client meanwhile: %v, %.300s", err, got.raw)
	}
	// The upstream, also in this process, makes garbage until its writes block.
	grown := int64(1 << 62)
	for waiting := true; waiting && grown > int64(slow)*share; waiting = len(s.saved) == 1 {
		runtime.GC()
		runtime.ReadMemStats(&during)
		grown = min(grown, int64(during.HeapAlloc)-int64(before.HeapAlloc))
	}
	if grown > int64(slow)*share {
		t.Errorf("the heap grew by %d KiB a client", grown/int64(slow)>>10)
	}
	cancelled := 0
	for range slow + 1 {
		if r := waitFor(t, "a turn of a client that reads nothing goes on", s.saved); r.Status == chat.StatusCancelled {
			cancelled++
		}
	}
	if cancelled != slow {
		t.Errorf("%d of %d turns were cancelled", cancelled, slow)
	}
}

// dial asks for an endless answer and reads nothing of it.
func (s *stack) dial(t *testing.T) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", s.url[len("http://"):])
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.(*net.TCPConn).SetReadBuffer(8 << 10)
	r, err := http.NewRequest(http.MethodPost, s.url+"/chat/stream", nil)
	if err != nil {
		t.Fatal(err)
	}
	body := "{" + question + "}"
	head := "POST " + r.URL.Path + " HTTP/1.1\r\nHost: " + r.Host + "\r\nContent-Type: application/json\r\nContent-Length: " +
		strconv.Itoa(len(body)) + "\r\n\r\n"
	if _, err := io.WriteString(conn, head+body); err != nil {
		t.Fatal(err)
	}
	return conn
}
