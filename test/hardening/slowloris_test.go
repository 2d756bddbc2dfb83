package hardening

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"parley/test/needs"
)

// Sockets whose header or body never ends are closed in time, and other clients are answered
// meanwhile. The full test has 2,000 sockets and ten seconds for a header, and says how long the others' answers took.
func TestR12_SocketsThatNeverEndTheirRequestAreClosed(t *testing.T) {
	needs.Long(t)
	t.Parallel()
	onEachDatabase(t, closesUnfinished)
}

func closesUnfinished(t *testing.T, url string) {
	const limit, machine = 10 * time.Second, 20 * time.Second // the limit, and an allowance for a busy machine
	s := newStack(t, options{url: url})
	sockets, answers := rounds(100, 2000), rounds(20, 300)
	before := answering(t, s, answers)
	unfinished := []string{
		"POST /chat HTTP/1.1\r\nX-Slow: %d\r\n",
		"POST /chat HTTP/1.1\r\nHost: localhost\r\nX-Slow: %d\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{",
	}
	var closed sync.WaitGroup
	for i := range sockets {
		conn, err := net.Dial("tcp", s.url[len("http://"):])
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if err := conn.SetDeadline(time.Now().Add(limit + machine)); err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Fprintf(conn, unfinished[i%2], i); err != nil {
			t.Fatal(err)
		}
		closed.Go(func() { // ends with the deadline
			if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("socket %d is still open", i)
			}
		})
	}
	during := answering(t, s, answers)
	closed.Wait()
	at := func(took []time.Duration, share int) time.Duration {
		return took[(len(took)-1)*share/100].Round(100 * time.Microsecond)
	}
	t.Logf("%d answers, p50 and p99: %v and %v before, %v and %v while %d sockets do not end their requests",
		answers, at(before, 50), at(before, 99), at(during, 50), at(during, 99), sockets)
}

// answering asks for answers one after the other and returns how long they took, sorted.
func answering(t *testing.T, s *stack, answers int) (took []time.Duration) {
	t.Helper()
	for range answers {
		began := time.Now()
		if got, err := s.ask(t.Context(), protocols[1]); err != nil || !got.completed {
			t.Errorf("another client meanwhile: %v, %.300s", err, got.raw)
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	return took
}
