package main

import (
	"errors"
	"fmt"

	"parley/internal/documents/ingest"
	"parley/internal/store"
)

// lockServing makes this process the only server of the data folder. announce publishes its address
// for a second server's error message. Other commands do not need the lock.
func (p *program) lockServing() (announce func(url string), unlock func(), err error) {
	dir, err := store.PrepareFolder(p.config.Data)
	if err != nil {
		return nil, nil, err
	}
	write, unlock, err := ingest.LockServing(dir)
	if locked, taken := errors.AsType[*ingest.LockedError](err); taken {
		return nil, nil, usageError{secondServerError{locked}}
	}
	if errors.Is(err, errors.ErrUnsupported) {
		p.log.Warn("the file system of the data folder has no locks: start only one server for it", "data", dir)
		return func(string) {}, func() {}, nil
	}
	if err != nil {
		return nil, nil, err
	}
	return func(url string) {
		if err := write(url); err != nil {
			p.log.Warn("write down where the server is", "error", err)
		}
	}, unlock, nil
}

// secondServerError says that the data folder already has a server, and what to do.
type secondServerError struct{ *ingest.LockedError }

func (e secondServerError) Error() string {
	at := ""
	if e.URL != "" {
		at = " on " + e.URL
	}
	return fmt.Sprintf("%s serves the data folder %s already%s: use or stop that server, or choose another folder with --data", e.Who(), e.DataDir, at)
}

func (e secondServerError) Unwrap() error { return e.LockedError }

// locks returns the locks of the instance's store.
func (in *instance) locks() ingest.Locks { return locksOf(in.cfg, in.db) }

func locksOf(cfg Config, db *store.DB) ingest.Locks {
	return ingest.Locks{Dir: cfg.Data, Shared: sharedLocks(db)}
}

// sharedLocks returns a function that takes locks in a database that several machines can reach.
func sharedLocks(db *store.DB) func(name string) (unlock func(), ok bool, err error) {
	return func(name string) (func(), bool, error) { return db.TryLock(name, nil) }
}

// claimServing makes this process one of the servers of a PostgreSQL database, which any program that wants the
// database alone must wait for. It calls lost if such a program came while the connection to the database was
// interrupted.
func (in *instance) claimServing(lost func()) (release func(), err error) {
	release, ok, err := in.db.TryShare("serve.lock", lost)
	if err == nil && !ok {
		return nil, usagef("another program, such as parley migrate, needs %v for itself: wait until it has finished", in.db)
	}
	return release, err
}
