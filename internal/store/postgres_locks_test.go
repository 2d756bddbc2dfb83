package store

import (
	"testing"
	"time"

	"parley/internal/store/pgtest"
)

func mustLock(t *testing.T, db *DB, name string, lost func()) (unlock func()) {
	t.Helper()
	unlock, ok, err := db.TryLock(name, lost)
	if err != nil || !ok {
		t.Fatalf("TryLock: %v %v", ok, err)
	}
	return unlock
}

// eventually fails unless a condition comes true.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within a minute", what)
		}
	}
}

// endSessions ends all sessions of a database, as a restart of the server does.
func endSessions(t *testing.T, url string) {
	t.Helper()
	pgtest.Cut(t, url)
}

func TestTryLock_IsHeldByOneProcessAtATime(t *testing.T) {
	url := pgtest.New(t)
	one, other := replica(t, url), replica(t, url)
	unlock := mustLock(t, one, "a", nil)
	for _, db := range []*DB{one, other} {
		if _, ok, err := db.TryLock("a", nil); ok || err != nil {
			t.Errorf("a lock that is taken: %v %v", ok, err)
		}
	}
	mustLock(t, other, "b", nil)()
	unlock()
	unlock()
	mustLock(t, other, "a", nil)()
}

func TestTryLock_IsTakenAgainAfterTheConnectionBroke(t *testing.T) {
	url := pgtest.New(t)
	one, other := replica(t, url), replica(t, url)
	mustLock(t, one, "a", func() { t.Error("the lock was lost") })
	one.locks.mu.Lock()
	before := one.locks.conn
	one.locks.mu.Unlock()
	endSessions(t, url)
	eventually(t, "a new session", func() bool {
		one.locks.mu.Lock()
		defer one.locks.mu.Unlock()
		return one.locks.conn != nil && one.locks.conn != before
	})
	if _, ok, err := other.TryLock("a", nil); ok || err != nil {
		t.Errorf("the lock is free: %v %v", ok, err)
	}
}

func TestTryLock_IsLostToAProcessThatWasFasterAfterTheConnectionBroke(t *testing.T) {
	url := pgtest.New(t)
	one, other := replica(t, url), replica(t, url)
	lost := make(chan struct{})
	unlock := mustLock(t, one, "a", func() { close(lost) })
	mustLock(t, one, "b", func() { t.Error("a lock that nobody took was lost") })

	one.locks.mu.Lock() // so that it does not notice before the other one has the lock
	endSessions(t, url)
	eventually(t, "a free lock", func() bool {
		_, ok, _ := other.TryLock("a", nil) // the first attempt may meet a broken connection
		return ok
	})
	one.locks.mu.Unlock()
	select {
	case <-lost:
	case <-time.After(time.Minute):
		t.Fatal("the process does not know that it lost the lock")
	}
	unlock() // must not release the other's
	if _, ok, _ := one.TryLock("a", nil); ok {
		t.Error("the lock of another process was released")
	}
}
