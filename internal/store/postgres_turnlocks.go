package store

import (
	"context"
	"database/sql"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"time"

	"parley/internal/interrupt"
)

// turnLocks are advisory locks that many turns of this process hold, in one session of the database. Locks that are
// requested at the same time share one round trip, as do locks that are released at the same time.
//
// When the connection breaks, the server releases all of them. They are taken again unless another process was
// faster. The locks only keep processes from working in vain: each commit checks again that it is still valid.
type turnLocks struct {
	db *sql.DB // for one connection

	mu       sync.Mutex
	conn     *sql.Conn
	held     map[int64]int // by key, how often
	asked    []*lockAsked
	released []int64
	busy     bool // a goroutine talks to the server
	idle     sync.WaitGroup
}

type lockAsked struct {
	key  int64
	got  bool
	err  error
	done chan struct{}
}

// How long a taken lock is left alone between two attempts: random up to a limit, which grows.
const (
	lockPauseLeast = 10 * time.Millisecond
	lockPauseMost  = 150 * time.Millisecond
)

// lock waits for a lock until ctx ends.
func (l *turnLocks) lock(ctx context.Context, name string) (unlock func(), err error) {
	key := lockKey("turn " + name)
	lost := time.Now().Add(patience)
	for pause := lockPauseLeast; ; pause = min(2*pause, lockPauseMost) {
		got, err := l.try(ctx, key)
		if got {
			return sync.OnceFunc(func() { l.release(key) }), nil
		}
		if err != nil && (!isTransient(err) || time.Now().After(lost)) {
			return nil, err
		}
		if interrupt.Sleep(ctx, pause/2+rand.N(pause)) != nil {
			return nil, context.Cause(ctx)
		}
	}
}

func (l *turnLocks) try(ctx context.Context, key int64) (bool, error) {
	a := &lockAsked{key: key, done: make(chan struct{})}
	l.mu.Lock()
	l.asked = append(l.asked, a)
	l.work()
	l.mu.Unlock()
	select {
	case <-a.done:
		return a.got, a.err
	case <-ctx.Done():
		l.idle.Go(func() {
			if <-a.done; a.got {
				l.release(key)
			}
		})
		return false, context.Cause(ctx)
	}
}

func (l *turnLocks) release(key int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held[key]--; l.held[key] <= 0 {
		delete(l.held, key)
	}
	l.released = append(l.released, key)
	l.work()
}

// work starts the goroutine that talks to the server, unless it runs. The caller holds mu.
func (l *turnLocks) work() {
	if !l.busy {
		l.busy = true
		l.idle.Go(l.run)
	}
}

// run carries out requests until none are left.
func (l *turnLocks) run() {
	for {
		l.mu.Lock()
		asked, released := l.asked, l.released
		l.asked, l.released = nil, nil
		if len(asked) == 0 && len(released) == 0 {
			l.busy = false
			l.mu.Unlock()
			return
		}
		l.mu.Unlock()
		l.exchange(asked, released)
	}
}

// exchange releases and takes locks.
func (l *turnLocks) exchange(asked []*lockAsked, released []int64) {
	ctx, cancel := context.WithTimeout(context.Background(), lockPatience)
	defer cancel()
	fresh, err := l.connect(ctx)
	if err == nil && !fresh && len(released) > 0 { // a new session does not hold them
		_, err = l.conn.ExecContext(ctx, "SELECT pg_advisory_unlock(k) FROM unnest(CAST(? AS BIGINT[])) AS k", keysOf(released))
	}
	got := map[int64]bool{}
	if err == nil && len(asked) > 0 {
		keys := make([]int64, len(asked))
		for i, a := range asked {
			keys[i] = a.key
		}
		got, err = l.take(ctx, keys)
	}
	if err != nil {
		l.drop()
	}
	l.mu.Lock()
	for _, a := range asked {
		if a.got, a.err = err == nil && got[a.key], err; a.got {
			l.held[a.key]++
		}
	}
	l.mu.Unlock()
	for _, a := range asked {
		close(a.done)
	}
}

// connect makes sure that there is a session. A new one takes the locks that this process held.
func (l *turnLocks) connect(ctx context.Context) (fresh bool, err error) {
	if l.conn != nil {
		return false, nil
	}
	conn, err := l.db.Conn(ctx)
	if err != nil {
		return false, err
	}
	l.conn = conn
	l.mu.Lock()
	var keys []int64
	for key, times := range l.held {
		for range times {
			keys = append(keys, key)
		}
	}
	l.mu.Unlock()
	if _, err = l.conn.ExecContext(ctx, "SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3"); err == nil {
		_, err = l.take(ctx, keys)
	}
	return true, err
}

// take tries to take locks, and returns the ones it got.
func (l *turnLocks) take(ctx context.Context, keys []int64) (got map[int64]bool, err error) {
	if len(keys) == 0 {
		return map[int64]bool{}, nil
	}
	rows, err := l.conn.QueryContext(ctx, "SELECT k, pg_try_advisory_lock(k) FROM unnest(CAST(? AS BIGINT[])) AS k", keysOf(keys))
	return pairs[int64, bool](rows, err)
}

// keysOf writes keys as an array of PostgreSQL.
func keysOf(keys []int64) string {
	all := make([]string, len(keys))
	for i, k := range keys {
		all[i] = strconv.FormatInt(k, 10)
	}
	return "{" + strings.Join(all, ",") + "}"
}

// drop ends the session.
func (l *turnLocks) drop() {
	if l.conn != nil {
		discard(l.conn)
		l.conn = nil
	}
}

func (l *turnLocks) close() error {
	l.idle.Wait()
	l.drop()
	return l.db.Close()
}
