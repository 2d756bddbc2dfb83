package store

import (
	"context"
	"database/sql"
	"errors"
	"runtime"
	"slices"
	"sync"
)

// commits is a queue of small transactions. Those that arrive during a commit share the next
// transaction, and so one sync of the file. None waits for others to arrive. The zero value is
// empty.
type commits struct {
	mu      sync.Mutex
	waiting []*commit
	led     bool // a goroutine is committing, or has been told to
}

// commit is one transaction in the queue.
type commit struct {
	ctx  context.Context // ends the wait for the transaction
	work func(context.Context, *sql.Tx) error
	one  *sql.Stmt // a single statement, in place of work
	args []any     // the arguments of one

	leads bool          // it commits the whole queue
	told  chan struct{} // receives once: the commit leads, or err is set
	err   error
}

// maxTogether is the maximum number of commits that share a transaction.
const maxTogether = 64

// commit runs work in a write transaction, and commits unless work fails. Other callers may share
// the transaction. Errors are not shared: when a shared transaction fails, each part is tried again
// alone, so work may run twice. The end of ctx ends the wait for the transaction. The context that
// work receives does not end, because the driver's watch over each statement would take longer than
// the statement.
func (d *database) commit(ctx context.Context, doing string, work func(context.Context, *sql.Tx) error) error {
	return d.fail(doing, d.enqueue(&commit{ctx: ctx, work: work}))
}

// updateOne commits one statement of constant text. It needs no BEGIN and COMMIT, and the statement
// is compiled once.
func (d *database) updateOne(ctx context.Context, doing, statement string, args ...any) error {
	stmt, err := d.preparedWrite(ctx, statement)
	if err == nil {
		err = d.enqueue(&commit{ctx: ctx, one: stmt, args: args})
	}
	return d.fail(doing, err)
}

// enqueue waits until c is committed, by this goroutine or by one that commits several.
func (d *database) enqueue(c *commit) error {
	if !d.dialect.oneWriter { // the server has the commits of several connections share a sync
		return d.retry(c.ctx, func() error {
			d.commitAll([]*commit{c})
			return c.err
		})
	}
	c.told = make(chan struct{}, 1)
	if !d.commits.enter(c) {
		select {
		case <-c.told:
		case <-c.ctx.Done():
			if d.commits.leave(c) {
				return c.ctx.Err()
			}
			<-c.told
		}
		if !c.leads {
			return c.err
		}
	}
	d.lead(c)
	return c.err
}

// errUncommitted is the error of commits that waited for one whose work panicked.
var errUncommitted = errors.New("another transaction panicked")

// lead commits the queue, which includes c, and then lets the next commit lead.
func (d *database) lead(c *commit) {
	runtime.Gosched() // lets runnable goroutines join; takes no time if there are none
	batch := d.commits.take()
	for _, each := range batch {
		each.err = errUncommitted
	}
	defer func() {
		d.commits.handOver()
		for _, other := range batch {
			if other != c {
				other.told <- struct{}{}
			}
		}
	}()
	d.commitAll(batch)
}

// enter adds c to the queue and reports whether c leads.
func (q *commits) enter(c *commit) (leads bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, c)
	if q.led {
		return false
	}
	q.led, c.leads = true, true
	return true
}

// leave removes c from the queue, unless it is being committed.
func (q *commits) leave(c *commit) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.waiting, c)
	if i < 0 {
		return false
	}
	q.waiting = slices.Delete(q.waiting, i, i+1)
	if c.leads {
		q.next()
	}
	return true
}

// take returns the commits for the next transaction; the leader is first.
func (q *commits) take() []*commit {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := min(len(q.waiting), maxTogether)
	batch := q.waiting[:n:n]
	q.waiting = slices.Clone(q.waiting[n:])
	return batch
}

// handOver makes the first waiting commit the leader.
func (q *commits) handOver() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.next()
}

func (q *commits) next() {
	if q.led = len(q.waiting) > 0; q.led {
		q.waiting[0].leads = true
		q.waiting[0].told <- struct{}{}
	}
}

// commitAll commits a batch in one transaction, or each alone if that fails.
func (d *database) commitAll(batch []*commit) {
	if len(batch) > 1 && d.transact(batch[0].ctx, batch) == nil {
		for _, c := range batch {
			c.err = nil
		}
		return
	}
	for _, c := range batch {
		if c.err = c.ctx.Err(); c.err != nil {
			continue
		}
		if c.one != nil {
			_, err := c.one.ExecContext(c.ctx, c.args...)
			c.err = d.committed(err)
		} else {
			c.err = d.transact(c.ctx, []*commit{c})
		}
	}
}

func (d *database) transact(ctx context.Context, batch []*commit) error {
	conn, err := d.write.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()               // returns the connection
	ctx = context.WithoutCancel(ctx) // a wait for other processes ends with busy_timeout
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // does nothing after a commit
	for _, c := range batch {
		if c.one != nil {
			_, err = tx.StmtContext(ctx, c.one).ExecContext(ctx, c.args...)
		} else {
			err = c.work(ctx, tx)
		}
		if err != nil {
			return err
		}
	}
	return d.committed(tx.Commit())
}
