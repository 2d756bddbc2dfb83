package main

import (
	"context"
	"os"
	"sync"
	"time"

	"parley/internal/ident"
	"parley/internal/interrupt"
	"parley/internal/store"
	"parley/internal/turn"
)

// peers returns the connection to other servers on the same database, nil for a data folder.
func (in *instance) peers() turn.Peers {
	if p := in.db.Peers(); p != nil {
		return p
	}
	return nil
}

// board makes values known to other servers.
type board interface {
	Notice(ctx context.Context, name, value string) error
	Noticed(ctx context.Context, name string) (value string, err error)
}

// board returns the board of the servers on this database, nil for a data folder.
func (in *instance) board() board {
	if p := in.db.Peers(); p != nil {
		return p
	}
	return nil
}

// turnsElsewhere returns a reader of the turns of other servers, nil for a data folder.
func (s *serving) turnsElsewhere() interface {
	Log(ctx context.Context, owner, id string) (*turn.Log, error)
} {
	if s.db.Peers() == nil {
		return nil
	}
	return s.runner
}

// The intervals of servers that share a database.
const (
	aliveInterval = 5 * time.Second
	leadInterval  = time.Second // between two attempts to become the leader
	sweepInterval = time.Minute
)

// stayKnown tells other servers on the database that this one is there, until ctx ends.
func (s *serving) stayKnown(ctx context.Context) {
	p := s.db.Peers()
	if p == nil {
		return
	}
	host, _ := os.Hostname()
	me := store.ServerInfo{ID: ident.New(), Host: host, Version: release, Started: s.started}
	for next := time.Now().Add(sweepInterval); ; {
		err := p.Alive(ctx, me)
		if err == nil && time.Now().After(next) {
			next = time.Now().Add(sweepInterval)
			err = p.Sweep(ctx)
		}
		s.logUnless(ctx, "tell other servers that this one is there", err)
		if interrupt.Sleep(ctx, aliveInterval) != nil {
			break
		}
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), aliveInterval)
	defer cancel()
	s.logUnless(last, "tell other servers that this one stops", p.Leave(last, me.ID))
}

// lead runs work while this server is the leader of those on its database, until ctx ends. Only the leader
// reads documents, follows folders and sites, and tidies up. When it dies, another one takes its place. waiting
// is called once if another server leads. With a data folder, the server leads always.
func (s *serving) lead(ctx context.Context, waiting func(), work func(ctx context.Context)) {
	waiting = sync.OnceFunc(waiting)
	for ctx.Err() == nil {
		inner, stop := context.WithCancel(ctx)
		release, ok, err := s.db.TryLock("lead.lock", stop)
		switch {
		case err != nil:
			s.logUnless(ctx, "become the leader", err)
		case ok:
			if s.db.Peers() != nil {
				s.log.Info("this server reads documents and tidies up")
			}
			work(inner)
			release()
		default:
			waiting()
		}
		stop()
		if interrupt.Sleep(ctx, leadInterval) != nil {
			return
		}
	}
}

// longestCall is longer than any call of a model takes.
const longestCall = 20 * time.Minute

// settleInterval is the time between two searches for lost calls.
const settleInterval = 5 * time.Minute

// keepSettled settles calls that a crash left open, until ctx ends.
func (s *serving) keepSettled(ctx context.Context) {
	for {
		s.house(ctx, "settle interrupted model calls", s.settleLost)
		if s.db.Peers() == nil || interrupt.Sleep(ctx, settleInterval) != nil { // without other servers, nothing more gets lost
			return
		}
	}
}

// settleLost settles the calls of models that no server makes any more: those from before the start of
// all servers, and those that are too old.
func (s *serving) settleLost(ctx context.Context) (int, error) {
	p := s.db.Peers()
	if p == nil {
		return s.books.Recover(ctx, time.Time{})
	}
	before := s.started
	others, err := p.Servers(ctx)
	if err != nil {
		return 0, err
	}
	for _, other := range others {
		if other.Started.Before(before) {
			before = other.Started
		}
	}
	if old := time.Now().Add(-longestCall); before.Before(old) {
		before = old
	}
	return s.books.Recover(ctx, before)
}
