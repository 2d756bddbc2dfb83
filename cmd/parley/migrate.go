package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"parley/internal/documents/ingest"
	"parley/internal/store"
)

// migrateCmd copies everything between data folders and PostgreSQL databases.
type migrateCmd struct {
	From string `arg:"" name:"from" help:"Data folder, or PostgreSQL database as postgres://USER:PASSWORD@HOST/NAME."`
	To   string `arg:"" name:"to" help:"Data folder or PostgreSQL database that holds nothing yet, or part of an interrupted copy."`
}

// Help is the long description.
func (migrateCmd) Help() string {
	return "Stop the server first. Everything that was copied is compared with the source by numbers and checksums. When an interrupted copy " +
		"is repeated, it goes on; until then no command opens the target."
}

// Run copies and prints how much.
func (c migrateCmd) Run(ctx context.Context, p *program) (err error) {
	if c.From == c.To {
		return usagef("FROM and TO are the same")
	}
	if !store.IsURL(c.From) && !exists(filepath.Join(c.From, "corpus.db")) {
		return usagef("nothing is stored in %s: name the data folder to copy from", c.From)
	}
	from, unlockFrom, err := p.openEnd(ctx, c.From, p.openPlace)
	if err != nil {
		return err
	}
	defer func() { unlockFrom(); err = errors.Join(err, from.Close()) }()
	to, unlockTo, err := p.openEnd(ctx, c.To, func(ctx context.Context, place string) (*store.DB, error) {
		return store.OpenTarget(ctx, place, p.config.Data, p.log)
	})
	if err != nil {
		return err
	}
	defer func() { unlockTo(); err = errors.Join(err, to.Close()) }()
	rows := 0
	err = store.Copy(ctx, to, from, func(done store.Copied) {
		rows += done.N
		fmt.Fprintf(p.stderr, "%s: %d\n", done.What, done.N)
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.stdout, "Copied everything from %v to %v, and compared it: %s.\n", from, to, plural(rows, "row"))
	return err
}

// openPlace opens a data folder or database.
func (p *program) openPlace(ctx context.Context, place string) (*store.DB, error) {
	if store.IsURL(place) {
		return store.OpenPostgres(ctx, place, p.config.Data, p.log)
	}
	return store.Open(ctx, place, p.log)
}

// openEnd opens one end of a copy and keeps other processes away from it.
func (p *program) openEnd(ctx context.Context, place string, open func(context.Context, string) (*store.DB, error)) (
	db *store.DB, unlock func(), err error) {
	if !store.IsURL(place) { // locked first, because opening may update the schema
		dir, err := store.PrepareFolder(place)
		if err != nil {
			return nil, nil, err
		}
		if unlock, err = lockAll(ingest.Locks{Dir: dir}); err != nil {
			return nil, nil, err
		}
		if db, err = open(ctx, dir); err != nil {
			unlock()
		}
		return db, unlock, err
	}
	if db, err = open(ctx, place); err != nil {
		return nil, nil, err
	}
	if unlock, err = lockAll(ingest.Locks{Dir: db.Folder(), Shared: sharedLocks(db)}); err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	return db, unlock, nil
}

func lockAll(locks ingest.Locks) (unlock func(), err error) {
	unlock, err = locks.All()
	if _, taken := errors.AsType[*ingest.LockedError](err); taken {
		err = usageError{err}
	}
	return unlock, err
}
