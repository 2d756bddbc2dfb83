package store

import (
	"context"
	"database/sql"
	"errors"
	"runtime"
	"slices"
	"sync"
)

// commits are small transactions that wait to be committed. Those that come while another one is
// being committed share the next transaction, and so one sync of the file: what a crowd of turns
// pays for durability is shared by them. None waits for others to come. The zero value is empty.
type commits struct {
	mu      sync.Mutex
	waiting []*commit
	led     bool // somebody commits, or has been told to
}

// commit is one of them.
type commit struct {
	ctx  context.Context // ends its wait
	work func(context.Context, *sql.Tx) error
	one  *sql.Stmt // a transaction by itself, in place of work
	args []any     // of one

	leads bool          // it is to commit all that wait
	told  chan struct{} // one thing: to lead, or that err is set
	err   error
}

// maxTogether bounds what shares a transaction.
const maxTogether = 64

// commit runs work in a transaction that writes, and commits unless it fails. The transaction may be
// shared with others; an error is never shared, because what fails together is tried again one by
// one, so work may run twice. The context ends the wait for the transaction: work is given one that
// does not end, since a watch over each statement would take longer than the statement.
func (d *database) commit(ctx context.Context, doing string, work func(context.Context, *sql.Tx) error) error {
	return d.fail(doing, d.enqueue(&commit{ctx: ctx, work: work}))
}

// updateOne commits one statement of constant text, which is a transaction by itself: it does
// without the statements that begin and commit one, and is compiled once.
func (d *database) updateOne(ctx context.Context, doing, statement string, args ...any) error {
	stmt, err := d.preparedWrite(ctx, statement)
	if err == nil {
		err = d.enqueue(&commit{ctx: ctx, one: stmt, args: args})
	}
	return d.fail(doing, err)
}

// enqueue waits until c was committed, by this goroutine or by another one that commits several.
func (d *database) enqueue(c *commit) error {
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

// errUncommitted is the error of those who waited for one whose work panicked.
var errUncommitted = errors.New("a transaction of somebody else panicked")

// lead commits all that wait, c among them, and then lets the next one lead.
func (d *database) lead(c *commit) {
	runtime.Gosched() // whoever is about to enter does so; where nobody runs, it takes no time
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

// enter adds c to those that wait, and reports whether it is to commit them.
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

// leave removes c, unless it is being committed.
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

// take returns those that are to be committed now, who leads first.
func (q *commits) take() []*commit {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := min(len(q.waiting), maxTogether)
	batch := q.waiting[:n:n]
	q.waiting = slices.Clone(q.waiting[n:])
	return batch
}

// handOver has the first of those that wait by now commit them.
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

// commitAll commits a batch in one transaction, or if that fails, each by itself.
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
			_, c.err = c.one.ExecContext(c.ctx, c.args...)
		} else {
			c.err = d.transact(c.ctx, []*commit{c})
		}
	}
}

// transact runs a batch in one transaction.
func (d *database) transact(ctx context.Context, batch []*commit) error {
	conn, err := d.write.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()               // gives it back
	ctx = context.WithoutCancel(ctx) // what other processes can hold up ends with busy_timeout
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // after a commit it has nothing to do
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
	return tx.Commit()
}
