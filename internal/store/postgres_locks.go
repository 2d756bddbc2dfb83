package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"hash/fnv"
	"log/slog"
	"sync"
	"time"
)

// locks are the locks that this process holds in a PostgreSQL database, against other processes on any
// machine. They are advisory locks of one session, so the server releases them when the process dies.
//
// A session also ends when the connection breaks or the server restarts. Then keep takes the locks
// again as soon as it can. A process that was faster keeps its lock; ours is lost.
type locks struct {
	db  *sql.DB // for one connection
	log *slog.Logger

	mu   sync.Mutex
	conn *sql.Conn          // nil before the first lock, and while the server cannot be reached
	held map[string]lockWay // by the names of the locks

	stop context.CancelFunc // ends keep; nil before the first lock
	kept sync.WaitGroup
}

// lockWay describes how a lock is held.
type lockWay struct {
	shared bool   // others may share it
	lost   func() // called when it is lost; may be nil
}

const (
	lockCheck    = time.Second      // between two checks of the session
	lockPatience = 10 * time.Second // for one statement

	endTries = 10 // attempts to take a lock of a session that has ended
	endWait  = 100 * time.Millisecond
)

// TryLock takes a lock that no two processes that use a PostgreSQL database hold at the same time, and
// reports false if it is taken, also by this process. lost, which may be nil, is called if another
// process has taken the lock while the connection to the server was interrupted. A data folder has
// locks of its own, so TryLock does nothing there.
func (d *DB) TryLock(name string, lost func()) (unlock func(), ok bool, err error) {
	return d.tryLock(name, lockWay{lost: lost})
}

// TryShare is like TryLock, but any number of processes may share the lock.
func (d *DB) TryShare(name string, lost func()) (unlock func(), ok bool, err error) {
	return d.tryLock(name, lockWay{shared: true, lost: lost})
}

func (d *DB) tryLock(name string, how lockWay) (unlock func(), ok bool, err error) {
	if d.locks == nil {
		return func() {}, true, nil
	}
	unlock, ok, err = d.locks.try(name, how)
	return unlock, ok, d.state.db.fail("lock the database", err)
}

func (l *locks) try(name string, how lockWay) (unlock func(), ok bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), lockPatience)
	defer cancel()
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, taken := l.held[name]; taken {
		return nil, false, nil
	}
	if l.conn == nil {
		if err := l.begin(ctx); err != nil {
			return nil, false, err
		}
	}
	if ok, err = l.take(ctx, name, how); !ok || err != nil {
		return nil, false, err
	}
	l.held[name] = how
	if l.stop == nil {
		keeping, stop := context.WithCancel(context.Background())
		l.stop = stop
		l.kept.Go(func() { l.keep(keeping) })
	}
	return sync.OnceFunc(func() { l.release(name) }), true, nil
}

// begin starts a session. If this machine dies without warning, the server ends the session after some seconds.
func (l *locks) begin(ctx context.Context) error {
	conn, err := l.db.Conn(ctx)
	if err != nil {
		return err
	}
	_, err = conn.ExecContext(ctx, "SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3")
	if err != nil {
		return errors.Join(err, conn.Close())
	}
	l.conn = conn
	return nil
}

func (l *locks) take(ctx context.Context, name string, how lockWay) (ok bool, err error) {
	query := "SELECT pg_try_advisory_lock(?)"
	if how.shared {
		query = "SELECT pg_try_advisory_lock_shared(?)"
	}
	err = l.conn.QueryRowContext(ctx, query, lockKey(name)).Scan(&ok)
	return ok, err
}

// retake takes a lock that this process held in a session that has ended: the server may need a moment to end it.
func (l *locks) retake(ctx context.Context, name string, how lockWay) (ok bool, err error) {
	for tries := 0; ; tries++ {
		if ok, err = l.take(ctx, name, how); ok || err != nil || tries == endTries {
			return ok, err
		}
		time.Sleep(endWait)
	}
}

// lockKey returns the number by which the server knows a lock.
func lockKey(name string) int64 {
	h := fnv.New64a()
	h.Write([]byte("parley " + name))
	return int64(h.Sum64()) //nolint:gosec // any number will do
}

func (l *locks) release(name string) {
	ctx, cancel := context.WithTimeout(context.Background(), lockPatience)
	defer cancel()
	l.mu.Lock()
	defer l.mu.Unlock()
	how, held := l.held[name]
	if !held {
		return // lost, or close was faster
	}
	delete(l.held, name)
	if l.conn == nil {
		return
	}
	query := "SELECT pg_advisory_unlock(?)"
	if how.shared {
		query = "SELECT pg_advisory_unlock_shared(?)"
	}
	if _, err := l.conn.ExecContext(ctx, query, lockKey(name)); err != nil {
		l.end() // which releases it too; keep takes the others again
	}
}

// end ends the session, and thereby releases all locks in the server.
func (l *locks) end() {
	discard(l.conn)
	l.conn = nil
}

// discard closes the connection to the server instead of returning it to the pool.
func discard(conn *sql.Conn) {
	_ = conn.Raw(func(any) error { return driver.ErrBadConn }) // the error comes back
	_ = conn.Close()                                           // it is closed already
}

// keep checks the session until ctx ends, and replaces it when it has ended.
func (l *locks) keep(ctx context.Context) {
	tick := time.NewTicker(lockCheck)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			for _, lost := range l.check(ctx) {
				lost()
			}
		case <-ctx.Done():
			return
		}
	}
}

// check takes the locks again if the session has ended, and returns the functions to call for those
// that other processes have taken meanwhile.
func (l *locks) check(ctx context.Context) (lost []func()) {
	ctx, cancel := context.WithTimeout(ctx, lockPatience)
	defer cancel()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn != nil {
		if _, err := l.conn.ExecContext(ctx, "SELECT 1"); err == nil || ctx.Err() != nil {
			return nil
		}
		l.log.Warn("the connection that holds the locks of the database is lost")
		l.end()
	}
	if l.begin(ctx) != nil {
		return nil // later
	}
	for name, how := range l.held {
		ok, err := l.retake(ctx, name, how)
		if err != nil {
			l.end()
			return lost
		}
		if !ok {
			delete(l.held, name)
			if how.lost != nil {
				lost = append(lost, how.lost)
			}
		}
	}
	l.log.Info("the locks of the database are held again", "lost", len(lost))
	return lost
}

func (l *locks) close() error {
	l.mu.Lock()
	clear(l.held)
	stop := l.stop
	l.mu.Unlock()
	if stop != nil {
		stop()
		l.kept.Wait()
	}
	if l.conn != nil {
		l.end()
	}
	return l.db.Close()
}
