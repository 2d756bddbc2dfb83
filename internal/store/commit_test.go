package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// table returns a database with an empty table, and a function that returns its rows.
func table(t *testing.T) (db *database, rows func() []int) {
	t.Helper()
	db, err := openDatabase(t.Context(), filepath.Join(t.TempDir(), "state.db"), "state", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.close() })
	if _, err := db.write.ExecContext(t.Context(), "CREATE TABLE numbers (n INTEGER)"); err != nil {
		t.Fatal(err)
	}
	return db, func() []int {
		all, err := column[int](db.read.QueryContext(context.WithoutCancel(t.Context()), "SELECT n FROM numbers ORDER BY n"))
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
}

// occupy starts a commit that lasts until release is called, and waits until it runs.
func occupy(t *testing.T, db *database) (release func()) {
	t.Helper()
	busy, free := make(chan struct{}), make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() {
		err := db.commit(t.Context(), "hold", func(context.Context, *sql.Tx) error {
			close(busy)
			<-free
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
	<-busy
	return sync.OnceFunc(func() { close(free); done.Wait() })
}

// queued waits until n commits are in the queue.
func queued(t *testing.T, db *database, n int) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		db.commits.mu.Lock()
		waiting := len(db.commits.waiting)
		db.commits.mu.Unlock()
		if waiting == n {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d commits wait, want %d", waiting, n)
		}
	}
}

func insert(n int) func(context.Context, *sql.Tx) error {
	return func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO numbers VALUES (?)", n)
		return err
	}
}

// A transaction looks up a query that is compiled already, while somebody waits for its connection to compile
// another one.
func TestPreparedWrite_OfAKnownQueryWaitsForNobody(t *testing.T) {
	db, _ := table(t)
	const known = "INSERT INTO numbers VALUES (?)"
	if _, err := db.preparedWrite(t.Context(), known); err != nil {
		t.Fatal(err)
	}
	compiled := make(chan error, 1)
	err := db.update(t.Context(), "test", func(*sql.Tx) error {
		waiting := db.write.Stats().WaitCount
		go func() {
			_, err := db.preparedWrite(context.Background(), "DELETE FROM numbers")
			compiled <- err
		}()
		for db.write.Stats().WaitCount == waiting {
			time.Sleep(time.Millisecond)
		}
		found := make(chan error, 1)
		go func() {
			_, err := db.preparedWrite(context.Background(), known)
			found <- err
		}()
		select {
		case err := <-found:
			return err
		case <-time.After(10 * time.Second):
			return errors.New("it waits for the connection of this transaction")
		}
	})
	if err := errors.Join(err, <-compiled); err != nil {
		t.Error(err)
	}
}

func TestCommit_ThoseThatWaitShareATransaction(t *testing.T) {
	db, rows := table(t)
	const one = "INSERT INTO numbers VALUES (?)"
	if _, err := db.preparedWrite(t.Context(), one); err != nil { // it takes the connection that is held
		t.Fatal(err)
	}
	release := occupy(t, db)
	defer release()
	var mu sync.Mutex
	transactions := map[*sql.Tx]int{}
	var all sync.WaitGroup
	for i := range 10 {
		all.Go(func() {
			err := db.commit(t.Context(), "insert", func(ctx context.Context, tx *sql.Tx) error {
				mu.Lock()
				transactions[tx]++
				mu.Unlock()
				return insert(i)(ctx, tx)
			})
			if err != nil {
				t.Error(err)
			}
		})
		all.Go(func() {
			if err := db.updateOne(t.Context(), "insert", one, 100+i); err != nil {
				t.Error(err)
			}
		})
	}
	queued(t, db, 20)
	release()
	all.Wait()
	if len(transactions) != 1 || len(rows()) != 20 {
		t.Errorf("%d transactions made %v", len(transactions), rows())
	}
}

func TestCommit_AFailureIsNobodyElses(t *testing.T) {
	for name, failure := range map[string]func(context.Context, *sql.Tx) error{
		"of the work":     func(context.Context, *sql.Tx) error { return errors.New("no") },
		"of the database": func(ctx context.Context, tx *sql.Tx) error { _, err := tx.ExecContext(ctx, "nonsense"); return err },
		"after a part": func(ctx context.Context, tx *sql.Tx) error {
			return errors.Join(insert(99)(ctx, tx), errors.New("no"))
		},
		"that rolls all back": func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, "INSERT OR ROLLBACK INTO migrations SELECT * FROM migrations")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			db, rows := table(t)
			release := occupy(t, db)
			defer release()
			failed := make([]error, 3)
			var all sync.WaitGroup
			for i := range failed {
				work := insert(i)
				if i == 1 {
					work = failure
				}
				all.Go(func() { failed[i] = db.commit(t.Context(), "insert", work) })
				queued(t, db, i+1)
			}
			release()
			all.Wait()
			if failed[0] != nil || failed[1] == nil || failed[2] != nil || fmt.Sprint(rows()) != "[0 2]" {
				t.Errorf("errors %v, rows %v", failed, rows())
			}
		})
	}
}

func TestCommit_AWaitEndsWithItsContext(t *testing.T) {
	db, rows := table(t)
	release := occupy(t, db)
	defer release()
	ctx, cancel := context.WithCancel(t.Context())
	left, stayed := make(chan error, 1), make(chan error, 1)
	go func() { left <- db.commit(ctx, "insert", insert(1)) }()
	queued(t, db, 1)
	go func() { stayed <- db.commit(t.Context(), "insert", insert(2)) }()
	queued(t, db, 2)
	cancel()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("the one who left got %v", err)
	}
	release()
	if err := <-stayed; err != nil || fmt.Sprint(rows()) != "[2]" {
		t.Errorf("the one who stayed got %v, rows %v", err, rows())
	}
}

func TestCommit_APanicLeavesNobodyWaiting(t *testing.T) {
	db, rows := table(t)
	release := occupy(t, db)
	defer release()
	outcome := make(chan any, 2)
	attempt := func(work func(context.Context, *sql.Tx) error) {
		defer func() { outcome <- recover() }()
		_ = db.commit(t.Context(), "insert", work)
	}
	go attempt(func(context.Context, *sql.Tx) error { panic("oops") })
	queued(t, db, 1)
	go attempt(insert(1))
	queued(t, db, 2)
	release()
	<-outcome
	<-outcome
	if err := db.commit(t.Context(), "insert", insert(3)); err != nil {
		t.Fatal(err)
	}
	if got := rows(); len(got) == 0 || got[len(got)-1] != 3 {
		t.Errorf("rows %v", got)
	}
}

func TestCommit_ManyAtOnceAreAllDone(t *testing.T) {
	db, rows := table(t)
	var all sync.WaitGroup
	const writers, each = 16, 25
	for w := range writers {
		all.Go(func() {
			for i := range each {
				ctx, cancel := context.WithCancel(t.Context())
				if i%5 == 0 {
					go cancel()
				}
				err := db.commit(ctx, "insert", insert(w*each+i))
				cancel()
				if errors.Is(err, context.Canceled) {
					err = db.commit(t.Context(), "insert", insert(w*each+i))
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if got := rows(); len(got) != writers*each {
		t.Errorf("%d rows, want %d", len(got), writers*each)
	}
}
